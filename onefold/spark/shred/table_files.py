"""The files that one attempt of a task writes, in the worker itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyarrow.fs import LocalFileSystem

from onefold.events.shred.plan import PlannedTable
from onefold.events.shred.tally import WrittenFile
from onefold.spark.shred.stores import Stores

TEXT_BYTES, TEXT_FILE_BYTES = 1 << 20, 128 << 20
"""The characters of lines that are written at once, and the bytes from which a file of lines is complete."""


@dataclass(frozen=True)
class Target:
    """Where the files of an attempt of a task go. Attempts of one task write different files, and one of them counts.

    Attributes:
        stores: the stores.
        run: the address of the folder of the run.
        folders: the folder of each table below it.
        task: the number of the task.
        attempt: the number of the attempt, which no other one of the run has.
    """

    stores: Stores
    run: str
    folders: Mapping[int, str]
    task: int
    attempt: int

    def create(self, table: int, number: int, ending: str) -> tuple[str, Any]:
        """Create a file, and return its name and its stream.

        Args:
            table: the number of the table.
            number: the number of the file among those of the table and the attempt.
            ending: of the name.
        """
        name = f"part-{self.task:05}-{self.attempt}.c{number:03}{ending}"
        system, path = self.stores.find(f"{self.run}/{self.folders[table]}")
        if isinstance(system, LocalFileSystem):  # the others have no folders
            system.create_dir(path)
        return name, system.open_output_stream(f"{path}/{name}")


@dataclass
class _Lines:
    number: int = 0
    rows: int = 0
    size: int = 0
    waiting: list[str] = field(default_factory=list)
    waiting_size: int = 0
    name: str = ""
    stream: Any = None


class TextFiles:
    """Files of lines."""

    def __init__(self, target: Target, ending: str) -> None:
        self._target = target
        self._ending = ending
        self._tables: dict[int, _Lines] = {}
        self.written: list[WrittenFile] = []

    def add(self, table: int, rows: Sequence[str]) -> None:
        """Take lines of a table."""
        lines = self._tables.setdefault(table, _Lines())
        text = "\n".join(rows)
        lines.waiting.append(text)
        lines.rows += len(rows)
        lines.waiting_size += len(text)
        if lines.waiting_size >= TEXT_BYTES:
            self._write(table, lines)
        if lines.size >= TEXT_FILE_BYTES:
            self._close(table, lines)
            self._tables[table] = _Lines(lines.number + 1)

    def close(self) -> None:
        """Write what is left."""
        for table, lines in self._tables.items():
            if lines.rows:
                self._close(table, lines)

    def _write(self, table: int, lines: _Lines) -> None:
        if lines.stream is None:
            lines.name, lines.stream = self._target.create(table, lines.number, self._ending)
        data = "\n".join([*lines.waiting, ""]).encode()
        lines.stream.write(data)
        lines.size += len(data)
        lines.waiting, lines.waiting_size = [], 0

    def _close(self, table: int, lines: _Lines) -> None:
        if lines.waiting:
            self._write(table, lines)
        lines.stream.close()
        self.written.append(WrittenFile(table, lines.name, lines.rows, lines.size))


def schemas_in(table: PlannedTable, rows: Sequence[Any]) -> set[str]:
    """Return the URIs of the schemas of the rows of a table: version is the fourth column.

    Args:
        table: the table; not that of the events.
        rows: its rows.
    """
    schema = table.uri.rpartition("/")[0]
    if isinstance(rows[0], str):
        # Vendor, name and format are the same in all rows. They are not quoted, and nor is the version.
        start = len(rows[0]) - len(rows[0].split("\t", 3)[3])
        versions = {row[start : row.index("\t", start)] for row in rows}
    else:
        versions = {row[3] for row in rows}
    return {f"{schema}/{version}" for version in versions}
