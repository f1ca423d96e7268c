"""The rows of a day in all versions of a table, as queries: how many there are, and which keys a pull did not read."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from onefold.capture.key_values import key_text
from onefold.changelog.metadata import is_deletion, metadata_sql
from onefold.changelog.position import sequence_sql
from onefold.core.errors import TryAgain
from onefold.core.names import TEMPORARY_PREFIX, TableId, quote, quote_text, versioned_name
from onefold.extract.pulled import PulledFiles
from onefold.extract.pulled_table import DAY
from onefold.load.missing_keys import KeyColumns, Landed
from onefold.ports.load_jobs import LoadJobs
from onefold.ports.warehouse import WriteResult
from onefold.schema.casts import convert, typed_null
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Type
from onefold.schema.versions import Version

PAGE = 50_000
"""Keys per query."""


class DayRows(Protocol):
    """What a load asks about the landed rows of one table."""

    def read_keys(self, pulled: PulledFiles, keys: KeyColumns) -> AbstractContextManager[TableId]:
        """Hold the keys of all rows that a pull has read; give the name of the table that has them.

        Raises:
            TryAgain: not all of the keys are there.
        """

    def count(self, versions: Sequence[Version], day: date) -> Mapping[str, int]:
        """Return the number of rows of a day in each version; a version without rows may be left out."""

    def missing(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, day: date) -> Iterator[Mapping[str, Any]]:
        """Yield the last change of each key that lies in a day and that a pull did not read.

        Args:
            read: the table of `read_keys`.
            landed: the versions with rows of the day.
            keys: the columns of the key.
            day: the day.

        Yields:
            `version` (that takes the deletion), `sequence`, `deleted` (whether the change is a deletion), and `v0`, `v1`,
            ...: the key as text, in the types of that version.
        """


class DayWarehouse(Protocol):
    """What the queries need of a warehouse."""

    def create_table(self, id_: TableId, columns: Sequence[Column]) -> None: ...

    def fetch(self, sql: str) -> list[dict[str, Any]]: ...

    def execute(self, sql: str) -> WriteResult: ...


@dataclass(frozen=True)
class QueriedDays:
    """`DayRows` by queries.

    Attributes:
        warehouse: runs the queries.
        jobs: loads keys.
        base: the id of the table without a version.
    """

    warehouse: DayWarehouse
    jobs: LoadJobs
    base: TableId

    @contextmanager
    def read_keys(self, pulled: PulledFiles, keys: KeyColumns) -> Iterator[TableId]:
        # A name of its own for each try: a job of the same files into the same table would be taken for done.
        read = self.base.sibling(f"{TEMPORARY_PREFIX}keys_{uuid.uuid4().hex}")
        self.warehouse.create_table(read, keys.present)
        try:
            if pulled.files:
                self.jobs.load_keys(read, pulled.files)
            found = self.warehouse.fetch(f"SELECT COUNT(*) AS n FROM {read.quoted}")[0]["n"]
            if found != pulled.rows:
                raise TryAgain(f"{pulled.table}: expected the keys of {pulled.rows} rows, got {found}: load it again")
            yield read
        finally:
            self.warehouse.execute(f"DROP TABLE IF EXISTS {read.quoted}")

    def count(self, versions: Sequence[Version], day: date) -> Mapping[str, int]:
        branches = (
            f"SELECT {quote_text(version.id)} AS version, COUNT(*) AS n FROM {_table(self.base, version).quoted} AS v\n"
            f"WHERE {_of_day(day)}"
            for version in versions
        )
        return {row["version"]: row["n"] for row in self.warehouse.fetch("\nUNION ALL\n".join(branches))}

    def missing(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, day: date) -> Iterator[Mapping[str, Any]]:
        after = ""
        query = _missing(self.base, landed, keys, read, day)
        while True:
            page = self.warehouse.fetch(f"{query}\nAND m.mark > {quote_text(after)}\nORDER BY m.mark\nLIMIT {PAGE}")
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1]["mark"]


def _missing(base: TableId, landed: Sequence[Landed], keys: KeyColumns, read: TableId, day: date) -> str:
    last = last_changes(base, landed, keys, _of_day(day))
    pairs = zip(keys.present, keys.common, strict=True)
    texts = [key_text(f"k.{quote(now.name)}", now.type, common.type) for now, common in pairs]
    known = f"SELECT DISTINCT {key_mark(texts)} AS mark FROM {read.quoted} AS k"
    return (
        f"SELECT m.* EXCEPT (_rank)\nFROM (\n{last}\n) AS m\nLEFT JOIN (\n{known}\n) AS r ON r.mark = m.mark\n"
        "WHERE m._rank = 1 AND r.mark IS NULL"
    )


def last_changes(base: TableId, landed: Sequence[Landed], keys: KeyColumns, where: str) -> str:
    """Return the query of the changes of each key; the last one has the `_rank` 1.

    Args:
        base: the id of the table without a version.
        landed: the versions that are read.
        keys: the columns of the key.
        where: the condition for rows, which have the alias v.
    """
    changes = "\nUNION ALL\n".join(_branch(base, one, keys, where) for one in landed)
    order = f"{sequence_sql('u.sequence')} DESC, u.deleted"
    return f"SELECT u.*, ROW_NUMBER() OVER (PARTITION BY u.mark ORDER BY {order}) AS _rank\nFROM (\n{changes}\n) AS u"


def _branch(base: TableId, landed: Landed, keys: KeyColumns, where: str) -> str:
    version, target = landed.version.schema, landed.target.schema
    values, texts = [], []
    for number, key in enumerate(keys.common):
        # A version from before the column was added has NULL in its place, as in the unified view.
        column, written = version.get(key.name), target.get(key.name)
        x = f"v.{quote(column.name)}" if column else ""
        texts.append(key_text(x, column.type, key.type) if column else _null(key.type))
        values.append(f"{key_text(x, column.type, written.type) if column and written else typed_null(STRING)} AS v{number}")
    items = [
        f"{quote_text(landed.target.id)} AS version",
        f"{metadata_sql('v', 'change_sequence_number')} AS sequence",
        f"{is_deletion('v')} AS deleted",
        f"v.{quote(DAY.name)} AS day",
        *values,
        f"{key_mark(texts)} AS mark",
    ]
    return f"SELECT {', '.join(items)}\nFROM {_table(base, landed.version).quoted} AS v\nWHERE {where}"


def key_mark(texts: Sequence[str]) -> str:
    """Return SQL for the digest of a key. Each value has its length in front, so that no two keys have one text.

    Args:
        texts: SQL for the values of the key as text.
    """
    parts = ", ".join(f"IFNULL(CONCAT(CAST(LENGTH({text}) AS STRING), ':', {text}), '-')" for text in texts)
    return f"TO_HEX(SHA256(CONCAT({parts}, '')))"


def _null(type_: Type) -> str:
    return convert(typed_null(type_), type_, STRING)


def _table(base: TableId, version: Version) -> TableId:
    return base.sibling(versioned_name(base.table, version.id))


def _of_day(day: date) -> str:
    return f"v.{quote(DAY.name)} = DATE {quote_text(day.isoformat())}"
