"""The replacement of a day: its new rows and its deletions in the present version, in place of all rows of all versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, versioned_name
from onefold.extract.pulled import PulledFile, PulledFiles
from onefold.load.day_rows import DayRows
from onefold.load.missing_keys import KeyColumns, Landed, deletion_line
from onefold.load.plan import DayFiles
from onefold.load.run_log import Done
from onefold.ports.load_jobs import LoadJobs
from onefold.schema.versions import Version


class DeletionFiles(Protocol):
    """Stores deletions beside the files of a pull."""

    def write(self, pulled: PulledFiles, day: date, lines: Iterable[str]) -> tuple[PulledFile, ...]:
        """Store lines in files of that day; return the files, none without a line.

        Raises:
            TryAgain: the store does not answer.
            Rejected: the store refuses a file.
        """


@dataclass(frozen=True)
class DayReplacer:
    """Replaces days of one table.

    Attributes:
        rows: tells about landed rows.
        jobs: runs load jobs.
        deletions: stores deletions.
        base: the id of the table without a version.
        present: the version of the pull.
        older: all other versions.
    """

    rows: DayRows
    jobs: LoadJobs
    deletions: DeletionFiles
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

    def replace(self, pulled: PulledFiles, new: DayFiles, read: TableId) -> Done:
        """Replace one day: first in the present version, then in older ones, which keep no row of the day.

        Args:
            pulled: the result of the pull.
            new: the day and its new rows.
            read: the table with the keys of all rows that were read.
        """
        counts = self.rows.count([self.present, *self.older], new.day)
        filled = [version for version in self.older if counts.get(version.id)]
        if not new.files and not filled and not counts.get(self.present.id):
            return Done()
        files, deleted = self._deletions(pulled, new.day, read, filled, has_rows=bool(counts.get(self.present.id)))
        jobs = [self.jobs.replace(self._id(self.present), (*new.files, *files.get(self.present.id, ())), new.day)]
        jobs += [self.jobs.replace(self._id(version), files.get(version.id, ()), new.day) for version in filled]
        return Done(tuple(job.id for job in jobs if job), deleted)

    def _deletions(
        self, pulled: PulledFiles, day: date, read: TableId, filled: Sequence[Version], *, has_rows: bool
    ) -> tuple[Mapping[str, tuple[PulledFile, ...]], int]:
        """Return the files of deletions by the version that takes them, and the number of new ones."""
        keys = self._keys(pulled)
        landed = [Landed.of(version, self.present, keys) for version in (*([self.present] if has_rows else ()), *filled)]
        if not landed:
            return {}, 0
        targets = {one.target.id: one.target for one in landed}
        found: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in self.rows.missing(read, landed, keys, day):
            found[row["version"]].append(row)
        files = {
            id_: self.deletions.write(pulled, day, _lines(pulled, targets[id_], keys, rows, day))
            for id_, rows in found.items()
        }
        return files, sum(not row["deleted"] for rows in found.values() for row in rows)

    def _keys(self, pulled: PulledFiles) -> KeyColumns:
        return KeyColumns.of(pulled.plan, [self.present, *self.older])

    def _id(self, version: Version) -> TableId:
        return self.base.sibling(versioned_name(self.base.table, version.id))


def _lines(
    pulled: PulledFiles, target: Version, keys: KeyColumns, rows: Iterable[Mapping[str, Any]], day: date
) -> Iterator[str]:
    return (deletion_line(pulled.plan, target, keys, row, day, number) for number, row in enumerate(rows))
