"""The reader of lines that the server has written: no value becomes one of Python's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import pymysql

from onefold.mysql.text_rows import text_rows
from onefold.pull.read.blocks import RowLines, day_of, grouped
from onefold.pull.read.line_query import BETWEEN, LOST, line_query
from onefold.pull.read.part import Block, FileDestination, PartResult, write_part
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.python_reader import PythonReader
from onefold.pull.read.rows import shared_fields, watermark_section

_KIND = "date"
"""The kind of loss: of what the server writes, days alone may be lost."""
_HALF_A_PAIR = re.compile(b"\xed[\xa0-\xbf]")
_MARK, _BETWEEN, _LOST = LOST.encode(), BETWEEN.encode(), re.compile(f"{LOST}([0-9]+){LOST}".encode())


class LineTooLong(Exception):
    """The server cannot write the line of a row: it is longer than max_allowed_packet, or has a text without a form.

    MariaDB writes half a surrogate pair as three bytes that are no UTF-8.
    """


@dataclass(frozen=True)
class LineReader:
    """Reads key ranges as lines; those with a row that has no line, and tables with geometries, as `PythonReader` does.

    Attributes:
        connect: opens a connection to the source.
        to: where files go.
    """

    connect: Callable[[], pymysql.Connection]
    to: FileDestination

    def read(self, plan: TablePlan, part: int) -> PartResult:
        """Return the files of a range.

        Args:
            plan: of the pull.
            part: the number of the range.
        """
        sql = line_query(plan, plan.parts[part])
        if sql is not None:
            try:
                with closing(self.connect()) as connection:
                    return write_part(plan, part, _read(connection, sql, plan, part), self.to)
            except LineTooLong:
                pass  # the files that were written are in no report, so nobody loads them
        return PythonReader(self.connect, self.to).read(plan, part)


def _read(connection: pymysql.Connection, sql: str, plan: TablePlan, part: int) -> Iterator[Block]:
    lines = _Lines(plan, part)
    for rows in text_rows(connection, sql):
        if rows:
            yield from grouped(plan, lines.of_rows(rows))


class _Lines:
    """Makes the lines of a key range, whose rows have numbers in the order in which they come."""

    def __init__(self, plan: TablePlan, part: int) -> None:
        self._plan, self._number = plan, 0
        self._begin, self._middle, self._end = shared_fields(plan, part)
        self._iso = lru_cache(maxsize=1024)(lambda day: day.isoformat().encode())
        self._lost: Counter[tuple[str, str]] = Counter()

    def of_rows(self, rows: list[bytes | None]) -> RowLines:
        """Return the lines of some rows.

        Raises:
            LineTooLong: a row has none.
        """
        self._lost = Counter()
        parts = [_parts(row) for row in rows]
        lines, readings, days = zip(*[self._line(*row[:4]) for row in parts], strict=True)
        return RowLines(lines, readings, days, self._lost, int(parts[0][-1]) if self._plan.is_counted else None)

    def _line(self, plain: bytes, json: bytes, reading: bytes, shown: bytes) -> tuple[bytes, int | None, date]:
        if _MARK in plain:
            plain = _LOST.sub(self._count_loss, plain)
        number = int(reading) if reading else None
        day = day_of(self._plan, number, shown.decode() or None)
        section = watermark_section(number).encode()
        shared = (self._begin, section, self._middle, self._number, self._end, self._iso(day))
        self._number += 1
        return b'{%b%b%b%b%X%b%b"%b}\n' % (plain, *shared, json), number, day

    def _count_loss(self, found: re.Match[bytes]) -> bytes:
        self._lost[self._plan.structure.columns[int(found[1])].name, _KIND] += 1
        return b""


def _parts(row: bytes | None) -> list[bytes]:
    if row is None or (b"\xed" in row and _HALF_A_PAIR.search(row)):
        raise LineTooLong
    return row.split(_BETWEEN)
