"""Use case: load the files of a pull, and write down what was loaded.

Every step may be repeated: job identifiers and positions of rows make a second time harmless. Loads that replace rows keep
out of each other's way by the log: each says there that it begins before its pull reads the source. A load that finds that
another one of the same rows has begun since gives way, because the other one has read later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Protocol

from onefold.batches.source_arguments import Window
from onefold.core.errors import TryAgain
from onefold.core.log import log
from onefold.core.names import TableId, versioned_name
from onefold.core.text import counted, shown_list
from onefold.ports.load_jobs import LoadedJob, LoadJobs
from onefold.ports.rows import Row
from onefold.pull.load.daily import DayReplacer, today
from onefold.pull.load.day_rows import DayRows
from onefold.pull.load.log_state import Replacement
from onefold.pull.load.plan import LoadPlan, plan_load, replaced_days
from onefold.pull.load.run_log import Done, begun_row, is_announced, loaded_row, replaces
from onefold.pull.load.second_look import DeletionFiles, SecondLook
from onefold.pull.load.small_appends import SmallAppends
from onefold.pull.load.tables import Announcements
from onefold.pull.read.plan import LoadState, TablePlan
from onefold.pull.read.present_rows import PresentRows
from onefold.pull.read.pulled import PulledFile, PulledFiles
from onefold.schema.versions import Version


class Log(Protocol):
    """What a load needs of the log of its dataset."""

    def state_of(self, table: str, window: Window, now: datetime) -> LoadState: ...

    def replacements(self, table: str, now: datetime) -> tuple[Replacement, ...]: ...

    def begun_at(self, load_id: str, now: datetime) -> datetime | None: ...

    def append(self, row: Row) -> None: ...


@dataclass(frozen=True)
class TableLoads:
    """`onefold.pull.read.pulled.Loads`: the loads of the tables of one dataset. Threads may share it.

    Attributes:
        announcements: makes versioned tables.
        jobs: runs load jobs.
        log: the log of the dataset.
        days: tells about the landed rows of a table.
        deletions: stores deletions.
        now: the present time.
        small: appends the rows of small files; None where load jobs do it.
    """

    announcements: Announcements
    jobs: LoadJobs
    log: Log
    days: Callable[[TableId], DayRows]
    deletions: DeletionFiles
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    small: SmallAppends | None = None
    _begun: dict[str, datetime] = field(default_factory=dict, init=False)

    def state_of(self, table: TableId, window: Window) -> LoadState:
        """Return what the log says about a table.

        Args:
            table: the base name.
            window: of the pull.
        """
        return self.log.state_of(table.table, window, self.now())

    def confirmed(self, table: TableId, state: LoadState) -> LoadState:
        """Return a state as the warehouse bears it out: a table that was dropped, or made again, has none of its rows.

        Args:
            table: the base name.
            state: what the log says about it.
        """
        lost = self.announcements.lost(table, state)
        if not lost:
            return state
        log(
            "WARNING",
            f"{table}: the table of version {', '.join(lost)} was dropped or made again: all rows are read "
            f"again, and replace those of other versions",
            event="pulled_table_lost",
            dataset=table.dataset,
            table=table.table,
            version=shown_list(lost),
        )
        return state.forgotten()

    def pulled_tables(self, dataset: str) -> Collection[str]:
        """Return the base names of the pulled tables of a dataset, by their label.

        Args:
            dataset: the dataset.
        """
        return self.announcements.pulled_tables(dataset)

    def begin(self, plan: TablePlan) -> None:
        """Say that a pull is about to read. This has to come before its first range.

        Raises:
            SchemaConflict: the key of the source has changed.
            TryAgain: an error that may pass; or all rows would be read, while a load that replaces rows goes on.
        """
        self.announcements.check_key(plan)
        self._begun[plan.load_id] = at = self.now()
        if not replaces(plan) and plan.range.low is None and plan.previous.version is not None:
            # Rows of a replaced day would be among those of the whole table, which would be read for nothing.
            self._check_none_replaces(plan, None, at)
        if is_announced(plan):
            self.log.append(begun_row(plan, at))

    def load(self, pulled: PulledFiles, present: PresentRows) -> None:
        """Load the files, and write the log. A repeated call does nothing more.

        Args:
            pulled: the result of the pull.
            present: reads rows of the source again by their keys.

        Raises:
            OnefoldError: a step failed; the same load, or the next pull, may be run at any time.
        """
        plan = pulled.plan
        begun_at = self._begun[plan.load_id]
        version, *older = self._versions(plan)
        base = TableId(self.announcements.warehouse.project, plan.dataset, plan.target.table)
        if plan.range.window == "full":
            done = self._full(pulled, base, [version.id for version in older])
        else:
            rows = self.days(base)
            look = SecondLook(rows, present, self.deletions, version)
            replacer = DayReplacer(rows, self._jobs(plan), look, base, version, tuple(older))
            done = self._incremental(pulled, replacer)
        self.log.append(loaded_row(pulled, done, begun_at, self.now()))
        _log(pulled, done)

    def _versions(self, plan: TablePlan) -> tuple[Version, ...]:
        """Return all versions, that of the pull first. Most pulls append to a version that was loaded before: only it."""
        if plan.previous.version == plan.target.version and not replaces(plan):
            return (Version(plan.target.version, plan.target.columns),)
        return self.announcements.versions_for(plan)

    def _jobs(self, plan: TablePlan) -> LoadJobs:
        """Return the load jobs of a pull, of which no job counts that is older than the rows of the log about the pull.

        Only a first pull may find jobs of an earlier process: all others write files of their own.
        """
        first = self.log.begun_at(plan.load_id, self.now()) if plan.first else None
        return self.jobs.since(first or self._begun[plan.load_id])

    def _full(self, pulled: PulledFiles, base: TableId, older: Sequence[str]) -> Done:
        self._check_newest(pulled.plan, None)
        jobs = replace_all(self._jobs(pulled.plan), base, pulled, older)
        self._check_newest(pulled.plan, None)
        return Done(jobs)

    def _incremental(self, pulled: PulledFiles, replacer: DayReplacer) -> Done:
        plan = plan_load(pulled)
        table = replacer.base.sibling(pulled.plan.target.name)
        # Rows of later days come first: a row that has moved to one of them is there before it goes from its former day.
        jobs = tuple(self._append(pulled.plan, replacer.jobs, table, files).id for files in plan.appends)
        if not plan.replacements:
            self._check_not_replaced(pulled)
            return Done(jobs)
        with replacer.read_keys(pulled) as read:
            done = Done(jobs) + self._replaced(pulled, plan, replacer, read)
        self._check_newest(pulled.plan, replaced_days(pulled))
        return done

    def _append(self, plan: TablePlan, jobs: LoadJobs, table: TableId, files: Sequence[PulledFile]) -> LoadedJob:
        done = self.small.append(plan, table, files) if self.small else None
        return done or jobs.append(table, files)

    def _replaced(self, pulled: PulledFiles, plan: LoadPlan, replacer: DayReplacer, read: TableId) -> Done:
        overtaken = replacer.overtaken(pulled, read)
        replaced = {files.day for files in plan.replacements}
        done = replacer.append(pulled, {day: some for day, some in overtaken.items() if day not in replaced})
        for files in plan.replacements:
            self._check_newest(pulled.plan, replaced_days(pulled))
            done += replacer.replace(pulled, files, read, overtaken.get(files.day, ()))
        return done

    def _check_newest(self, plan: TablePlan, days: Iterable[date] | None) -> None:
        """Check that no other load of the same rows has begun since.

        Raises:
            TryAgain: another load has begun, and its pull has read later than this one.
        """
        mine = (self._begun[plan.load_id], plan.load_id)
        for other in self._replacements(plan):
            if other.touches(days) and (other.begun_at, other.load_id) > mine:
                raise TryAgain(
                    f"{plan.table}: the load {other.load_id}, which began at {other.begun_at}, replaces the same rows: "
                    "this one has given way; run it again if the other one fails"
                )

    def _check_not_replaced(self, pulled: PulledFiles) -> None:
        """Check that no load has replaced, or is replacing, the rows that were just appended.

        Raises:
            TryAgain: such a load may have read the source before this pull did.
        """
        begun_at = self._begun[pulled.plan.load_id]
        days = {day for file in pulled.files for day, _ in file.days}
        if all(day >= today(pulled.plan) for day in days):
            return  # a day is replaced when it is over
        self._check_none_replaces(pulled.plan, days, begun_at)

    def _check_none_replaces(self, plan: TablePlan, days: Iterable[date] | None, begun_at: datetime) -> None:
        """Check that no load replaces rows of some days, and that none has been done since a time; None for all days.

        Raises:
            TryAgain: there is such a load.
        """
        found = [other for other in self._replacements(plan) if other.touches(days)]
        # Of loads that were killed, the next one of the same rows tells the end.
        last = max(found, key=lambda other: other.begun_at, default=None)
        if last and (last.done_at is None or last.done_at >= begun_at):
            raise TryAgain(
                f"{plan.table}: the load {last.load_id}, which began at {last.begun_at}, replaces rows of the same days: "
                "the next pull reads them again; if that load was killed, run it again"
            )

    def _replacements(self, plan: TablePlan) -> list[Replacement]:
        found = self.log.replacements(plan.target.table, self.now())
        return [other for other in found if other.load_id != plan.load_id]


def _log(pulled: PulledFiles, done: Done) -> None:
    log(
        "WARNING" if pulled.rows_above else "INFO",
        f"{pulled.table}: {counted(pulled.rows, 'row')} loaded, {counted(done.deleted, 'deletion')} found",
        event="pulled_rows_loaded",
        dataset=pulled.table.dataset,
        table=pulled.table.table,
        version=pulled.version,
        window=pulled.window,
        rows=pulled.rows,
        rows_above=pulled.rows_above or None,
        rows_without_watermark=pulled.rows_without_watermark or None,
        deleted=done.deleted,
        files=len(pulled.files),
        jobs=len(done.jobs),
    )


def replace_all(jobs: LoadJobs, base: TableId, pulled: PulledFiles, older: Sequence[str]) -> tuple[str, ...]:
    """Replace the rows of all versions by those of a full load; return the identifiers of the jobs.

    Args:
        jobs: runs load jobs.
        base: the id of the table without a version.
        pulled: the whole table.
        older: the other versions of the table.
    """
    present = base.sibling(pulled.plan.target.name)
    if not pulled.files:
        # Emptied first, the present version would leave an older load as the newest one.
        _empty(jobs, base, older)
        jobs.replace(present, ())
        return ()
    job = jobs.replace(present, pulled.files)
    _empty(jobs, base, older)
    return (job.id,) if job else ()


def _empty(jobs: LoadJobs, base: TableId, older: Sequence[str]) -> None:
    for version in older:
        jobs.replace(base.sibling(versioned_name(base.table, version)), ())
