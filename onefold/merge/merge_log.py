"""The log of merges, `<table>_merges`: one row for each step that was done to a base, appended when the step was done.

What a merge has to read, and which keys a purge deleted, is a join of these rows: the greatest start, the greatest floor. So
a row may be missing, because a merge was killed before it wrote the row, or come twice. Then a merge reads more than it
needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from onefold.core.names import TableId, quote, quote_text, time_literal
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

Kind = Literal["create", "zones", "merge", "snapshot", "purge", "converting", "convert", "rebuilding", "rebuild"]
Zones = frozenset[tuple[str, str]]
"""Columns whose values depend on the time zone in which they were read, with that zone; names without their case."""

_STRING, _INT64, _TIMESTAMP = Scalar("STRING"), Scalar("INT64"), Scalar("TIMESTAMP")
ORDERED_BY_TEXT, UNKNOWN_TYPES, TIME_ZONES = "ordered_by_text", "unknown_types", "time_zones"
LANDED = "landed"
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
)
TIME_QUERY = "SELECT CURRENT_TIMESTAMP() AS now"
"""The warehouse's time, for where there is no log whose query tells the time."""
_ZONES = "zones"
"""The name of the zones in the rows of `state_query`, for logs with their column and without it."""
_LOWEST = "TIMESTAMP '0001-01-01 00:00:00+00'"


@dataclass(frozen=True)
class MergeCounts:
    """The counts of a merge; None for a count that the warehouse does not tell.

    changes: changes that were read.
    keys: keys of these changes.
    written: rows of the base that were inserted or updated.
    inserted: rows that were inserted.
    updated: rows that were updated.
    below_floor: keys that were not inserted, because the newest change of them is at or below the floor of a purge.
    disputed: changes that share their position with another one of other content; a digest of the row decides.
    ordered_by_text: changes whose sequence has no documented form, so that it was ordered as text.
    unknown_types: changes with a `change_type` that is not documented, which count as upserts.
    text_example: one of those sequences, with its numbers without leading zeros.
    """

    changes: int = 0
    keys: int = 0
    written: int | None = 0
    inserted: int | None = 0
    updated: int | None = 0
    below_floor: int = 0
    disputed: int = 0
    ordered_by_text: int = 0
    unknown_types: int = 0
    text_example: str | None = None

    def __add__(self, other: MergeCounts) -> MergeCounts:
        pairs = ((getattr(self, name), getattr(other, name)) for name in asdict(self) if name != "text_example")
        sums = (None if a is None or b is None else a + b for a, b in pairs)
        return replace(MergeCounts(*sums), text_example=self.text_example or other.text_example)  # type: ignore[arg-type]


@dataclass(frozen=True)
class LandedRows:
    """The number of rows of a version that had landed before a time. No row should come to them."""

    before: datetime
    rows: int


@dataclass(frozen=True)
class MergeState:
    """What the log says of the present base.

    now: the warehouse's time when the log was read; None where there is no log yet.
    starts: for each version, when the last merge that read the version started.
    keys: the keys of the base; empty where no merge has begun.
    floor: the greatest position that a purge deleted; None where there was no purge.
    unknown_rows: whether the base has rows that did not come from the change tables.
    comparable: whether a merge of this release has checked that every position of the base can be compared.
    zones: the time zones in which values of the base's rows were read, as far as the log says them.
    lacks: columns that the log does not have, because an earlier release made the log.
    landed: for each version, how many rows had landed before the time from which the next merge reads, as far as logged.
    merged: the versions of which the base may hold rows: also where the merge was logged of a base that was converted since.
    reloaded: versions that have more such rows by now, so that they are read from their beginning.
    """

    now: datetime | None = None
    starts: Mapping[str, datetime] | None = None
    keys: tuple[str, ...] = ()
    floor: str | None = None
    unknown_rows: bool = False
    comparable: bool = False
    zones: Zones = frozenset()
    lacks: tuple[Column, ...] = ()
    landed: Mapping[str, LandedRows] = field(default_factory=dict)
    merged: frozenset[str] = frozenset()
    reloaded: frozenset[str] = frozenset()

    def start_of(self, version: str) -> datetime | None:
        """Return when the last merge of a version started; None where there was none, or that does not count any more."""
        return None if version in self.reloaded else (self.starts or {}).get(version)


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
        f"{_ZONES} STRING, {LANDED} STRING"
    )
    nothing = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in map(str.split, empty.split(", ")))
    return f"SELECT CURRENT_TIMESTAMP() AS now, {floor_sql(log)} AS floor, {nothing}\nUNION ALL\n{groups}"


