"""How a merge finds the rows of a plain change table that no merge has read: the table has no time of landing of ours.

The ways, best first. `landed`: a column that onefold.yaml names holds when a row came. `partition`: ingestion-time
partitions, in whose pseudocolumn `_PARTITIONTIME` BigQuery notes when a row came. `appends`: the function `APPENDS`, which
returns the rows that were committed since a time within the time travel window. `source_timestamp`: the time of the change
at the source, from a day before the last merge on. A row that is later than a day is not among them, so the whole table is
read once a day. `whole`: all rows, as the first merge does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from onefold.changelog.metadata import metadata_sql
from onefold.core.errors import AccessDenied, Rejected, SchemaConflict
from onefold.core.names import TableId, time_literal
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column, Schema
from onefold.schema.types import Scalar

Way = Literal["whole", "landed", "partition", "appends", "source_timestamp"]
WAYS: tuple[Way, ...] = get_args(Way)
SOURCE_OVERLAP = timedelta(days=1)
"""How late by the clock of the source a row may land and still be read before the whole table is."""
WHOLE_EVERY = timedelta(days=1)
"""How often a table is read whole whose rows tell no more than the time of the source."""
_MARGIN = timedelta(hours=1)
"""How far within the time travel window a merge has to start: a query may wait before it runs."""
_PARTITION_TIME = "_PARTITIONTIME"
_TIMESTAMP, _DATE = Scalar("TIMESTAMP"), Scalar("DATE")


@dataclass(frozen=True)
class Reading:
    """What tells which rows of a plain change table are new.

    Attributes:
        landed: the column that holds when a row came, a TIMESTAMP or a DATE; None where onefold.yaml names none.
        partition: how long an ingestion-time partition is: HOUR, DAY, MONTH or YEAR; None without such partitions.
        appends_since: the earliest time from which the table can be asked for its appended rows; None where it cannot be.
        whole_at: when a merge last began to read the whole table; None where none did.
        now: the warehouse's time.
    """

    now: datetime
    landed: Column | None = None
    partition: str | None = None
    appends_since: datetime | None = None
    whole_at: datetime | None = None

    @property
    def tells_arrival(self) -> bool:
        """Whether each row tells when it came, so that a view can leave out what a base has, too."""
        return self.landed is not None or self.partition is not None

    def boundary(self, time: datetime) -> datetime:
        """Return the last time, not after another one, before which all rows of a day or a partition came."""
        is_day = self.landed is not None and self.landed.type == _DATE
        length = "DAY" if is_day else None if self.landed else self.partition
        return _beginning(time, length) if length else time

    def since(self, start: datetime | None, overlap: timedelta) -> tuple[Way, datetime | None]:
        """Return how to read the table, and the time from which on; None for the whole table.

        Args:
            start: when the last merge of the table that is there now began; None where there was none.
            overlap: how much of the last window is read again, for rows that became visible late.

        Examples:
            >>> noon = datetime(2026, 11, 26, 12, tzinfo=UTC)
            >>> Reading(noon, partition="DAY").since(noon, timedelta(hours=1))[1].hour
            0
        """
        if start is None:
            return "whole", None
        if self.tells_arrival:
            return "landed" if self.landed else "partition", self.boundary(start - overlap)
        if self.appends_since:
            is_kept = start - overlap >= self.appends_since
            return ("appends", start - overlap) if is_kept else ("whole", None)
        if self.whole_at is None or self.now - self.whole_at >= WHOLE_EVERY:
            return "whole", None
        return "source_timestamp", start - SOURCE_OVERLAP


def read_readings(
    warehouse: BaseWarehouse,
    starts: Mapping[TableId, datetime | None],
    landed_column: str | None,
    now: datetime,
    whole_at: datetime | None,
) -> Mapping[TableId, Reading]:
    """Return what tells which rows of plain change tables are new.

    Args:
        warehouse: where the tables are.
        starts: the tables, each with when its last merge began; None where there was none, so that nothing has to be known.
        landed_column: the column that onefold.yaml names for when a row came; None for none.
        now: the warehouse's time.
        whole_at: as in `Reading`.

    Raises:
        SchemaConflict: a table has no such column, or a time cannot be in it.
    """
    found = {
        table: read_arrival(warehouse, table, landed_column, now) if start else Reading(now)
        for table, start in starts.items()
    }
    silent = [table for table, reading in found.items() if starts[table] and not reading.tells_arrival]
    travels = {table: travel for table in silent if (travel := _time_travel(warehouse, table)) is not None}
    answered = _answering_appends(warehouse, tuple(travels), now)
    by_appends = {table: Reading(now, appends_since=now - travels[table] + _MARGIN) for table in answered}
    return {**found, **{table: Reading(now, whole_at=whole_at) for table in silent}, **by_appends}


def read_arrival(warehouse: BaseWarehouse, table: TableId, landed_column: str | None, now: datetime) -> Reading:
    """Return what the rows of a plain change table tell of the time when they came; nothing else is asked.

    Args:
        warehouse: as for `read_readings`.
        table: the table.
        landed_column: as for `read_readings`.
        now: as for `read_readings`.

    Raises:
        SchemaConflict: as `read_readings`.
    """
    stored = warehouse.read_table(table)
    if landed_column:
        return Reading(now, landed=_landed(table, Schema(stored.columns if stored else ()), landed_column))
    return Reading(now, partition=stored.ingestion_partition if stored else None)


def item_sql(table: TableId, way: Way | None, since: datetime | None) -> str:
    """Return an item of a FROM clause: a table, or the rows that were appended to it since a time.

    Args:
        table: the table.
        way: how it is read; None for a version, which tells when its rows landed.
        since: the time; None for the whole table.

    Examples:
        >>> item_sql(TableId("p", "shop", "orders"), "appends", datetime(2026, 1, 1, tzinfo=UTC))
        "APPENDS(TABLE `p.shop.orders`, TIMESTAMP '2026-01-01 00:00:00.000000+00', NULL)"
    """
    if way == "appends" and since:
        return f"APPENDS(TABLE {table.quoted}, {time_literal(since)}, NULL)"
    return table.quoted


def condition_sql(row: str, way: Way, since: datetime | None) -> str | None:
    """Return a condition for the rows that are read; None where `item_sql` has no others.

    Rows in the streaming buffer have no `_PARTITIONTIME` yet, and rows of a backfill may have no time of the source.

    Args:
        row: the alias of the row with a dot, such as `v.`.
        way: how the table is read.
        since: the time from which on; None for the whole table.

    Examples:
        >>> condition_sql("v.", "partition", datetime(2026, 1, 1, tzinfo=UTC))
        "v._PARTITIONTIME >= TIMESTAMP '2026-01-01 00:00:00.000000+00' OR v._PARTITIONTIME IS NULL"
    """
    if since is None or way not in ("partition", "source_timestamp"):  # a column is compared as versions' is
        return None
    if way == "partition":
        column, bound = f"{row}{_PARTITION_TIME}", time_literal(since)
    else:
        column, bound = metadata_sql(row.removesuffix("."), "source_timestamp"), str(int(since.timestamp() * 1000))
    return f"{column} >= {bound} OR {column} IS NULL"


def described(table: TableId, way: Way, since: datetime | None) -> str:
    """Return for people how a table is read.

    Examples:
        >>> described(TableId("p", "shop", "orders"), "appends", datetime(2026, 1, 1, tzinfo=UTC))
        'p.shop.orders is read by APPENDS from 2026-01-01 00:00:00 UTC on'
    """
    by = {"landed": "landed_column", "partition": "_PARTITIONTIME", "appends": "APPENDS"}
    if since is None or way == "whole":
        return f"{table} is read whole"
    return f"{table} is read by {by.get(way, way)} from {since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC on"


def _landed(table: TableId, columns: Schema, name: str) -> Column:
    column = columns.get(name)
    if column is None or column.type not in (_TIMESTAMP, _DATE):
        found = str(column.type) if column else "no such column"
        raise SchemaConflict(
            f"{table}: expected a column {name} of type TIMESTAMP or DATE, got {found}: correct `landed_column` in "
            "onefold.yaml"
        )
    return column


def _time_travel(warehouse: BaseWarehouse, table: TableId) -> timedelta | None:
    """Return the time travel window of a table's dataset; None also where the account may not read about the dataset."""
    try:
        return warehouse.time_travel(table.dataset or "")
    except AccessDenied:
        return None


