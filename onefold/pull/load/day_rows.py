"""The rows of a day in all versions of a table, as queries: how many there are, and which keys a pull did not read."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from onefold.changelog.metadata import METADATA, is_deletion, metadata_sql, metadata_type
from onefold.changelog.position import sequence_sql
from onefold.core.errors import TryAgain
from onefold.core.names import TEMPORARY_PREFIX, TableId, quote, quote_text, versioned_name
from onefold.landing.key_values import key_text
from onefold.ports.load_jobs import LoadJobs
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.load.missing_keys import LOOKED_UP, KeyColumns, Landed
from onefold.pull.read.pulled import PulledFile, PulledFiles
from onefold.pull.read.pulled_table import DAY
from onefold.pull.read.watermark import NO_DAY
from onefold.schema.casts import convert, typed_null
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Type
from onefold.schema.versions import Version

PAGE = 50_000
"""Keys per query."""
_DAY = quote(DAY.name)
_METADATA = Column(METADATA, metadata_type({"change_sequence_number": STRING}))
_SEQUENCE = metadata_sql("k", "change_sequence_number")


@dataclass(frozen=True)
class Since:
    """The days in which a row may lie that is above one that was read.

    Attributes:
        first: the first day that a daily load replaces.
        everywhere: whether rows of any day are looked at: above a row without a watermark any of them may be.
    """

    first: date
    everywhere: bool


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
            `version` (that takes the deletion), `sequence`, `deleted` (whether the change is a deletion), `day`, `mark` (the
            same for equal keys), `v0`, `v1`, ...: the key as text, in the types of that version, and `k0`, `k1`, ...: the
            key as text in the common types.
        """

    def above(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, since: Since) -> Iterator[Mapping[str, Any]]:
        """Yield the last change of each key whose watermark is above that of the row that a pull has read.

        Args:
            read: the table of `read_keys`.
            landed: all versions.
            keys: the columns of the key.
            since: the days that are looked at.

        Yields:
            As `missing`; `day` is that of rows without a watermark where the pull has read such a row.
        """

    def ahead(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, after: date) -> Iterator[Mapping[str, Any]]:
        """Yield the last change of each key that lies after a day and that a pull did not read, but for deletions.

        Args:
            read: the table of `read_keys`.
            landed: all versions.
            keys: the columns of the key.
            after: the day.

        Yields:
            As `missing`. Rows that were read again are left out, which have the part `LOOKED_UP` of a sequence.
        """

    def marks(self, files: Sequence[PulledFile], keys: KeyColumns) -> Mapping[str, str]:
        """Return the mark of the key of each row of files, by the row's sequence.

        Args:
            files: the rows.
            keys: the columns of the key.
        """


