"""The repair of a chunk: rows that differ land again, and keys that are gone at the source get a tombstone.

The rows are those of the files of the check. Each gets a position directly above the last change of its key, whatever that
is: also where the source's modification time has gone back, or where a tombstone was wrong.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from onefold.check.chunks import ChunkResult
from onefold.check.exact import ComparedChunk
from onefold.check.request import CheckedTable
from onefold.core.errors import TryAgain
from onefold.core.names import versioned_name
from onefold.ports.load_jobs import LoadJobs
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.load.day_rows import last_changes
from onefold.pull.load.missing_keys import LOOKED_UP, KeyColumns, Landed, deletion_line
from onefold.pull.load.second_look import DeletionFiles
from onefold.pull.read.part import FileDestination
from onefold.pull.read.present_rows import PresentRows
from onefold.pull.read.pulled import Loads, PulledFile, PulledFiles
from onefold.pull.read.pulled_table import DAY
from onefold.schema.columns import Schema
from onefold.schema.versions import Version

_SEQUENCE = re.compile(r'"change_sequence_number":"([0-9A-F/]+)"')
"""In a line of a file: in a text the quotes would be escaped, and JSON columns come after the metadata."""
_DAY = re.compile(rf'"{DAY.name}":"[0-9-]+"')
_SIGN = 1 << 63
Change = Mapping[str, Any]


@dataclass(frozen=True)
class Repairer:
    """Repairs chunks of pulled tables.

    Attributes:
        warehouse: tells the last changes of keys.
        loads: appends rows, and keeps out of the way of loads that replace them.
        jobs: appends tombstones to versions of other structures.
        files: stores lines beside those of the check.
        to: where the files of the check are.
        present: reads rows of the source by their keys.
    """

    warehouse: BaseWarehouse
    loads: Loads
    jobs: LoadJobs
    files: DeletionFiles
    to: FileDestination
    present: PresentRows

    def repair(self, table: CheckedTable, chunk: ComparedChunk, confirmed: ChunkResult) -> int:
        """Repair the rows of findings, and return the number of lines that were written.

        Args:
            table: the table.
            chunk: the chunk as it was compared last, while it is open; `loads.begin` was called with its plan.
            confirmed: the findings to repair.

        Raises:
            TryAgain: an error that may pass, or a load replaces the same rows: the next check repairs them.
        """
        chosen = {tuple(finding.key.values()) for finding in confirmed.findings}
        rows = {row.mark: row.sequence for row in chunk.rows if row.key in chosen}
        if not rows:
            return 0
        present = Version(table.target.version, table.target.columns)
        older = [version for version in self.warehouse.read_versions(table.base) if version.id != present.id]
        keys = _key_columns(table)
        landed = [Landed.of(version, present, keys) for version in (present, *older)]
        last = self._last_changes(table, chunk, landed, keys)
        targets = {one.target.id: one.target for one in landed}
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for number, mark in enumerate(sorted(mark for mark, sequence in rows.items() if sequence is None)):
            if (change := last.get(mark)) and not change["deleted"]:
                target = targets[change["version"]]
                lines[target.id].append(deletion_line(chunk.plan, target, keys, change, change["day"], number))
        by_sequence = {sequence: last.get(mark) for mark, sequence in rows.items() if sequence}
        lines[present.id] += self._landed_again(chunk, by_sequence)
        return self._append(table, chunk, lines)

    def _last_changes(
        self, table: CheckedTable, chunk: ComparedChunk, landed: Sequence[Landed], keys: KeyColumns
    ) -> dict[str, Change]:
        changes = last_changes(table.base, landed, keys, table.tenant)
        found = self.warehouse.fetch(
            f"SELECT m.*\nFROM (\n{changes}\n) AS m JOIN {chunk.table.quoted} AS f ON f.mark = m.mark"
        )
        return {row["mark"]: row for row in found}

    def _landed_again(self, chunk: ComparedChunk, rows: Mapping[str, Change | None]) -> Iterator[str]:
        """Yield the lines of the check's files for rows, by their sequences, each above the last change of its key."""
        for number, (line, sequence) in enumerate(self._lines(chunk, rows.keys())):
            change = rows[sequence]
            if change is None:
                yield line
                continue
            above = sequence_above(sequence, change["sequence"], number)
            raised = _SEQUENCE.sub(f'"change_sequence_number":"{above}"', line, count=1)
            # The day of a key is that of its load, which a daily load replaces by the range of keys that it has logged.
            yield raised if chunk.plan.watermark is None or chunk.plan.watermark.is_time else _on(raised, change["day"])

    def _lines(self, chunk: ComparedChunk, sequences: Collection[str]) -> Iterator[tuple[str, str]]:
        for file in chunk.read.files:
            stored = self.to.store.find(file.name)
            if stored is None:
                raise TryAgain(f"{file.name} is gone: the next check reads the chunk again")
            for line in stored.data.decode().split("\n"):
                found = _SEQUENCE.search(line)
                if found and found[1] in sequences:
                    yield line, found[1]

    def _append(self, table: CheckedTable, chunk: ComparedChunk, lines: Mapping[str, Sequence[str]]) -> int:
        pulled = PulledFiles(chunk.plan)
        for version, some in lines.items():
            files = tuple(self._files(pulled, some))
            if version != table.target.version and files:
                self.jobs.append(table.base.sibling(versioned_name(table.base.table, version)), files)
            elif files:
                readings = [reading for line in some if (reading := _reading(line)) is not None]
                least, greatest = min(readings, default=None), max(readings, default=None)
                self.loads.load(replace(pulled, files=files, least=least, greatest=greatest), self.present)
        return sum(len(some) for some in lines.values())

    def _files(self, pulled: PulledFiles, lines: Iterable[str]) -> Iterator[PulledFile]:
        days: defaultdict[date, list[str]] = defaultdict(list)
        for line in lines:
            days[date.fromisoformat(json.loads(line)[DAY.name])].append(line)
        for day in sorted(days):
            yield from self.files.write(pulled, day, days[day])


def sequence_above(own: str, replaced: str, number: int) -> str:
    """Return the sequence of a row that lands again: above the change that it replaces, and above all reads before.

    Args:
        own: the sequence with which the row was read.
        replaced: the sequence of the last change of its key.
        number: the number of the row within the repair.

    Examples:
        >>> sequence_above("80/5/0/7", "80/9/0/1", 3), sequence_above("70/5/0/7", "80/2/0/1", 3)
        ('80/A/FFFFFFFF/3', '80/5/FFFFFFFF/3')
    """
    watermark, read, *_ = (int(section, 16) for section in own.split("/"))
    old_watermark, old_read, *_ = (int(section, 16) for section in replaced.split("/"))
    return f"{max(watermark, old_watermark):X}/{max(read, old_read + 1):X}/{LOOKED_UP:X}/{number:X}"


def _key_columns(table: CheckedTable) -> KeyColumns:
    """Return the columns of the key, in the types of the view, so that their digests are those of the comparison."""
    present = Schema(one.landed for one in table.key_columns)
    return KeyColumns(tuple(present), tuple(one.shown for one in table.key_columns))


def _on(line: str, day: date) -> str:
    return _DAY.sub(f'"{DAY.name}":"{day.isoformat()}"', line, count=1)


def _reading(line: str) -> int | None:
    """Return the watermark of a line; None without one."""
    found = _SEQUENCE.search(line)
    section = int(found[1].split("/")[0], 16) if found else 0
    return section - _SIGN if section else None
