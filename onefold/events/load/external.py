"""Use case: external tables over the files of finished runs, so that a warehouse reads what it has not loaded.

Every step may be repeated, and two processes may be at work: each reads the present state and adds what is missing. A run is
a partition of the tables that it has rows of, added after its manifest is there, and a partition names the files that the
manifest lists and no others: what killed tasks have left is never read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from onefold.core.errors import OnefoldError, SchemaConflict
from onefold.events.load.runs import FolderRuns, file_address
from onefold.events.shred.manifest import ShreddedTable
from onefold.ports.event_tables import Columns, EventFile
from onefold.ports.external_tables import ExternalCatalog, ExternalTable, ExternalViews, lists_address, missing
from onefold.schema.redshift_catalog import grown_type
from onefold.schema.table_columns import grown_by_name

Put = Callable[[str, Sequence[EventFile]], None]
"""Writes the list of files of a run and a table to an address."""
Change = Literal["create", "change", "none"]


@dataclass(frozen=True)
class ExternalReport:
    """What became of an external table, or why the manifest of a run cannot be read.

    Attributes:
        name: the table, or the address of the run.
        action: what was done with the table.
        added: the runs that became partitions.
        error: None where all is done.
        runs: the runs that were looked at and have rows of the table; the run itself.
    """

    name: str
    action: Change = "none"
    added: tuple[str, ...] = ()
    error: OnefoldError | None = None
    runs: tuple[str, ...] = ()

    @property
    def is_news(self) -> bool:
        """Whether something was, or is to be, changed."""
        return self.action != "none" or bool(self.added)

    def as_dict(self) -> dict[str, Any]:
        """Return the report for programs."""
        error = str(self.error) if self.error else None
        return {"table": self.name, "action": self.action, "added": list(self.added), "error": error}


@dataclass
class _Rows:
    """What runs have for one table."""

    states: list[Columns] = field(default_factory=list)
    files: dict[str, tuple[EventFile, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ExternalTables:
    """The external tables of the runs of one folder.

    Attributes:
        runs: the folder.
        catalog: where the tables are.
        views: the views over them.
        put: writes lists of files.
    """

    runs: FolderRuns
    catalog: ExternalCatalog
    views: ExternalViews
    put: Put

    def bring(self, only: Collection[str] | None = None, *, dry_run: bool = False) -> Iterator[ExternalReport]:
        """Bring tables to the finished runs with Parquet for Redshift, and yield a report of each.

        An error of one table or run leaves all others alone.

        Args:
            only: the addresses of the runs that are looked at; None for all of them.
            dry_run: whether nothing is written, and the reports say what would be.

        Raises:
            OnefoldError: the folder cannot be listed, or the warehouse refuses the schema.
        """
        found: defaultdict[str, _Rows] = defaultdict(_Rows)
        for run in self.runs.list():
            if only is not None and run not in only:
                continue
            try:
                self._add(run, found)
            except OnefoldError as error:
                yield ExternalReport(run, error=error, runs=(run,))
        if found and not dry_run:
            self.views.prepare()
        for name, rows in sorted(found.items()):
            try:
                yield self._brought(name, rows, dry_run)
            except OnefoldError as error:
                yield ExternalReport(name, error=error, runs=tuple(rows.files))

    def _add(self, run: str, found: Mapping[str, _Rows]) -> None:
        manifest = self.runs.manifest(run)
        if manifest is None or (manifest.target, manifest.format) != ("redshift", "parquet"):
            return
        for table in manifest.tables:
            if table.rows:
                found[table.name].states.append(table.columns)
                found[table.name].files[run] = _files(run, table)

    def _brought(self, name: str, rows: _Rows, dry_run: bool) -> ExternalReport:
        before = self.catalog.columns(name)
        table = ExternalTable(name, _columns(name, before or (), rows.states), self.runs.address)
        action: Change = "create" if before is None else "none" if before == table.columns else "change"
        lists = {run: lists_address(run, name) for run in rows.files}
        new = missing(lists, frozenset() if before is None else self.catalog.runs(name))
        if dry_run:
            return ExternalReport(name, action, tuple(new))
        for run, address in new.items():
            self.put(address, rows.files[run])
        if action == "create":
            self.catalog.create(table)
        elif action == "change":
            self.catalog.change(table)
        # The view comes before the runs: rows of a loaded run are never read twice, and never once more than they are there.
        self.views.create(table)
        self.catalog.add_runs(table, new)
        return ExternalReport(name, action, tuple(new))


def _files(run: str, table: ShreddedTable) -> tuple[EventFile, ...]:
    return tuple(EventFile(file_address(run, table, file.name), file.rows, file.bytes) for file in table.files if file.rows)


def _columns(name: str, before: Columns, states: Sequence[Columns]) -> Columns:
    """Return the columns that read the files of all runs. Spectrum has names without case, and no times with a zone.

    Raises:
        SchemaConflict: two runs have types that no column reads.
    """
    columns = before
    for state in states:
        spelled = tuple((column.lower(), "TIMESTAMP" if type_ == "TIMESTAMPTZ" else type_) for column, type_ in state)
        has = dict(columns)
        wrong = [one for one, type_ in spelled if not _reads_both(has.get(one, type_), type_)]
        if wrong:
            raise SchemaConflict(
                [f"{name}: runs have column {one} in types that one external column cannot read" for one in wrong]
            )
        columns = grown_by_name(columns, spelled, _longer)
    return columns


def _reads_both(one: str, other: str) -> bool:
    return one == other or (one.startswith("VARCHAR") and other.startswith("VARCHAR"))


def _longer(existing: str, new: str) -> str | None:
    return grown_type(existing, new) or grown_type(new, existing)