@dataclass(frozen=True)
class QueriedDays:
    """`DayRows` by queries.

    Attributes:
        warehouse: runs the queries.
        jobs: loads keys.
        base: the id of the table without a version.
    """

    warehouse: BaseWarehouse
    jobs: LoadJobs
    base: TableId

    @contextmanager
    def read_keys(self, pulled: PulledFiles, keys: KeyColumns) -> Iterator[TableId]:
        with self._keys_of(pulled.files, keys) as read:
            found = self.warehouse.fetch(f"SELECT COUNT(*) AS n FROM {read.quoted}")[0]["n"]
            if found != pulled.rows:
                raise TryAgain(f"{pulled.table}: expected the keys of {pulled.rows} rows, got {found}: load it again")
            yield read

    def marks(self, files: Sequence[PulledFile], keys: KeyColumns) -> Mapping[str, str]:
        with self._keys_of(files, keys) as read:
            rows = self.warehouse.fetch(
                f"SELECT {_read_mark(keys)} AS mark, {_SEQUENCE} AS sequence FROM {read.quoted} AS k"
            )
        return {row["sequence"]: row["mark"] for row in rows}

    @contextmanager
    def _keys_of(self, files: Sequence[PulledFile], keys: KeyColumns) -> Iterator[TableId]:
        # A name of its own for each try: a job of the same files into the same table would be taken for done.
        read = self.base.sibling(f"{TEMPORARY_PREFIX}keys_{uuid.uuid4().hex}")
        self.warehouse.create_table(read, (*keys.present, _METADATA))
        try:
            if files:
                self.jobs.load_keys(read, files)
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
        yield from self._pages(_unread(self._landed(landed, keys, _of_day(day)), read, keys))

    def above(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, since: Since) -> Iterator[Mapping[str, Any]]:
        days = f"(v.{_DAY} >= DATE {quote_text(since.first.isoformat())} OR {_of_day(NO_DAY)})"
        condition = "TRUE" if since.everywhere else days
        yield from self._pages(_above(self._landed(landed, keys, condition), read, keys))

    def ahead(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, after: date) -> Iterator[Mapping[str, Any]]:
        rows = self._landed(landed, keys, f"v.{_DAY} > DATE {quote_text(after.isoformat())}")
        looked_up = f"SPLIT(m.sequence, '/')[SAFE_OFFSET(2)] = '{LOOKED_UP:X}'"
        yield from self._pages(f"{_unread(rows, read, keys)} AND NOT m.deleted AND NOT {looked_up}")

    def _pages(self, query: str) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a query that ends in a condition, in the order of their marks."""
        after = ""
        while True:
            page = self.warehouse.fetch(f"{query}\nAND m.mark > {quote_text(after)}\nORDER BY m.mark\nLIMIT {PAGE}")
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1]["mark"]

    def _landed(self, landed: Sequence[Landed], keys: KeyColumns, condition: str) -> str:
        return last_changes(self.base, landed, keys, condition)


def last_changes(base: TableId, landed: Sequence[Landed], keys: KeyColumns, condition: str) -> str:
    """Return a query of the last change of each key among the rows for which a condition is true.

    Args:
        base: the id of the table without a version.
        landed: the versions that are read.
        keys: the columns of the key.
        condition: SQL over a row with the alias v.
    """
    changes = "\nUNION ALL\n".join(_branch(base, one, keys, condition) for one in landed)
    order = f"{sequence_sql('u.sequence')} DESC, u.deleted"
    last = f"SELECT u.*, ROW_NUMBER() OVER (PARTITION BY u.mark ORDER BY {order}) AS _rank\nFROM (\n{changes}\n) AS u"
    return f"SELECT w.* EXCEPT (_rank)\nFROM (\n{last}\n) AS w\nWHERE w._rank = 1"


def _unread(landed: str, read: TableId, keys: KeyColumns) -> str:
    known = f"SELECT DISTINCT {_read_mark(keys)} AS mark FROM {read.quoted} AS k"
    return f"SELECT m.*\nFROM (\n{landed}\n) AS m\nLEFT JOIN (\n{known}\n) AS r ON r.mark = m.mark\nWHERE r.mark IS NULL"


def _above(landed: str, read: TableId, keys: KeyColumns) -> str:
    known = (
        f"SELECT {_read_mark(keys)} AS mark, MAX({_watermark(_SEQUENCE)}) AS watermark\nFROM {read.quoted} AS k\nGROUP BY 1"
    )
    # A row without a watermark was read: the day of such rows is replaced each time, so nothing piles up there.
    day = f"IF(r.watermark = {_watermark(quote_text('0'))}, DATE {quote_text(NO_DAY.isoformat())}, m.day)"
    return (
        f"SELECT m.* REPLACE ({day} AS day)\nFROM (\n{landed}\n) AS m\nJOIN (\n{known}\n) AS r ON r.mark = m.mark\n"
        f"WHERE {_watermark('m.sequence')} > r.watermark"
    )


def _watermark(sequence: str) -> str:
    """Return SQL for the first section of a sequence, in a form that sorts like the number."""
    return f"LPAD(UPPER(SPLIT({sequence}, '/')[SAFE_OFFSET(0)]), 20, '0')"


def _branch(base: TableId, landed: Landed, keys: KeyColumns, condition: str) -> str:
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
        f"v.{_DAY} AS day",
        *values,
        *(f"{text} AS k{number}" for number, text in enumerate(texts)),
        f"{key_mark(texts)} AS mark",
    ]
    return f"SELECT {', '.join(items)}\nFROM {_table(base, landed.version).quoted} AS v\nWHERE {condition}"


def _read_mark(keys: KeyColumns) -> str:
    pairs = zip(keys.present, keys.common, strict=True)
    return key_mark([key_text(f"k.{quote(now.name)}", now.type, common.type) for now, common in pairs])


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
    return f"v.{_DAY} = DATE {quote_text(day.isoformat())}"