def read_state(rows: Iterable[Mapping[str, Any]], base_created: datetime | None, lacks: Iterable[Column] = ()) -> MergeState:
    """Return what the rows of `state_query` say of the present base.

    Rows of the log about a base that was replaced since do not tell what is in the present base.

    Args:
        rows: the rows of `state_query`, in any order.
        base_created: when the present base was created; None where there is none.
        lacks: columns that the log does not have.
    """
    rows = list(rows)
    merges = sorted((row for row in rows if row["keys"] is not None), key=lambda row: row["started_at"])
    of_base = [row for row in merges if base_created is not None and row["base_created"] == base_created]
    starts = {version: row["started_at"] for row in of_base for version in json.loads(row["versions"])}
    return MergeState(
        now=next(row["now"] for row in rows if row["now"]),
        starts=starts,
        keys=tuple(json.loads(merges[-1]["keys"])) if merges else (),
        floor=next((row["floor"] for row in rows if row["floor"]), None),
        unknown_rows=any(row["finished_as"] == "snapshot" for row in merges),
        comparable=any(row.get("comparable") for row in of_base),
        zones=frozenset(pair for row in _written(of_base) or _interrupted(merges, base_created) for pair in _zones(row)),
        lacks=tuple(lacks),
        landed={version: found for row in of_base for version, found in _landed(row)},
        merged=frozenset(_merged(merges)),
    )


def _merged(merges: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the versions that were merged since a base was last made from the change tables alone."""
    fresh = [row["started_at"] for row in merges if row["finished_as"] in ("create", "rebuild")]
    for row in merges:
        if not fresh or row["started_at"] >= max(fresh):
            yield from json.loads(row["versions"])


def _written(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["finished_as"] in _WRITES]


def _interrupted(merges: Sequence[Mapping[str, Any]], base_created: datetime | None) -> Sequence[Mapping[str, Any]]:
    """Return the last row of a begin: what began wrote the base, where the log says nothing else of it.

    What began when the present base was there already has not written it.
    """
    return [row for row in merges if row["finished_as"] in _BEGINS and row["base_created"] != base_created][-1:]


def _zones(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((column, zone) for column, zone in json.loads(row.get(_ZONES) or "[]"))


def _landed(row: Mapping[str, Any]) -> Iterator[tuple[str, LandedRows]]:
    for version, (before, rows) in json.loads(row.get(LANDED) or "{}").items():
        yield version, LandedRows(datetime.fromisoformat(before), rows)


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
    }
    return f"INSERT INTO {log.quoted} ({', '.join(values)})\nVALUES ({', '.join(values.values())})"


def floor_statement(
    log: TableId, started_at: datetime, base_created: datetime | None, keys: Sequence[str], base: TableId, expired: str
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
    """
    values = {**_first_values("purge", started_at, base_created, keys, ()), "floor": "MAX(b._position)"}
    return (
        f"INSERT INTO {log.quoted} ({', '.join(values)})\nSELECT {', '.join(values.values())}\n"
        f"FROM {base.quoted} AS b\nWHERE {expired}\nHAVING MAX(b._position) IS NOT NULL"
    )


def no_rebuild_since(log: TableId, time: datetime) -> str:
    """Return a condition: no rebuild has started at or after that time.

    A rebuild brings tombstones back, so a purge that started before the rebuild must not delete anything after it.
    """
    last = f"SELECT MAX(r.started_at) FROM {log.quoted} AS r WHERE r.finished_as IN ('rebuilding', 'rebuild')"
    return f"IFNULL(({last}) < {time_literal(time)}, TRUE)"


_COUNTED = ("changes", "inserted", "updated", "below_floor", "disputed", ORDERED_BY_TEXT, UNKNOWN_TYPES)
_WRITES: tuple[Kind, ...] = ("create", "zones", "merge", "snapshot", "convert", "rebuild")
"""What is logged of the very base that the row names."""
_BEGINS: tuple[Kind, ...] = ("converting", "rebuilding")
"""What is logged before a base is replaced, of the base that was there."""


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
