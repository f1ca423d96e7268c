"""The exact comparison of a chunk: its rows are pulled into files, loaded beside the view, and joined with it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pymysql

from onefold.check.chunks import ChunkResult, compare_chunk
from onefold.check.inspect import source_time
from onefold.check.join import expiring, found_query
from onefold.check.request import CheckedTable
from onefold.compare.values import text_of
from onefold.core.errors import TryAgain
from onefold.core.names import TEMPORARY_PREFIX, TableId
from onefold.mysql.catalog import describe_one
from onefold.ports.load_jobs import LoadFile, LoadJobs
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.read.part import FileDestination, PartResult
from onefold.pull.read.plan import KeyRange, TablePlan
from onefold.pull.read.pull import Reader
from onefold.pull.read.python_reader import PythonReader
from onefold.pull.read.table_settings import describes_same
from onefold.schema.columns import Column
from onefold.schema.types import Scalar, Type

MOST_FOUND = 10_000
"""Rows of a chunk whose values are brought here. Where more differ, a later check finds the rest."""
_JSON = Scalar("JSON")


@dataclass(frozen=True)
class FoundRow:
    """A row that may differ.

    Attributes:
        mark: the digest of its key.
        sequence: the change sequence number of the source's row; None where the source does not have it.
        key: its key as text, in the order of the key's columns.
    """

    mark: str
    sequence: str | None
    key: tuple[str | None, ...]


@dataclass(frozen=True)
class ComparedChunk:
    """A chunk that was compared once.

    Attributes:
        plan: read the source's rows.
        read: the files with these rows.
        table: holds the rows that may differ, while the comparison is open.
        rows: the rows that may differ.
        total: their number, also where it is greater than MOST_FOUND.
        result: the findings.
    """

    plan: TablePlan
    read: PartResult
    table: TableId
    rows: tuple[FoundRow, ...]
    total: int
    result: ChunkResult

    @property
    def source_rows(self) -> int:
        """The rows of the chunk at the source."""
        return sum(file.rows for file in self.read.files)


@dataclass(frozen=True)
class ChunkComparer:
    """Compares chunks.

    Attributes:
        connect: opens a connection to the source.
        reader: reads ranges of keys into files.
        jobs: loads the files.
        warehouse: joins them with the view.
        to: where the files go.
    """

    connect: Callable[[], pymysql.Connection]
    reader: Reader
    jobs: LoadJobs
    warehouse: BaseWarehouse
    to: FileDestination

    @contextmanager
    def compare(
        self, table: CheckedTable, part: KeyRange, begin: Callable[[TablePlan], None] = lambda _: None
    ) -> Iterator[ComparedChunk]:
        """Compare a chunk, and keep the rows that may differ until the end.

        Args:
            table: the table.
            part: the chunk.
            begin: called before the source is read.

        Raises:
            TryAgain: the table was altered while it was read.
        """
        plan = self._plan(table, part)
        begin(plan)
        read = self._reader(table).read(plan, 0)
        self._check_structure(table)
        with self.temporary(table.base) as found:
            with self.loaded(table, read.files, table.target.columns) as source:
                self.warehouse.execute(expiring(found, found_query(table, part, source)))
            yield self._fetched(table, plan, read, found)

    @contextmanager
    def loaded(self, table: CheckedTable, files: Sequence[LoadFile], columns: Sequence[Column]) -> Iterator[TableId]:
        """Hold the rows of files in a temporary table.

        Args:
            table: the table.
            files: the files.
            columns: the columns that are loaded.
        """
        with self.temporary(table.base) as id_:
            self.warehouse.create_table(id_, columns)
            if files:
                self.jobs.load_keys(id_, files)
            yield id_

    @contextmanager
    def temporary(self, base: TableId) -> Iterator[TableId]:
        """Give the name of a temporary table, and drop the table at the end."""
        # A name of its own for each try: a job of the same files into the same table would be taken for done.
        id_ = base.sibling(f"{TEMPORARY_PREFIX}check_{uuid.uuid4().hex}")
        try:
            yield id_
        finally:
            self.warehouse.execute(f"DROP TABLE IF EXISTS {id_.quoted}")

    def _reader(self, table: CheckedTable) -> Reader:
        # Values that rules mask or hash may be in no file. Only rows of PyMySQL go through the code of capture.
        if table.converts:
            return PythonReader(self.connect, self.to, table.landing)
        return self.reader

    def _plan(self, table: CheckedTable, part: KeyRange) -> TablePlan:
        # The time of this read, so that rows that are landed again come after those of pulls that read before.
        with closing(self.connect()) as connection:
            return replace(table, now=source_time(connection)).plan(part)

    def _check_structure(self, table: CheckedTable) -> None:
        with closing(self.connect()) as connection:
            present = describe_one(connection, table.name)
        if not describes_same(present, table.structure, table.load):
            raise TryAgain(f"{table.base} was altered while it was read: the next check compares it")

    def _fetched(self, table: CheckedTable, plan: TablePlan, read: PartResult, found: TableId) -> ComparedChunk:
        total = self.warehouse.fetch(f"SELECT COUNT(*) AS n FROM {found.quoted}")[0]["n"]
        rows = self.warehouse.fetch(f"SELECT * FROM {found.quoted} ORDER BY mark LIMIT {MOST_FOUND}") if total else []
        source = [_values(table, row, "s") for row in rows if row["in_source"]]
        warehouse = [_values(table, row, "w") for row in rows if row["in_view"]]
        keys = [one.shown.name for one in table.key_columns]
        found_rows = tuple(
            FoundRow(row["mark"], row["sequence"], _key(_values(table, row, "s" if row["in_source"] else "w"), keys))
            for row in rows
        )
        return ComparedChunk(plan, read, found, found_rows, total, compare_chunk(source, warehouse, keys))


def _values(table: CheckedTable, row: Mapping[str, Any], side: str) -> dict[str, Any]:
    return {one.shown.name: _read_back(one.shown.type, row[f"{side}{number}"]) for number, one in enumerate(table.columns)}


def _read_back(type_: Type, value: Any) -> Any:
    """Return a value as `onefold.compare` takes it; JSON comes as text, and its numbers are exact."""
    return json.loads(value, parse_float=Decimal) if type_ == _JSON and value is not None else value


def _key(values: Mapping[str, Any], keys: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(text_of(values[name]) for name in keys)
