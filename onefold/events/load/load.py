"""Use case: load the runs that the manifest table does not list, the oldest first.

Every step may be repeated, and two loaders may be at work: a table is looked at again after each change, and the warehouse
loads the rows of a run and a table once. An error of one table or one run leaves all others alone.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onefold.core.errors import InvalidInput, OnefoldError, TryAgain
from onefold.core.text import counted
from onefold.events.load.plan import EventTablePlan, Wanted
from onefold.events.load.report import EventTableReport, RunReport, TableState
from onefold.events.load.runs import FolderRuns, file_address
from onefold.events.load.tables import Planned, TableMigrations
from onefold.events.load.wide_plan import undescribed
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.manifest import RunManifest, ShreddedTable
from onefold.ports.event_tables import EventFile, EventTable, EventTableLoad, EventWarehouse, LoadResult
from onefold.schema.table_columns import grown_by_name

Announce = Callable[[EventTablePlan], None]
"""Says that a table is new, or has new columns. It is called at least once for each, before rows are loaded."""


def announce_nothing(plan: EventTablePlan) -> None:
    """Say nothing: nobody waits for tables of a warehouse without views."""


@dataclass(frozen=True)
class Loader:
    """Loads the runs of one folder.

    Attributes:
        runs: the folder.
        warehouse: where the tables are.
        announce: is called for tables that are new, or have new columns.
        seconds: how long loading may take; what goes on then is found by the next call. None for as long as it takes.
        clock: the seconds by which the time is measured.
    """

    runs: FolderRuns
    warehouse: EventWarehouse
    announce: Announce = announce_nothing
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic

    def load(self) -> Iterator[RunReport]:
        """Load all complete runs that the manifest table does not list; yield a report of each.

        Raises:
            OnefoldError: the folder cannot be listed, or the dataset or schema does not exist.
            TryAgain: an error that may pass, or the time is over before the last run.
        """
        until = None if self.seconds is None else self.clock() + self.seconds
        self.warehouse.prepare()
        for run in self._unfinished():
            left = None if until is None else until - self.clock()
            if left is not None and left <= 0:
                raise TryAgain(f"{run} and later runs are not loaded yet: {self.seconds:.0f} seconds are over; go on")
            report = self._run(run, functools.partial(self._loaded, wait=left))
            if report:
                yield report

    def plan(self) -> Iterator[RunReport]:
        """Yield what `load` would do for each run; nothing is written.

        The tables are looked at as they are now: two runs that need the same column both name it.
        """
        for run in self._unfinished():
            report = self._run(run, self._planned)
            if report:
                yield report

    def waiting(self) -> list[str]:
        """Return the complete runs that are not loaded, the oldest first.

        Raises:
            OnefoldError: the folder cannot be listed, or the dataset or schema does not exist.
        """
        return [run for run in self._unfinished() if self.runs.is_complete(run)]

    def _unfinished(self) -> list[str]:
        runs = self.runs.list()
        recorded = self.warehouse.recorded(runs) if runs else frozenset[tuple[str, str]]()
        return [run for run in runs if (run, "") not in recorded]

    def _run(self, run: str, work: Callable[[str, RunManifest], RunReport]) -> RunReport | None:
        """Return the report of one run; None where it is not complete yet."""
        try:
            manifest = self.runs.manifest(run)
            if manifest is None:
                return None
            self._check_format(run, manifest)
            return work(run, manifest)
        except OnefoldError as error:
            return RunReport(run, error=error)

    def _check_format(self, run: str, manifest: RunManifest) -> None:
        if manifest.tables and manifest.target != self.warehouse.warehouse:
            raise InvalidInput(
                f"{run} has rows for {manifest.target}, and {self.warehouse.place} is in {self.warehouse.warehouse}: shred "
                f"with --warehouse {self.warehouse.warehouse}, or load the run elsewhere"
            )

    def _loaded(self, run: str, manifest: RunManifest, *, wait: float | None) -> RunReport:
        tables = [table for table in manifest.tables if table.files]
        rest = self._not_recorded(run, tables)
        migrated = TableMigrations(self.warehouse, run).migrate(self._wanted(manifest, rest))
        failed = self._announced(migrated)
        good = [table for table in rest if isinstance(failed[table.name], EventTablePlan)]
        loads = [_table_load(run, manifest, table, self._event_table(table)) for table in good]
        results = {result.table: result for result in (self.warehouse.load(loads, wait) if loads else ())}
        reports = tuple(_report(table, migrated.get(table.name), failed, results) for table in tables)
        if not any(report.error for report in reports):
            self.warehouse.finish(run)
        return RunReport(run, reports, sum(manifest.bad.values()))

    def _planned(self, run: str, manifest: RunManifest) -> RunReport:
        tables = [table for table in manifest.tables if table.files]
        rest = self._not_recorded(run, tables)
        planned = TableMigrations(self.warehouse, run).plan(self._wanted(manifest, rest))
        reports = tuple(_report(table, planned.get(table.name), planned, {}) for table in tables)
        return RunReport(run, reports, sum(manifest.bad.values()), dry=True)

    def _wanted(self, manifest: RunManifest, tables: Sequence[ShreddedTable]) -> list[Wanted]:
        started = manifest.started_at
        models = frozenset(SchemaKey.parse(schema.uri).model_key for schema in manifest.schemas)
        return [Wanted(self._event_table(table), started, table.columns, table.adopted, models) for table in tables]

    def _event_table(self, table: ShreddedTable) -> EventTable:
        """Return a table with all columns that it has to have: of an adopted one also those that the files do not have."""
        columns = grown_by_name(table.adopted, table.columns, self.warehouse.grown)
        return EventTable(table.name, columns, table.uri, table.base, table.version, bool(table.adopted))

    def _not_recorded(self, run: str, tables: Sequence[ShreddedTable]) -> list[ShreddedTable]:
        recorded = self.warehouse.recorded([run])
        return [table for table in tables if (run, table.name) not in recorded]

    def _announced(self, migrated: Planned) -> Planned:
        """Announce what is new, and return the plans; an error of an announcement takes the place of a plan."""
        done = dict(migrated)
        for name, plan in migrated.items():
            if isinstance(plan, EventTablePlan) and plan.is_announced:
                try:
                    self.announce(plan)
                except OnefoldError as error:
                    done[name] = error
        return done


def _table_load(run: str, manifest: RunManifest, table: ShreddedTable, needed: EventTable) -> EventTableLoad:
    files = tuple(EventFile(file_address(run, table, file.name), file.rows, file.bytes) for file in table.files)
    of_files = table.columns if table.adopted else ()
    return EventTableLoad(run, manifest.started_at, needed, files, manifest.compression, of_files, manifest.format)


def _report(
    table: ShreddedTable, plan: EventTablePlan | OnefoldError | None, plans: Planned, results: Mapping[str, LoadResult]
) -> EventTableReport:
    name = table.name
    if plan is None:
        return EventTableReport(name, table.version, "loaded before", table.rows)
    outcome, result = plans[name], results.get(name)
    error = outcome if isinstance(outcome, OnefoldError) else result.error if result else None
    state: TableState = (
        "running" if isinstance(error, TryAgain) else "failed" if error else "loaded" if result else "to load"
    )
    job = result.job if result else ""
    if not isinstance(plan, EventTablePlan):
        return EventTableReport(name, table.version, state, table.rows, error=error)
    changed = (plan.action, plan.added, plan.is_news, job, error, plan.described, undescribed(plan))
    return EventTableReport(name, table.version, state, table.rows, *changed)


def summary(reports: Sequence[RunReport]) -> str:
    """Return a sentence about runs.

    Examples:
        >>> summary([RunReport("gs://b/r/run=2026-11-23-08-00-00")])
        '1 run: 1 loaded'
    """
    states = [report.state for report in reports]
    counts = ", ".join(f"{states.count(state):,} {state}" for state in dict.fromkeys(states))
    return f"{counted(len(states), 'run')}: {counts}" if states else "no run to load"
