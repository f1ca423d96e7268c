"""What became of keys whose last landed change is not what a pull has read: deleted, or there with a lower watermark.

A watermark falls where a clock is set back, where somebody corrects a time in the future, and where a column becomes NULL.
The present row then comes with a position above that of the change that it follows, as a deletion does.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from onefold.pull.load.day_rows import DayRows
from onefold.pull.load.missing_keys import LOOKED_UP, KeyColumns, deletion_line, place_above
from onefold.pull.read.present_rows import PresentRow, PresentRows
from onefold.pull.read.pulled import PulledFile, PulledFiles
from onefold.pull.read.rows import line_at, watermark_section
from onefold.pull.read.watermark import NO_DAY
from onefold.schema.versions import Version

KEYS = 10_000
"""Keys that are looked up at once."""

Change = Mapping[str, Any]
"""A row of `DayRows.missing`."""


class DeletionFiles(Protocol):
    """Stores deletions, and rows that were looked up, beside the files of a pull."""

    def write(self, pulled: PulledFiles, day: date, lines: Iterable[str]) -> tuple[PulledFile, ...]:
        """Store lines in files of that day; return the files, none without a line.

        Raises:
            TryAgain: the store does not answer.
            Rejected: the store refuses a file.
        """


@dataclass(frozen=True)
class SecondLook:
    """Looks keys up at the source.

    Attributes:
        rows: tells the keys of rows that were looked up.
        source: reads rows by their keys.
        files: stores lines.
        present: the version of the pull.
    """

    rows: DayRows
    source: PresentRows
    files: DeletionFiles
    present: Version
    _numbers: Iterator[int] = field(default_factory=itertools.count, init=False)

    def write(
        self, pulled: PulledFiles, keys: KeyColumns, targets: Mapping[str, Version], day: date, changes: Sequence[Change]
    ) -> tuple[Mapping[str, tuple[PulledFile, ...]], int]:
        """Store what follows each change; return the files by the version that takes them, and the number of deletions.

        A deletion of `DayRows.missing` is carried over as it is.

        Args:
            pulled: the result of the pull.
            keys: the columns of the key.
            targets: the versions that take deletions, by identifier.
            day: the day in which the lines lie.
            changes: the changes.
        """
        lines: defaultdict[str, list[str]] = defaultdict(list)
        deleted = 0
        for at in range(0, len(changes), KEYS):
            some = changes[at : at + KEYS]
            present = self._present(pulled, keys, [one for one in some if is_looked_up(one)])
            for one in some:
                number, row = next(self._numbers), present.get(one["mark"])
                if row is not None:
                    place = place_above(pulled.plan, one["sequence"], number)
                    lines[self.present.id].append(line_at(pulled.plan, row.values, day, place))
                else:
                    line = deletion_line(pulled.plan, targets[one["version"]], keys, one, day, number)
                    lines[one["version"]].append(line)
                    deleted += not one["deleted"]
        return {id_: self.files.write(pulled, day, some) for id_, some in lines.items()}, deleted

    def _present(self, pulled: PulledFiles, keys: KeyColumns, changes: Sequence[Change]) -> Mapping[str, PresentRow]:
        """Return the rows that are at the source, by the marks of their keys.

        The warehouse compares keys: a collation of the source may take different texts for equal.
        """
        texts = [tuple(one[f"k{number}"] for number in range(len(keys.common))) for one in changes]
        found = self.source.read(pulled.plan, texts) if texts else ()
        if not found:
            return {}
        places = [_place(pulled, row.reading, number) for number, row in enumerate(found)]
        lines = (line_at(pulled.plan, row.values, NO_DAY, place) for row, place in zip(found, places, strict=True))
        marks = self.rows.marks(self.files.write(pulled, NO_DAY, lines), keys)
        return {marks[place]: row for place, row in zip(places, found, strict=True)}


def is_looked_up(change: Change) -> bool:
    """Return whether the source has to tell what became of a key: of a key whose deletion was not read again it did."""
    return not change["deleted"] or bool(change.get("is_read"))


def _place(pulled: PulledFiles, reading: int | None, number: int) -> str:
    return f"{watermark_section(reading)}/{pulled.plan.read_at:X}/{LOOKED_UP:X}/{number:X}"
