"""Writes the deletions of a daily load to files beside the rows of its pull."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import islice

from onefold.pull.read.layout import data_file
from onefold.pull.read.part import FileDestination, table_folder
from onefold.pull.read.pulled import PulledFile, PulledFiles
from onefold.pull.read.writer import PartWriter

_LINES = 10_000
"""Lines that are written at once."""


@dataclass(frozen=True)
class StoredDeletions:
    """`onefold.pull.load.second_look.DeletionFiles` in the folder of the pull.

    Attributes:
        to: where the files of the pull are.
    """

    to: FileDestination

    def write(self, pulled: PulledFiles, day: date, lines: Iterable[str]) -> tuple[PulledFile, ...]:
        plan = pulled.plan
        folder = table_folder(plan)

        def address(number: int) -> str:
            name = data_file(folder, plan.range.window, plan.started, number, compressed=plan.request.gzip)
            return self.to.address(name)

        with PartWriter(self.to.store, address, compress=plan.request.gzip, limit=self.to.limit) as writer:
            for block in _blocks(lines):
                writer.write("".join(f"{line}\n" for line in block).encode(), {day: len(block)})
            return writer.close()


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(lines)
    while block := list(islice(rest, _LINES)):
        yield block
