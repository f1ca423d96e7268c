"""The log of merges, `<table>_merges`: one row for each step that was done to a base, appended when the step was done.

What a merge has to read, and which keys a purge deleted, is a join of these rows: the greatest start, the greatest floor. So
a row may be missing, because a merge was killed before it wrote the row, or come twice. Then a merge reads more than it
needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from onefold.core.names import TableId, quote, quote_text, time_literal
from onefold.merge.merge_state import LANDED, ZONES, Kind, LandedRows, MergeCounts, Zones
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

_STRING, _INT64, _TIMESTAMP = Scalar("STRING"), Scalar("INT64"), Scalar("TIMESTAMP")
ORDERED_BY_TEXT, UNKNOWN_TYPES, TIME_ZONES = "ordered_by_text", "unknown_types", "time_zones"
LOG_COLUMNS = (
    Column("finished_as", _STRING),
    Column("started_at", _TIMESTAMP),
    Column("base_created", _TIMESTAMP),
    Column("keys", _STRING),
    Column("versions", _STRING),
    Column("floor", _STRING),
    Column("changes", _INT64),
    Column("inserted", _INT64),
    Column("updated", _INT64),
    Column("below_floor", _INT64),
    Column("disputed", _INT64),
    Column(ORDERED_BY_TEXT, _INT64),
    Column(UNKNOWN_TYPES, _INT64),
    Column(TIME_ZONES, _STRING),
    Column(LANDED, _STRING),
    Column("bytes", _INT64),
)
TIME_QUERY = "SELECT CURRENT_TIMESTAMP() AS now"
"""The warehouse's time, for where there is no log whose query tells the time."""
_LOWEST = "TIMESTAMP '0001-01-01 00:00:00+00'"


def floor_sql(log: TableId) -> str:
    """Return the floor as an expression. The floor of a base that was dropped does not count for the one made after it."""
    lifted = f"SELECT MAX(r.started_at) FROM {log.quoted} AS r WHERE r.finished_as = 'create'"
    return f"(SELECT MAX(m.floor) FROM {log.quoted} AS m WHERE m.started_at > IFNULL(({lifted}), {_LOWEST}))"


def state_query(log: TableId, lacks: Iterable[Column] = ()) -> str:
    """Return a query of the time and the floor in its first row, and of the log's rows, equal ones as one row.

    Args:
        log: the log of merges.
        lacks: columns that the log does not have, because an earlier release made the log.
    """
    absent = {column.name for column in lacks}
    comparable = "FALSE" if ORDERED_BY_TEXT in absent else f"LOGICAL_OR(m.{ORDERED_BY_TEXT} IS NOT NULL)"
    zones = "NULL" if TIME_ZONES in absent else f"m.{TIME_ZONES}"
    last = f"ARRAY_AGG(m.{LANDED} ORDER BY m.started_at DESC LIMIT 1)[OFFSET(0)]"
    landed = "NULL" if LANDED in absent else last
    same = "m.finished_as, m.keys, m.versions, m.base_created" + ("" if TIME_ZONES in absent else f", {zones}")
    groups = (
        f"SELECT NULL, NULL, m.finished_as, m.keys, m.versions, m.base_created, MAX(m.started_at), {comparable}, {zones}, "
        f"{landed}\n"
        f"FROM {log.quoted} AS m\nGROUP BY {same}"
    )
    empty = (
        f"finished_as STRING, keys STRING, versions STRING, base_created TIMESTAMP, started_at TIMESTAMP, comparable BOOL, "
        f"{ZONES} STRING, {LANDED} STRING"
    )
    nothing = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in map(str.split, empty.split(", ")))
    return f"SELECT CURRENT_TIMESTAMP() AS now, {floor_sql(log)} AS floor, {nothing}\nUNION ALL\n{groups}"


def append_statement(
    log: TableId,
    kind: Kind,
    started_at: datetime,
    base_created: datetime | None,
    keys: Sequence[str],
    versions: Sequence[str] = (),
    counts: MergeCounts | None = None,
    zones: Zones = frozenset(),
    landed: Mapping[str, LandedRows] | None = None,
) -> str:
    """Return a statement that appends a row to the log.

    Args:
        log: the log of merges.
        kind: what was done.
        started_at: the warehouse's time before the change tables were listed.
        base_created: when the base was created to which it was done.
        keys: the keys of the base.
        versions: those whose windows were read to their ends.
        counts: what was counted; None where nothing was.
        zones: the time zones in which values were read, or are about to be.
        landed: how many rows of versions had landed before a time; those of other versions than `versions` are left out.
    """
    known = {one: (landed[one].before.isoformat(), landed[one].rows) for one in versions if landed and one in landed}
    values: dict[str, str] = {
        **_first_values(kind, started_at, base_created, keys, versions),
        LANDED: quote_text(json.dumps(known)),
        TIME_ZONES: quote_text(json.dumps(sorted(zones), ensure_ascii=False)),
        **{name: _number(getattr(counts, name)) for name in _COUNTED if counts},
        **({"bytes": _number(counts.bytes)} if counts and counts.bytes is not None else {}),
    }
    return f"INSERT INTO {log.quoted} ({', '.join(values)})\nVALUES ({', '.join(values.values())})"


def floor_statement(
    log: TableId,
    started_at: datetime,
    base_created: datetime | None,
    keys: Sequence[str],
    base: TableId,
    expired: str,
    position: str = "b._position",
) -> str:
    """Return a statement that appends the row of a purge; it appends nothing where the purge will delete nothing.

    The floor is the greatest position among the rows that will be deleted.

    Args:
        log: the log of merges.
        started_at: when the purge began.
        base_created: when the base was created.
        keys: the keys of the base.
        base: the base table.
        expired: the condition for the rows `b` of the base that will be deleted.
        position: the text of their position, as an expression of SQL.
    """
    values = {**_first_values("purge", started_at, base_created, keys, ()), "floor": f"MAX({position})"}
    return (
        f"INSERT INTO {log.quoted} ({', '.join(values)})\nSELECT {', '.join(values.values())}\n"
        f"FROM {base.quoted} AS b\nWHERE {expired}\nHAVING MAX({position}) IS NOT NULL"
    )


def no_rebuild_since(log: TableId, time: datetime) -> str:
    """Return a condition: no rebuild has started at or after that time.

    A rebuild brings tombstones back, so a purge that started before the rebuild must not delete anything after it.
    """
    last = f"SELECT MAX(r.started_at) FROM {log.quoted} AS r WHERE r.finished_as IN ('rebuilding', 'rebuild')"
    return f"IFNULL(({last}) < {time_literal(time)}, TRUE)"


_COUNTED = ("changes", "inserted", "updated", "below_floor", "disputed", ORDERED_BY_TEXT, UNKNOWN_TYPES)


def _first_values(
    kind: Kind, started_at: datetime, base_created: datetime | None, keys: Sequence[str], versions: Iterable[str]
) -> dict[str, str]:
    return {
        "finished_as": quote_text(kind),
        "started_at": time_literal(started_at),
        quote("base_created"): time_literal(base_created) if base_created else "NULL",
        quote("keys"): quote_text(json.dumps(list(keys), ensure_ascii=False)),
        quote("versions"): quote_text(json.dumps(list(versions))),
    }


def _number(value: int | None) -> str:
    return "NULL" if value is None else str(value)