def _answering_appends(warehouse: BaseWarehouse, tables: Sequence[TableId], now: datetime) -> tuple[TableId, ...]:
    """Return the tables whose appended rows BigQuery returns: not those of each kind of table, nor to each account.

    With row-level policies, now or before, only an administrator of the table may ask for its history (BigQuery, "Work with
    change history", https://cloud.google.com/bigquery/docs/change-history, 2026-11). One dry run asks for all tables; where
    it is refused, the tables are halved until those are found that refuse.
    """
    if not tables:
        return ()
    queries = (f"SELECT 1 AS found FROM {item_sql(table, 'appends', now - _MARGIN)} AS v" for table in tables)
    try:
        warehouse.check_query("\nUNION ALL\n".join(queries))
    except (Rejected, AccessDenied):
        middle = len(tables) // 2
        halves = (tables[:middle], tables[middle:]) if middle else ()
        return tuple(table for half in halves for table in _answering_appends(warehouse, half, now))
    return tuple(tables)


def _beginning(time: datetime, partition: str) -> datetime:
    """Return the beginning of the partition into which a time falls."""
    hour = time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if partition == "HOUR":
        return hour
    day = hour.replace(hour=0)
    return {"MONTH": day.replace(day=1), "YEAR": day.replace(month=1, day=1)}.get(partition, day)
