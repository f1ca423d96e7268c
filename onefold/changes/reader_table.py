"""The table `schema_column_readers`: the daily job appends the rows of a run, and the newest whole run is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from onefold.changes.reader_counts import NOBODY, ColumnReaders, KnownReaders
from onefold.core.errors import NotFound, Rejected
from onefold.core.names import TableId, quote
from onefold.ports.rows import Row, RowWriter
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

READERS_TABLE = "schema_column_readers"
COLLECTED_AT = "collected_at"
REMEMBERED_DAYS = 31
"""A run that is older says nothing any more."""
_ROWS = 2_000
"""Rows that are appended at once."""
_RUN = "run"
"""The kind of the last row of a run, without which the run is not whole."""
_STRING, _INT64, _TIMESTAMP = Scalar("STRING"), Scalar("INT64"), Scalar("TIMESTAMP")
READER_COLUMNS = (
    Column("run", _STRING),
    Column(COLLECTED_AT, _TIMESTAMP),
    Column("dataset", _STRING),
    Column("table", _STRING),
    Column("column", _STRING),
    Column("kind", _STRING),
    Column("readers", _INT64),
    Column("certain", _INT64),
    Column("jobs", _INT64),
    Column("incomplete", _INT64),
    Column("last_read_at", _TIMESTAMP),
    Column("days", _INT64),
    Column("unparsed", _INT64),
)
"""The last row of a run has the days that it has read, its incomplete jobs, and the texts that it did not understand."""


class QueriedWarehouse(Protocol):
    """A warehouse that answers queries."""

    project: str

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query."""


def readers_table(project: str, dataset: str) -> TableId:
    """Return the name of the table."""
    return TableId(project, dataset, READERS_TABLE)


def append_readers(rows: RowWriter, id_: TableId, found: KnownReaders, run: str) -> None:
    """Append the rows of a run, and then the row that says that it is whole.

    Args:
        rows: appends rows.
        id_: the table.
        found: what the run has found.
        run: its identifier, which no other run has.

    Raises:
        NotFound: there is no such table.
        Rejected: the table refuses a row.
        TryAgain: an error that may pass: what the run has written counts for nothing.
    """
    writer = rows.open(id_)
    if writer is None:
        raise NotFound(f"{id_} does not exist: let `infra/` create it (variable column_readers)")
    for some in (*_batches(found, run), (_last_row(found, run),)):
        if problems := writer.append(some):
            raise Rejected(f"{id_}: expected the table of readers, got one that refuses its rows ({min(problems.values())})")


def _batches(found: KnownReaders, run: str) -> Iterator[Sequence[Row]]:
    own = {"run": run, COLLECTED_AT: _text(found.collected_at)}
    for start in range(0, len(found.rows), _ROWS):
        some = found.rows[start : start + _ROWS]
        yield [{**own, **{name: value for name, value in _row(one).items() if value is not None}} for one in some]


def _row(one: ColumnReaders) -> Row:
    return {**vars(one), "last_read_at": _text(one.last_read_at)}


def _last_row(found: KnownReaders, run: str) -> Row:
    counts = {"days": found.days, "incomplete": found.incomplete, "unparsed": found.unparsed}
    return {"run": run, COLLECTED_AT: _text(found.collected_at), "kind": _RUN, **counts}


def _text(time: datetime | None) -> str | None:
    return time.isoformat(" ", "microseconds") if time else None


def read_readers(warehouse: QueriedWarehouse, dataset: str | None) -> KnownReaders:
    """Return what the newest whole run has found; nothing where there is no such run.

    Args:
        warehouse: where the table is.
        dataset: that of the changes; None where there is none.
    """
    if dataset is None:
        return NOBODY
    try:
        rows = warehouse.fetch(newest_query(readers_table(warehouse.project, dataset)))
    except NotFound:
        return NOBODY
    last = [row for row in rows if row["kind"] == _RUN]
    if not last:
        return NOBODY
    known = {_key(row): _readers(row) for row in rows if row["kind"] != _RUN}
    of_run = last[0]
    return KnownReaders(
        of_run[COLLECTED_AT], tuple(known.values()), of_run["days"], of_run["incomplete"], of_run["unparsed"]
    )  # fmt: skip


def newest_query(id_: TableId) -> str:
    """Return the query for the rows of the newest whole run."""
    recent = f"{COLLECTED_AT} >= TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL {REMEMBERED_DAYS} DAY)"
    columns = ", ".join(f"r.{quote(column.name)}" for column in READER_COLUMNS)
    return (
        f"SELECT {columns}\nFROM {id_.quoted} AS r\nWHERE r.{recent} AND r.run = (\n"
        f"  SELECT n.run FROM {id_.quoted} AS n WHERE n.{recent} AND n.kind = '{_RUN}' "
        f"ORDER BY n.{COLLECTED_AT} DESC LIMIT 1)"
    )


def _key(row: Row) -> tuple[str, ...]:
    return (row["dataset"], row["table"], row["column"], row["kind"])


def _readers(row: Row) -> ColumnReaders:
    return ColumnReaders(
        row["dataset"], row["table"], row["column"], row["kind"], row["readers"], row["certain"], row["jobs"],
        row["incomplete"], row["last_read_at"],
    )  # fmt: skip
