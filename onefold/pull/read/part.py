"""One key range of a table: blocks of its rows, written to files and counted."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any
from urllib.parse import quote

from onefold.ports.objects import FileStore
from onefold.pull.read.layout import data_file, folder_of, progress_file
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pulled import PulledFile, PulledFiles
from onefold.pull.read.small_files import create_text
from onefold.pull.read.writer import MAX_FILE, PartWriter

Losses = Mapping[tuple[str, str], int]
FILE_DAYS = 1_000
"""Days of one file. BigQuery lets a job write 4,000 partitions ("Quotas and limits", partitioned tables, 2026-11)."""


@dataclass(frozen=True)
class Block:
    """Some lines of a range, and what is counted of them.

    Attributes:
        lines: whole lines with their line breaks.
        days: the lines of each day.
        least: the least reading of the watermark; None where no row has one.
        greatest: the greatest one.
        above: rows above the border.
        missing: rows without a watermark.
        losses: values that BigQuery cannot hold.
        replaced: the day of all lines, where a daily load replaces it: a file of such rows has no others. Otherwise all days
            have one `day_group`.
        counted: the rows of the whole range, as the source counted them in the same statement; None where it did not.
    """

    lines: bytes
    days: Mapping[date, int]
    least: int | None = None
    greatest: int | None = None
    above: int = 0
    missing: int = 0
    losses: Losses = field(default_factory=dict)
    replaced: date | None = None
    counted: int | None = None

    @property
    def group(self) -> date | int:
        """The file to which the lines belong: that of a replaced day, or of some following days."""
        return self.replaced or day_group(next(iter(self.days)))


def day_group(day: date) -> int:
    """Return the number of the days whose rows share a file, because a load job takes a limited number of partitions.

    Examples:
        >>> day_group(date(2026, 5, 3)) == day_group(date(2026, 5, 4)), day_group(date(1, 1, 1))
        (True, 0)
    """
    return day.toordinal() // FILE_DAYS


@dataclass(frozen=True)
class PartResult:
    """The files of a range, and what was counted."""

    files: tuple[PulledFile, ...] = ()
    least: int | None = None
    greatest: int | None = None
    above: int = 0
    missing: int = 0
    losses: Losses = field(default_factory=dict)
    counted: int | None = None

    def plus(self, other: PartResult | Block, files: tuple[PulledFile, ...] = ()) -> PartResult:
        """Return the counts of both, with more files."""
        return PartResult(
            (*self.files, *files),
            min((one for one in (self.least, other.least) if one is not None), default=None),
            max((one for one in (self.greatest, other.greatest) if one is not None), default=None),
            self.above + other.above,
            self.missing + other.missing,
            Counter(self.losses) + Counter(other.losses),
            self._counted_with(other),
        )

    def _counted_with(self, other: PartResult | Block) -> int | None:
        """Return the count of the source: that of the range in each of its blocks, and the sum of those of ranges."""
        if self.counted is None or other.counted is None:
            return other.counted if self.counted is None else self.counted
        return other.counted if isinstance(other, Block) else self.counted + other.counted

    def to_json(self) -> str:
        """Return the result as JSON, for the process that reads the next range."""
        files = [{**asdict(file), "days": [(day.isoformat(), rows) for day, rows in file.days]} for file in self.files]
        losses = [[*loss, count] for loss, count in self.losses.items()]
        return json.dumps({**asdict(self), "files": files, "losses": losses})

    @classmethod
    def from_json(cls, text: str | bytes) -> PartResult:
        """Return the result that `to_json` wrote."""
        value: dict[str, Any] = json.loads(text)
        files = tuple(
            PulledFile(**{**file, "days": tuple((date.fromisoformat(day), rows) for day, rows in file["days"])})
            for file in value.pop("files")
        )
        losses = {(column, kind): count for column, kind, count in value.pop("losses")}
        return cls(files, losses=losses, **value)


@dataclass(frozen=True)
class FileDestination:
    """Where the files of a pull go.

    Attributes:
        store: the store of the files.
        root: the address of its folder.
        limit: the most bytes of a file.
    """

    store: FileStore
    root: str
    limit: int = MAX_FILE

    def address(self, name: str) -> str:
        """Return the address of a name below the folder.

        Examples:
            >>> [FileDestination(None, root).address("json/a%2Fb") for root in ("file:///x", "gs://bucket/")]
            ['file:///x/json/a%252Fb', 'gs://bucket/json/a%2Fb']
        """
        return f"{self.root.rstrip('/')}/{quote(name) if self.root.startswith('file:') else name}"


def table_folder(plan: TablePlan) -> str:
    """Return the folder of the files of a table."""
    return folder_of(plan.request.source, plan.request.database, plan.structure.table)


def write_part(plan: TablePlan, part: int, blocks: Iterable[Block], to: FileDestination) -> PartResult:
    """Write a range to files, and return them with what was counted.

    Args:
        plan: of the pull.
        part: the number of the range.
        blocks: its rows.
        to: where files go.
    """
    folder, request = table_folder(plan), plan.request

    def address(number: int) -> str:
        name = data_file(folder, plan.range.window, plan.started, number, first=plan.first, compressed=request.gzip)
        return to.address(name)

    result = PartResult()
    writers: dict[date | int, PartWriter] = {}
    numbers = itertools.count(part, len(plan.parts))
    with ExitStack() as stack:
        for block in blocks:
            if block.group not in writers:
                writer = PartWriter(to.store, address, numbers, compress=request.gzip, limit=to.limit)
                writers[block.group] = stack.enter_context(writer)
            writers[block.group].write(block.lines, block.days)
            result = result.plus(block)
        return result.plus(PartResult(), tuple(file for writer in writers.values() for file in writer.close()))


def finished_part(plan: TablePlan, part: int, to: FileDestination) -> PartResult | None:
    """Return the result of a range of a first pull that was finished before; None for a range that has to be read."""
    found = to.store.find(_note(plan, part, to)) if plan.is_resumable else None
    return PartResult.from_json(found.data) if found else None


def note_part(plan: TablePlan, part: int, result: PartResult, to: FileDestination) -> PartResult:
    """Note the files of a range of a first pull, so that it is not read again, and return them.

    Another process may have noted files of the same range before: then these are returned.
    """
    if not plan.is_resumable or create_text(to.store, _note(plan, part, to), result.to_json()):
        return result
    return finished_part(plan, part, to) or result


def _note(plan: TablePlan, part: int, to: FileDestination) -> str:
    return to.address(progress_file(table_folder(plan), plan.target.version, plan.attempt, part))


def pulled_files(plan: TablePlan, results: Iterable[PartResult]) -> PulledFiles:
    """Return what was pulled, from the results of all ranges."""
    total = PartResult()
    for result in results:
        total = total.plus(result, result.files)
    watermark = plan.watermark
    least, greatest = (
        watermark.value(reading) if watermark and reading is not None else None for reading in (total.least, total.greatest)
    )
    files = tuple(sorted(total.files, key=lambda file: file.name))
    return PulledFiles(plan, files, greatest, least, total.above, total.missing, total.losses, total.counted)
