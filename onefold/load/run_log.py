"""The log of loads, `_loads`: append-only rows that say which files are in a table, and where the next pull begins.

A load that replaces rows, and the first one of a structure, appends a row before its pull reads (`begun`), and each load one
when it is done (`loaded`). A row may be missing, because a process was killed before it wrote the row, or come twice. Then
the next pull reads more than it needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from onefold.core.names import TableId, quote_text, time_literal
from onefold.extract.plan import LoadState, TablePlan
from onefold.extract.pulled import PulledFiles
from onefold.extract.watermark import Window
from onefold.ports.rows import Row
from onefold.schema.columns import Column
from onefold.schema.types import Array, Scalar

LOG_TABLE = "_loads"
State = Literal["begun", "loaded"]

_STRING, _INT64, _TIMESTAMP = Scalar("STRING"), Scalar("INT64"), Scalar("TIMESTAMP")
LOG_COLUMNS = (
    Column("table_name", _STRING),
    Column("version", _STRING),
    Column("pull_window", _STRING),
    Column("state", _STRING),
    Column("load_id", _STRING),
    Column("requested_at", _TIMESTAMP),
    Column("begun_at", _TIMESTAMP),
    Column("read_at", _TIMESTAMP),
    Column("logged_at", _TIMESTAMP),
    Column("replaces", Scalar("BOOL")),
    Column("days", _STRING),
    Column("watermark_column", _STRING),
    Column("watermark", _STRING),
    Column("low", _STRING),
    Column("keys_of_days", _STRING),
    Column("files", Array(_STRING)),
    Column("jobs", Array(_STRING)),
    Column("rows_loaded", _INT64),
    Column("rows_above", _INT64),
    Column("rows_without_watermark", _INT64),
    Column("rows_deleted", _INT64),
)
"""Watermarks are text, because a key of MySQL may exceed INT64."""
LOGGED_AT = "logged_at"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Done:
    """What a load has done.

    Attributes:
        jobs: the identifiers of its jobs.
        deleted: the keys for which it wrote a deletion.
    """

    jobs: tuple[str, ...] = ()
    deleted: int = 0

    def __add__(self, other: Done) -> Done:
        return Done((*self.jobs, *other.jobs), self.deleted + other.deleted)


def replaces(plan: TablePlan) -> bool:
    """Return whether the load of a pull replaces rows: those of some days, or all."""
    return plan.range.window == "full" or bool(plan.range.days)


def begun_row(plan: TablePlan, at: datetime) -> Row:
    """Return the row of a load that has begun.

    Args:
        plan: of its pull.
        at: the present time.
    """
    return {**_common(plan, "begun", at, at), "files": [], "jobs": []}


def loaded_row(pulled: PulledFiles, done: Done, begun_at: datetime, at: datetime) -> Row:
    """Return the row of a load that is done.

    Args:
        pulled: what was loaded.
        done: what the load did.
        begun_at: when it began, before its pull read.
        at: the present time.
    """
    ranges = [[day.isoformat(), first, last] for day, first, last in keys_of_days(pulled)]
    return {
        **_common(pulled.plan, "loaded", begun_at, at),
        "watermark": _text(pulled.watermark),
        "keys_of_days": json.dumps(ranges) if ranges else None,
        "files": [file.name for file in pulled.files],
        "jobs": list(done.jobs),
        "rows_loaded": pulled.rows,
        "rows_above": pulled.rows_above,
        "rows_without_watermark": pulled.rows_without_watermark,
        "rows_deleted": done.deleted,
    }


def keys_of_days(pulled: PulledFiles) -> Iterator[tuple[date, int, int]]:
    """Yield the first and the last key of each day of a pull with a key watermark; nothing for other pulls."""
    watermark, least, greatest = pulled.plan.watermark, pulled.least, pulled.greatest
    if watermark is None or watermark.is_time or least is None or greatest is None:
        return
    starts = pulled.plan.range.key_days
    for number, (first, day) in enumerate(starts):
        # Keys below all entries are of the day of the first one.
        low = least if number == 0 else max(first, least)
        high = min(starts[number + 1][0] - 1, greatest) if number + 1 < len(starts) else greatest
        if low <= high:
            yield day, low, high


def state_query(log: TableId, since: datetime | None) -> str:
    """Return a query of the last load of each table and window, with the greatest time of a request.

    Args:
        log: the log of loads.
        since: the first time of logging that is read, so that few partitions are; None for the whole log.
    """
    window = "l.table_name, l.pull_window"
    rows = (
        f"SELECT l.table_name, l.pull_window, l.version, l.watermark_column, l.watermark, l.begun_at, "
        f"l.keys_of_days IS NOT NULL AS has_keys, "
        f"MAX(l.requested_at) OVER (PARTITION BY {window}) AS requested_at, "
        f"ROW_NUMBER() OVER (PARTITION BY {window} ORDER BY l.begun_at DESC, l.logged_at DESC) AS _rank\n"
        f"FROM {log.quoted} AS l\nWHERE l.state = 'loaded'" + _since("l", since)
    )
    return f"SELECT w.* EXCEPT (_rank)\nFROM (\n{rows}\n) AS w\nWHERE w._rank = 1"


def keys_query(log: TableId, table: str, since: datetime) -> str:
    """Return a query of the keys of days that were loaded into a table with a key watermark.

    Args:
        log: the log of loads.
        table: the base name.
        since: the first time of logging that is read.
    """
    return (
        f"SELECT l.keys_of_days\nFROM {log.quoted} AS l\n"
        f"WHERE l.state = 'loaded' AND l.keys_of_days IS NOT NULL AND l.table_name = {quote_text(table)}{_since('l', since)}"
    )


def replacements_query(log: TableId, table: str, since: datetime) -> str:
    """Return a query of the loads that replace rows of a table: when each began, when it was done, and its days.

    Args:
        log: the log of loads.
        table: the base name.
        since: the first time of logging that is read.
    """
    return (
        "SELECT l.load_id, MIN(l.begun_at) AS begun_at, ANY_VALUE(l.days) AS days, "
        "MAX(IF(l.state = 'loaded', l.logged_at, NULL)) AS done_at\n"
        f"FROM {log.quoted} AS l\n"
        f"WHERE l.replaces AND l.table_name = {quote_text(table)}{_since('l', since)}\n"
        "GROUP BY l.load_id"
    )


def begun_query(log: TableId, load_id: str, since: datetime) -> str:
    """Return a query of when a load began first, of any process.

    Args:
        log: the log of loads.
        load_id: its name.
        since: the first time of logging that is read.
    """
    return (
        f"SELECT MIN(l.begun_at) AS begun_at\nFROM {log.quoted} AS l\n"
        f"WHERE l.state = 'begun' AND l.load_id = {quote_text(load_id)}{_since('l', since)}"
    )


def read_states(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return the rows of `state_query` by table and window."""
    states: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        states.setdefault(row["table_name"], {})[row["pull_window"]] = row
    return states


