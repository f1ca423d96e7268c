"""The replacement of a day: its new rows and its deletions in the present version, in place of all rows of all versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, timedelta

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, versioned_name
from onefold.ports.load_jobs import LoadJobs
from onefold.pull.load.day_rows import DayRows, Since
from onefold.pull.load.missing_keys import KeyColumns, Landed
from onefold.pull.load.plan import DayFiles
from onefold.pull.load.run_log import Done
from onefold.pull.load.second_look import Change, SecondLook
from onefold.pull.read.clock import time_of
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pulled import PulledFile, PulledFiles
from onefold.pull.read.ranges import day_of
from onefold.schema.versions import Version

Changes = Mapping[date, Sequence[Change]]


@dataclass(frozen=True)
class DayReplacer:
    """Replaces days of one table.

    Attributes:
        rows: tells about landed rows.
        jobs: runs load jobs.
        look: looks keys up at the source.
        base: the id of the table without a version.
        present: the version of the pull.
        older: all other versions.
    """

    rows: DayRows
    jobs: LoadJobs
    look: SecondLook
    base: TableId
    present: Version
    older: tuple[Version, ...]

    def read_keys(self, pulled: PulledFiles) -> AbstractContextManager[TableId]:
        """Hold the keys of all rows that a pull has read.

        Raises:
            SchemaConflict: the table has no key.
        """
        if not pulled.plan.keys:
            raise SchemaConflict(f"{pulled.table} has no key, so its rows cannot be told apart: set `mode: full`")
        return self.rows.read_keys(pulled, self._keys(pulled))

    def overtaken(self, pulled: PulledFiles, read: TableId) -> Changes:
        """Return the changes, by their days, whose watermark is above what the source has now, or may have.

        These are the changes above a row that was read, and those of days to come whose keys were not read any more.

        Args:
            pulled: the result of the pull.
            read: the table with the keys of all rows that were read.
        """
        found: defaultdict[date, list[Change]] = defaultdict(list)
        if pulled.plan.watermark is None or not pulled.plan.watermark.is_time:
            return found  # a key never changes
        keys = self._keys(pulled)
        landed = [Landed.of(version, self.present, keys) for version in (self.present, *self.older)]
        everywhere = pulled.rows_without_watermark > 0 or pulled.plan.range.low is None
        since = Since(pulled.plan.range.days[0], everywhere)
        for one in self.rows.above(read, landed, keys, since):
            found[one["day"]].append({**one, "is_read": True})
        for one in self.rows.ahead(read, landed, keys, today(pulled.plan) + timedelta(days=1)):
            found[one["day"]].append(one)
        return found

    def append(self, pulled: PulledFiles, changes: Changes) -> Done:
        """Append what follows changes of days that are not replaced.

        Args:
            pulled: the result of the pull.
            changes: the changes by their days.
        """
        jobs, total = [], 0
        for day, some in changes.items():
            files, deleted = self._write(pulled, day, some)
            jobs += [self.jobs.append(self._name(id_), stored).id for id_, stored in files.items()]
            total += deleted
        return Done(tuple(jobs), total)

    def replace(self, pulled: PulledFiles, new: DayFiles, read: TableId, overtaken: Sequence[Change] = ()) -> Done:
        """Replace one day: first in the present version, then in older ones, which keep no row of the day.

        Args:
            pulled: the result of the pull.
            new: the day and its new rows.
            read: the table with the keys of all rows that were read.
            overtaken: the changes of `overtaken` that lie in the day.
        """
        counts = self.rows.count([self.present, *self.older], new.day)
        filled = [version for version in self.older if counts.get(version.id)]
        if not new.files and not filled and not counts.get(self.present.id) and not overtaken:
            return Done()
        landed = [*([self.present] if counts.get(self.present.id) else ()), *filled]
        changes = [*overtaken, *self._missing(pulled, new.day, read, landed)]
        files, deleted = self._write(pulled, new.day, changes)
        jobs = [self.jobs.replace(self._name(self.present.id), (*new.files, *files.get(self.present.id, ())), new.day)]
        others = dict.fromkeys((*(version.id for version in filled), *files))
        jobs += [self.jobs.replace(self._name(id_), files.get(id_, ()), new.day) for id_ in others if id_ != self.present.id]
        return Done(tuple(job.id for job in jobs if job), deleted)

    def _missing(self, pulled: PulledFiles, day: date, read: TableId, versions: Sequence[Version]) -> Iterator[Change]:
        keys = self._keys(pulled)
        landed = [Landed.of(version, self.present, keys) for version in versions]
        if landed:
            yield from self.rows.missing(read, landed, keys, day)

    def _write(
        self, pulled: PulledFiles, day: date, changes: Sequence[Change]
    ) -> tuple[Mapping[str, tuple[PulledFile, ...]], int]:
        targets = {version.id: version for version in (self.present, *self.older)}
        return self.look.write(pulled, self._keys(pulled), targets, day, changes)

    def _keys(self, pulled: PulledFiles) -> KeyColumns:
        return KeyColumns.of(pulled.plan, [self.present, *self.older])

    def _name(self, version: str) -> TableId:
        return self.base.sibling(versioned_name(self.base.table, version))


def today(plan: TablePlan) -> date:
    """Return the day of the read, by the clock of the watermark."""
    return day_of(time_of(plan.read_at), plan.watermark.day_zone if plan.watermark else "UTC")
