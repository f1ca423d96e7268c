"""The reader that converts each value in Python: for rules of columns, and for what no SQL gives exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from onefold.landing.row_writer import Landing
from onefold.mysql.snapshot.select_list import read_selected
from onefold.pull.read.blocks import RowLines, day_of, grouped
from onefold.pull.read.part import Block, FileDestination, PartResult, write_part
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.queries import python_query
from onefold.pull.read.rows import json_line

BLOCK_ROWS = 1_000


@dataclass(frozen=True)
class PythonReader:
    """Reads key ranges by PyMySQL.

    Attributes:
        connect: opens a connection to the source.
        to: where files go.
        landing: how rows land under rules of columns; None where they land as they are.
    """

    connect: Callable[[], pymysql.Connection]
    to: FileDestination
    landing: Landing | None = None

    def read(self, plan: TablePlan, part: int) -> PartResult:
        """Return the files of a range; the arguments are those of `read_part`."""
        with closing(self.connect()) as connection:
            return write_part(plan, part, read_part(connection, plan, part, self.landing), self.to)


def read_part(connection: pymysql.Connection, plan: TablePlan, part: int, landing: Landing | None = None) -> Iterator[Block]:
    """Yield the rows of a key range in blocks.

    Memory: one block of rows.

    Args:
        connection: to the source, as `onefold.mysql.connection.connect` opens it; it takes no other query meanwhile.
        plan: of the pull.
        part: the number of the range.
        landing: how rows land under rules of columns.
    """
    with closing(connection.cursor(SSCursor)) as cursor:
        cursor.execute(python_query(plan, plan.parts[part]))
        begin = 0
        while rows := cursor.fetchmany(BLOCK_ROWS):
            counted = int(rows[0][-1]) if plan.is_counted else None
            rows = [row[:-1] for row in rows] if plan.is_counted else rows
            yield from (replace(block, counted=counted) for block in blocks_of(plan, rows, part, begin, landing))
            begin += len(rows)


def blocks_of(
    plan: TablePlan, rows: Sequence[tuple[Any, ...]], part: int, begin: int, landing: Landing | None = None
) -> Iterator[Block]:
    """Return rows of the query as blocks: one for each day that is replaced, and one for each group of other days.

    Args:
        plan: of the pull.
        rows: values as PyMySQL reads them, then the reading of the watermark and the date it shows.
        part: the number of the key range.
        begin: the number of the first row within the range.
        landing: how rows land under rules of columns.
    """
    read = read_selected(plan.structure, (row[:-2] for row in rows))
    landed = list(landing.rows(read.rows)) if landing else read.rows
    readings = [None if row[-2] is None else int(row[-2]) for row in rows]
    days = [day_of(plan, reading, row[-1]) for reading, row in zip(readings, rows, strict=True)]
    lines = [
        f"{json_line(plan, row, reading, day, (part, number))}\n".encode()
        for number, (row, reading, day) in enumerate(zip(landed, readings, days, strict=True), begin)
    ]
    return grouped(plan, RowLines(lines, readings, days, dict(read.losses)))
