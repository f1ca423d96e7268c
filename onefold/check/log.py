"""The log of checks, `_checks`: append-only rows, one for each chunk, which also say where the next chunk begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from onefold.check.report import ChunkCheck, TableCheck
from onefold.check.request import CheckRequest
from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.core.names import TableId, quote_text, time_literal
from onefold.ports.rows import Row, RowWriter
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.read.plan import KeyRange
from onefold.schema.columns import Column
from onefold.schema.types import Array, Scalar

CHECK_TABLE = "_checks"
CHECKED_AT = "checked_at"
REMEMBERED = timedelta(days=31)
"""A chunk that was compared longer ago is forgotten: the next check begins with the first one."""

_STRING, _INT64 = Scalar("STRING"), Scalar("INT64")
CHECK_COLUMNS = (
    Column("source_name", _STRING),
    Column("database_name", _STRING),
    Column("table_name", _STRING),
    Column(CHECKED_AT, Scalar("TIMESTAMP")),
    Column("outcome", _STRING),
    Column("chunk_column", _STRING),
    Column("chunk_digest", _STRING),
    Column("chunk_low", _STRING),
    Column("chunk_high", _STRING),
    Column("chunk_rows", _INT64),
    Column("counted_by", _STRING),
    Column("source_rows", _INT64),
    Column("view_rows", _INT64),
    Column("finding_count", _INT64),
    Column("findings", Array(_STRING)),
    Column("rows_fixed", _INT64),
    Column("reasons", Array(_STRING)),
)
"""Bounds are text, because a key of MySQL may exceed INT64."""


class CheckLog:
    """The log of the checks of one database."""

    def __init__(
        self, warehouse: BaseWarehouse, rows: RowWriter, dataset_of: Callable[[str], str], request: CheckRequest
    ) -> None:
        """Take what the log needs.

        Args:
            warehouse: where the log is.
            rows: appends its rows.
            dataset_of: returns the dataset of the log of a table, by its name at the source.
            request: what was asked for.
        """
        self._warehouse = warehouse
        self._dataset_of = dataset_of
        self._rows = rows
        self._request = request
        self._source = request.tenant_name

    def of(self, table: str) -> TableId:
        """Return the table that has the rows of a table, by its name at the source."""
        return TableId(self._warehouse.project, self._dataset_of(table), CHECK_TABLE)

    def next_low(self, table: str, chunk: KeyRange) -> int | None:
        """Return where the next chunk of a table begins; None for the first chunk, and after the last one.

        Args:
            table: its name at the source.
            chunk: the chunk of all rows. One of another column, or of another form, says nothing about it.
        """
        try:
            rows = self._warehouse.fetch(self._last_query(table, datetime.now(UTC) - REMEMBERED))
        except NotFound:
            return None
        same = rows and (rows[0]["chunk_column"], rows[0]["chunk_digest"]) == (chunk.column, chunk.digest)
        return int(rows[0]["chunk_high"]) if same and rows[0]["chunk_high"] is not None else None

    def has_note(self, table: str, beginning: str, since: datetime) -> bool:
        """Return whether a row of a table has a note that begins so.

        Args:
            table: its name at the source.
            beginning: the beginning of the note.
            since: the time of the oldest row that counts.
        """
        note = f"EXISTS (SELECT 1 FROM UNNEST(c.reasons) AS r WHERE STARTS_WITH(r, {quote_text(beginning + ':')}))"
        try:
            rows = self._warehouse.fetch(
                f"SELECT COUNT(*) AS n\nFROM {self.of(table).quoted} AS c\n"
                f"WHERE {self._of_table(table)} AND {note} AND c.{CHECKED_AT} >= {time_literal(since)}"
            )
        except NotFound:
            return False
        return int(rows[0]["n"]) > 0

    def append(self, check: TableCheck, at: datetime) -> None:
        """Append the rows of a check: one for each chunk, the first of them with the counts; one where there is no chunk.

        Args:
            check: the result.
            at: the present time.

        Raises:
            TryAgain: an error that may pass.
            Rejected: the log of this name has other columns.
        """
        chunks: tuple[ChunkCheck | None, ...] = check.chunks or (None,)
        rows = [self._row(check, chunk, at, with_counts=number == 0) for number, chunk in enumerate(chunks)]
        id_ = self.of(check.table)
        writer = self._rows.open(id_)
        if writer is None:
            self._warehouse.create_table(id_, CHECK_COLUMNS, partition=CHECKED_AT)
            writer = self._rows.open(id_)
        if writer is None:
            raise TryAgain(f"{id_} was created, but cannot be read yet: try again in a minute")
        if problems := writer.append(rows):
            reason = next(iter(problems.values()))
            raise Rejected(f"{id_}: expected the log of checks, got a table that refuses its rows ({reason}): rename it")

    def _row(self, check: TableCheck, chunk: ChunkCheck | None, at: datetime, *, with_counts: bool) -> Row:
        counts = check.counts if with_counts else None
        values: Mapping[str, Any] = {
            **self._subject(check.table),
            CHECKED_AT: at.astimezone(UTC).isoformat(" ", "microseconds"),
            "outcome": check.outcome,
            "findings": list(chunk.findings) if chunk else [],
            "reasons": [*check.failed, *check.skipped, *check.notes],
        }
        found = {} if chunk is None else {
            "chunk_column": chunk.chunk.column, "chunk_digest": chunk.chunk.digest, "chunk_low": _text(chunk.chunk.low),
            "chunk_high": _text(chunk.chunk.high), "chunk_rows": chunk.rows, "finding_count": chunk.total,
            "rows_fixed": chunk.fixed,
        }  # fmt: skip
        counted = {} if counts is None else {
            "counted_by": counts.by, "source_rows": counts.source, "view_rows": counts.warehouse,
        }  # fmt: skip
        return {name: value for name, value in {**values, **found, **counted}.items() if value is not None}

    def _subject(self, table: str) -> dict[str, str]:
        return {"source_name": self._source, "database_name": self._request.database, "table_name": table}

    def _of_table(self, table: str) -> str:
        return " AND ".join(f"c.{name} = {quote_text(value)}" for name, value in self._subject(table).items())

    def _last_query(self, table: str, since: datetime) -> str:
        return (
            f"SELECT c.chunk_column, c.chunk_digest, c.chunk_high\nFROM {self.of(table).quoted} AS c\n"
            f"WHERE {self._of_table(table)} AND c.chunk_rows IS NOT NULL AND c.{CHECKED_AT} >= {time_literal(since)}\n"
            f"ORDER BY c.{CHECKED_AT} DESC, c.chunk_high IS NULL DESC LIMIT 1"
        )


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
