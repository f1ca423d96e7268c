"""The exact comparison in memory of a source's rows with rows that others than Onefold wrote.

Their types are those of whoever wrote them. So values are compared as Python holds them, where a number in a text is the
number, and not in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pymysql

from onefold.check.chunks import ChunkResult
from onefold.check.join import view_range
from onefold.check.request import CheckedTable
from onefold.check.typed_rows import Row, read_back, read_typed_rows, selected
from onefold.compare.findings import Comparison, findings
from onefold.compare.rows import compare_rows
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import fold_case
from onefold.mysql.catalog import TableName
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.read.key_ranges import range_condition
from onefold.pull.read.plan import KeyRange
from onefold.schema.columns import Column

_LARGER = 4
"""How many times the rows that were asked for a chunk may have: it is divided by what the source knows of its keys."""


@dataclass(frozen=True)
class SourceSelection:
    """Rows of a table of the source.

    Attributes:
        connect: opens a connection to the source.
        table: the table.
        where: the condition of SQL for the rows.
    """

    connect: Callable[[], pymysql.Connection]
    table: TableName
    where: str = "TRUE"


def selection(columns: Iterable[Column], rows: str, most: int) -> str:
    """Return the query of the rows that `compare_with_source` takes; one row too many tells that there are more.

    Args:
        columns: the columns that are compared.
        rows: what follows FROM.
        most: the rows that are compared.
    """
    return f"SELECT {', '.join(map(selected, columns))} FROM {rows}\nLIMIT {most + 1}"


def compare_with_source(
    source: SourceSelection, stored: Iterable[Row], columns: Sequence[Column], keys: Sequence[str], most: int
) -> tuple[int, Comparison]:
    """Return the number of rows at the source, and what differs; the source is the left side.

    Args:
        source: the rows of the source, which are read now.
        stored: the rows of the warehouse, from the query of `selection`.
        columns: the columns of the warehouse that are compared.
        keys: the columns that identify a row.
        most: the rows of a side that are compared.

    Raises:
        NotFound: the source does not have the table any more.
        InvalidInput: a side has more rows.
        TryAgain: the source does not answer.
    """
    present = read_typed_rows(source.connect, source.table, most + 1, source.where)
    if present is None:
        raise NotFound(f"the source has no table {source.table.table} any more")
    shown = read_back(columns, stored)
    if max(len(shown), len(present.rows)) > most:
        raise InvalidInput(f"at most {most:,} rows are compared, and it has more: use `onefold compare`")
    names = {fold_case(column.name) for column in columns}
    rows = [{key: value for key, value in row.items() if fold_case(key) in names} for row in present.rows]
    return len(rows), compare_rows(rows, shown, keys, as_text=True)


@dataclass(frozen=True)
class ChunkInMemory:
    """A chunk that was compared once.

    Attributes:
        source_rows: its rows at the source.
        result: the findings.
    """

    source_rows: int
    result: ChunkResult

    @property
    def total(self) -> int:
        """The number of findings."""
        return len(self.result.findings)


@dataclass(frozen=True)
class MemoryComparer:
    """Compares chunks of plain change tables.

    Attributes:
        connect: opens a connection to the source.
        warehouse: where the views are.
    """

    connect: Callable[[], pymysql.Connection]
    warehouse: BaseWarehouse

    @contextmanager
    def compare(self, table: CheckedTable, part: KeyRange) -> Iterator[ChunkInMemory]:
        """Compare a chunk: nothing is written, and nothing is left at the end.

        Args:
            table: the table.
            part: the chunk.

        Raises:
            InvalidInput: the chunk has many more rows than a chunk should have, because its key cannot be divided.
        """
        most = _LARGER * table.request.rows
        columns, keys = [one.shown for one in table.columns], [one.shown.name for one in table.key_columns]
        of_chunk = f"{table.view.quoted} AS v WHERE {view_range(part, table.column(part.column) if part.column else None)}"
        source = SourceSelection(self.connect, table.name, range_condition(part))
        rows, found = compare_with_source(
            source, self.warehouse.fetch(selection(columns, of_chunk, most)), columns, keys, most
        )
        yield ChunkInMemory(rows, ChunkResult(tuple(findings(found, keys))))
