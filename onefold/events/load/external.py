"""Use case: external tables over the files of finished runs, so that a warehouse reads what it has not loaded.

Every step may be repeated, and two processes may be at work: each reads the present state, adds what is missing, and looks
again after its last step. A run is a partition of the tables that it has rows of, added after its manifest is there, and a
partition names the files that the manifest lists and no others: what killed tasks have left is never read.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from onefold.core.errors import OnefoldError, SchemaConflict, TryAgain
from onefold.events.load.runs import FolderRuns, file_address
from onefold.events.shred.manifest import RunManifest, ShreddedTable
from onefold.ports.event_tables import Columns, EventFile
from onefold.ports.external_tables import ExternalCatalog, ExternalTable, ExternalViews, lists_address, missing
from onefold.schema.redshift_catalog import grown_type
from onefold.schema.table_columns import grown_by_name

Put = Callable[[str, Sequence[EventFile]], None]
"""Writes the list of files of a run and a table to an address."""
Change = Literal["create", "change", "none"]
_READERS = 16
"""Manifests that are read at the same time."""
_LOOKS = 12
"""How often a table and its view are looked at, where others change them meanwhile; 3 are enough where nobody does."""


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
    """What runs have for one table. Runs of CSV have no files that are read in place."""

    runs: list[str] = field(default_factory=list)
    states: list[Columns] = field(default_factory=list)
    files: dict[str, tuple[EventFile, ...]] = field(default_factory=dict)


_Found = Mapping[str, _Rows]


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

        A table that is not there, or that another call has not filled, gets all finished runs. Runs of CSV change the view
        of a table that is there. An error of one table or run leaves all others alone.

        Args:
            only: the addresses of the runs that are looked at; None for all of them.
            dry_run: whether nothing is written, and the reports say what would be.

        Raises:
            OnefoldError: the folder cannot be listed, or the warehouse refuses the schema.
        """
        runs = self.runs.list()
        found, unread = self._rows([run for run in runs if only is None or run in only])
        yield from unread
        if found and not dry_run:
            self.views.prepare()
        everything = functools.cache(lambda: self._all_rows(runs))
        for name, rows in sorted(found.items()):
            try:
                yield from self._brought(name, rows, everything, dry_run)
            except OnefoldError as error:
                yield ExternalReport(name, error=error, runs=tuple(rows.runs))

    def missing(self, runs: Collection[str]) -> set[str]:
        """Return the runs, among some, of which the catalogue does not have all rows, or does not say so."""
        found, _ = self._rows(list(runs))
        return {run for name, rows in found.items() for run in self._missing(name, rows.files)}

    def _missing(self, name: str, files: Mapping[str, Any]) -> Collection[str]:
        try:
            table = self.catalog.find(name)
            return missing(files, self.catalog.runs(name)) if table and table.is_filled else files
        except OnefoldError:  # whoever brings these runs reports it
            return files

    def _rows(self, runs: Sequence[str]) -> tuple[_Found, list[ExternalReport]]:
        """Return what runs have for each table, and reports of those that cannot be read."""
        found: defaultdict[str, _Rows] = defaultdict(_Rows)
        unread = []
        with ThreadPoolExecutor(_READERS) as pool:
            for run, manifest in zip(runs, pool.map(self._manifest, runs), strict=True):
                if isinstance(manifest, OnefoldError):
                    unread.append(ExternalReport(run, error=manifest, runs=(run,)))
                elif manifest and manifest.target == "redshift":
                    _add(run, manifest, found)
        return found, unread

    def _all_rows(self, runs: Sequence[str]) -> _Found:
        """Return what all runs have for each table, but for runs whose manifests are not valid.

        Raises:
            TryAgain: a manifest cannot be read now.
        """
        found, unread = self._rows(runs)
        for report in unread:
            if isinstance(report.error, TryAgain):
                raise report.error
        return found

    def _manifest(self, run: str) -> RunManifest | OnefoldError | None:
        try:
            return self.runs.manifest(run)
        except OnefoldError as error:
            return error

    def _brought(self, name: str, named: _Rows, everything: Callable[[], _Found], dry_run: bool) -> Iterator[ExternalReport]:
        before = self.catalog.find(name)
        if before is None and not named.files:
            return
        is_filled = before is not None and before.is_filled
        rows = named if is_filled else everything()[name]
        table = self._grown(name, before, rows.states) if dry_run else self._settled(name, rows.states)
        lists = {run: lists_address(run, name) for run in rows.files}
        new = missing(lists, self.catalog.runs(name) if before or not dry_run else ())
        if not dry_run:
            self._add_runs(table, new, rows, fills=not is_filled)
        action: Change = "create" if before is None else "none" if before.columns == table.columns else "change"
        yield ExternalReport(name, action, tuple(new), runs=tuple(named.runs))

    def _settled(self, name: str, states: Sequence[Columns]) -> ExternalTable:
        """Bring a table and its view to the columns of runs, until both are seen to have the same ones.

        Others may change either between any two steps. The last one to make the view looks again after it, so that no
        columns are missing in it.

        Raises:
            TryAgain: the columns differ each time.
        """
        made: tuple[Columns, Columns] | None = None
        for _ in range(_LOOKS):
            found = self.catalog.find(name)
            table = self._grown(name, found, states)
            if found is None:
                self.catalog.create(table)
            elif found.columns != table.columns:
                self.catalog.change(table)
            elif (seen := (table.columns, self.views.loaded(name))) == made:
                return table
            else:
                self.views.create(table, seen[1])
                made = seen
        raise TryAgain(f"{name}: others change its columns at the same time: try again")

    def _grown(self, name: str, found: ExternalTable | None, states: Sequence[Columns]) -> ExternalTable:
        is_filled = found is not None and found.is_filled
        return ExternalTable(name, _columns(name, found.columns if found else (), states), self.runs.address, is_filled)

    def _add_runs(self, table: ExternalTable, new: Mapping[str, str], rows: _Rows, *, fills: bool) -> None:
        """Add runs after the view, so that rows of a loaded run are never read twice; then the table is filled.

        Args:
            table: the table, of which the view is made.
            new: the addresses of the lists of the runs.
            rows: their files.
            fills: whether these are all finished runs that the table does not have.
        """
        for run, address in new.items():
            self.put(address, rows.files[run])
        self.catalog.add_runs(table, new)
        found = self.catalog.find(table.name) if fills else None
        if found and not found.is_filled:
            self.catalog.change(replace(found, is_filled=True))


def _add(run: str, manifest: RunManifest, found: defaultdict[str, _Rows]) -> None:
    for table in manifest.tables:
        if table.rows:
            rows = found[table.name]
            rows.runs.append(run)
            if manifest.format == "parquet":
                rows.states.append(table.columns)
                rows.files[run] = _files(run, table)


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
