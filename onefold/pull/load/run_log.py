"""The log of loads, `_loads`: append-only rows that say which files are in a table, and where the next pull begins.

A load that replaces rows, the first one of a structure, and one that fills another version append a row before their pull
reads (`begun`), and each load one when it is done (`loaded`). A row may be missing, because a process was killed before it
wrote the row, or come twice. Then the next pull reads more than it needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from onefold.ports.rows import Row
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pulled import PulledFiles
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
    Column("rows_at_source", _INT64),
    Column("source_table", _STRING),
    Column("columns_read", Array(_STRING)),
    Column("columns_dropped", Array(_STRING)),
    Column("truncated", Scalar("BOOL")),
    Column("columns_described", Array(_STRING)),
    Column("key_columns", Array(_STRING)),
    Column("source_created", _STRING),
    Column("row_versions", Array(_STRING)),
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


def is_announced(plan: TablePlan) -> bool:
    """Return whether a load says in the log that it begins: one that replaces rows, a first one, or one of another version.

    Such a load may be killed after its job. Then the next one has to know that the other version may have the newest rows,
    and a first one that is repeated has to know since when its jobs count.
    """
    return replaces(plan) or plan.first or plan.previous.versions != (plan.target.version,)


def begun_row(plan: TablePlan, at: datetime) -> Row:
    """Return the row of a load that begins.

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
        "rows_at_source": pulled.rows_at_source,
        "columns_read": [column.name for column in pulled.plan.structure.columns],
        "columns_dropped": list(pulled.plan.dropped),
        "columns_described": list(pulled.plan.described),
        "key_columns": list(pulled.plan.keys),
        "source_created": pulled.plan.created,
        "row_versions": list(pulled.plan.row_versions),
    }


def keys_of_days(pulled: PulledFiles) -> Iterator[tuple[date, int, int]]:
    """Yield the first and the last key of each day of a pull with a key watermark; nothing for other pulls."""
    watermark, least, greatest = pulled.plan.watermark, pulled.least, pulled.greatest
    if watermark is None or watermark.is_time or least is None or greatest is None:
        return
    starts, low = pulled.plan.range.key_days, pulled.plan.range.low
    # A key that the read has passed belongs to the day as well, even if its row was committed later.
    least = least if low is None else min(low, least)
    for number, (first, day) in enumerate(starts):
        # Keys below all entries are of the day of the first one.
        low = least if number == 0 else max(first, least)
        high = min(starts[number + 1][0] - 1, greatest) if number + 1 < len(starts) else greatest
        if low <= high:
            yield day, low, high


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
        "source_table": plan.structure.table,
        "truncated": plan.truncated,
    }


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(" ", "microseconds")