def load_state(by_window: Mapping[str, Mapping[str, Any]], window: Window) -> LoadState:
    """Return the state of one table.

    Args:
        by_window: the last load of each window.
        window: of the pull that asks.
    """
    if not by_window:
        return LoadState()
    last = max(by_window.values(), key=lambda row: row["begun_at"])
    # A full load has no watermark: the next pull reads from that of the load before it.
    known = [row for row in by_window.values() if row["watermark"] is not None and row["version"] == last["version"]]
    watermark = max(known, key=lambda row: row["begun_at"], default=None)
    asked = by_window.get(window)
    return LoadState(
        version=last["version"],
        watermark=int(watermark["watermark"]) if watermark else None,
        started=asked["requested_at"] if asked else None,
        watermark_column=watermark["watermark_column"] if watermark else None,
    )


def read_keys(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[date, int, int], ...]:
    """Return the first and the last key of each day from rows of `keys_query`.

    Examples:
        >>> read_keys([{"keys_of_days": '[["2026-05-03", 5, 9]]'}, {"keys_of_days": '[["2026-05-03", 3, 7]]'}])
        ((datetime.date(2026, 5, 3), 3, 9),)
    """
    ranges: dict[date, tuple[int, int]] = {}
    for row in rows:
        for text, first, last in json.loads(row["keys_of_days"]):
            day = date.fromisoformat(text)
            low, high = ranges.get(day, (first, last))
            ranges[day] = (min(low, first), max(high, last))
    return tuple((day, *ranges[day]) for day in sorted(ranges))


@dataclass(frozen=True)
class Replacement:
    """A load that replaces rows.

    Attributes:
        load_id: its name.
        begun_at: when it began.
        done_at: when it was done; None where it goes on, or was killed.
        days: the days that it replaces; None for all.
    """

    load_id: str
    begun_at: datetime
    done_at: datetime | None = None
    days: frozenset[date] | None = None

    def touches(self, days: Iterable[date] | None) -> bool:
        """Return whether it replaces one of these days; None for all days."""
        return self.days is None or days is None or not self.days.isdisjoint(days)


def read_replacements(rows: Iterable[Mapping[str, Any]]) -> tuple[Replacement, ...]:
    """Return the loads of `replacements_query`."""
    return tuple(Replacement(row["load_id"], row["begun_at"], row["done_at"], _read_days(row["days"])) for row in rows)


def _common(plan: TablePlan, state: State, begun_at: datetime, at: datetime) -> Row:
    days = plan.replaced_days
    return {
        "table_name": plan.target.table,
        "version": plan.target.version,
        "pull_window": plan.request.window,
        "state": state,
        "load_id": plan.load_id,
        "requested_at": _time(plan.request.at),
        "begun_at": _time(begun_at),
        "read_at": _time(_EPOCH + timedelta(microseconds=plan.read_at)),
        LOGGED_AT: _time(at),
        "replaces": replaces(plan),
        "days": json.dumps([day.isoformat() for day in days]) if days else None,
        "watermark_column": plan.watermark.column if plan.watermark else None,
        "low": _text(plan.range.low),
    }


def _read_days(text: str | None) -> frozenset[date] | None:
    return None if text is None else frozenset(map(date.fromisoformat, json.loads(text)))


def _since(row: str, since: datetime | None) -> str:
    return f" AND {row}.{LOGGED_AT} >= {time_literal(since)}" if since else ""


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(" ", "microseconds")
