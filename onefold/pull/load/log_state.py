"""What the rows of the log of loads say: the state of a table before a pull, and the loads that replace its rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from onefold.batches.source_arguments import Window
from onefold.pull.read.clock import micros
from onefold.pull.read.plan import LoadState

REPAIR = "dq"
"""The window of the loads of a check that repairs rows."""


def read_states(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows of `state_query` by table, in the order in which the loads began."""
    states: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["begun_at"]):
        states.setdefault(row["table_name"], []).append(row)
    return states


def is_loaded(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the rows of `state_query` is of a pull whose load is done. Repairs say less about a table."""
    return any(row["state"] == "loaded" and row["pull_window"] != REPAIR for row in rows)


def load_state(rows: Sequence[Mapping[str, Any]], window: Window) -> LoadState:
    """Return the state of one table.

    Args:
        rows: those of `state_query`, in the order in which the loads began.
        window: of the pull that asks.
    """
    loaded = [row for row in rows if row["state"] == "loaded"]
    if not loaded:
        return LoadState(begun=_begun(rows))
    last, pulls = loaded[-1], [row for row in loaded if row["pull_window"] != REPAIR]
    # A repair reads some rows by the settings of a pull, and does not say how the table is described.
    pulled = pulls[-1] if pulls else last
    # A full load has no watermark: the next pull reads from that of the load before it. So does the one after a repair.
    known = [row for row in pulls if row["watermark_column"] and row["version"] == last["version"]]
    asked = [row["requested_at"] for row in loaded if row["pull_window"] == window]
    return LoadState(
        version=last["version"],
        watermark=int(known[-1]["watermark"]) if known and known[-1]["watermark"] is not None else None,
        started=max(asked, default=None),
        watermark_column=known[-1]["watermark_column"] if known else None,
        begun=_begun(rows),
        read_at=micros(pulled["read_at"]),
        source_table=pulled["source_table"],
        columns=tuple(pulled["columns_read"] or ()),
        dropped=tuple(pulled["columns_dropped"] or ()),
        truncated=_is_truncated(rows),
        logged_at=last["logged_at"],
        described=tuple(pulled["columns_described"] or ()),
        keys=tuple(pulled["key_columns"] or ()),
        created=pulled["source_created"],
        row_versions=tuple(last["row_versions"] or ()),
        latest_read_at=max(micros(row["latest_read_at"]) for row in rows),
    )


def _is_truncated(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a load of a truncated table has begun, and no load of all rows has begun since and was done."""
    whole = [row for row in rows if row["whole"]]
    last = max(whole, key=lambda row: (row["begun_at"], row["state"] == "loaded"), default=None)
    return last is not None and last["state"] == "begun"


def _begun(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for row in rows:
        found.pop(row["version"], None)  # so that the version comes last
        found[row["version"]] = row["load_id"]
    return tuple(found.items())


def with_history(state: LoadState, rows: Sequence[Mapping[str, Any]]) -> LoadState:
    """Return a state with what the loads of `history_query` tell: the keys of days, and the days that are covered.

    A load that replaced all rows ends what was before it.

    Args:
        state: without them.
        rows: those of `history_query`.
    """
    whole = [row for row in rows if row["replaces"] and row["days"] is None]
    since = max((row["begun_at"] for row in whole), default=None)
    later = [row for row in rows if since is None or row["begun_at"] >= since]
    days = [_read_days(row["days"]) or frozenset() for row in later if row["pull_window"] == "day"]
    first = min((row["requested_at"] for row in rows), default=None)
    return replace(
        state,
        keys_of_days=read_keys(row for row in later if row["watermark_column"] == state.watermark_column),
        covered=frozenset().union(*days),
        whole_at=max((row["requested_at"] for row in whole), default=first),
    )


def read_keys(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[date, int, int], ...]:
    """Return the first and the last key of each day from rows of `history_query`.

    Examples:
        >>> read_keys([{"keys_of_days": '[["2026-05-03", 5, 9]]'}, {"keys_of_days": '[["2026-05-03", 3, 7]]'}])
        ((datetime.date(2026, 5, 3), 3, 9),)
    """
    ranges: dict[date, tuple[int, int]] = {}
    for row in rows:
        for text, first, last in json.loads(row["keys_of_days"] or "[]"):
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


def _read_days(text: str | None) -> frozenset[date] | None:
    return None if text is None else frozenset(map(date.fromisoformat, json.loads(text)))
