"""The log of loads in memory, written from the documentation: what it says about a table, and who replaces its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from onefold.batches.source_arguments import Window
from onefold.ports.rows import Row
from onefold.pull.load.log_state import Replacement
from onefold.pull.read.clock import micros
from onefold.pull.read.plan import LoadState


@dataclass
class MemoryLog:
    """The log of loads of all processes; each call is one step of one of them."""

    rows: list[Row]
    step: Callable[[], object]

    def state_of(self, table: str, window: Window, now: datetime) -> LoadState:
        self.step()
        mine = [row for row in self.rows if row["table_name"] == table]
        begun = {row["version"]: row["load_id"] for row in sorted(mine, key=lambda row: row["begun_at"])}
        loaded = [row for row in mine if row["state"] == "loaded"]
        if not loaded:
            return LoadState(begun=tuple(begun.items()))
        newest = max(loaded, key=lambda row: row["begun_at"])
        # A repair reads chunks, has no watermark, and does not describe the table.
        pulls = [row for row in loaded if row["pull_window"] != "dq"]
        told = max(pulls, key=lambda row: row["begun_at"], default=newest)
        marked = [
            row
            for row in loaded
            if row["version"] == newest["version"] and row["watermark_column"] and row["pull_window"] != "dq"
        ]
        last = max(marked, key=lambda row: row["begun_at"], default=None)
        asked = [_asked(row) for row in loaded if row["pull_window"] == window]
        whole = [row for row in loaded if row["replaces"] and not row["days"]]
        later = [row for row in loaded if all(row["begun_at"] >= one["begun_at"] for one in whole)]
        return LoadState(
            newest["version"],
            int(last["watermark"]) if last and last["watermark"] else None,
            max(asked, default=None),
            _keys_of_days(later),
            last["watermark_column"] if last else None,
            # Each version where its last load began.
            tuple(sorted(begun.items(), key=lambda one: max(row["begun_at"] for row in mine if row["version"] == one[0]))),
            micros(datetime.fromisoformat(told["read_at"])),
            frozenset(
                date.fromisoformat(day)
                for row in later
                if row["pull_window"] == "day"
                for day in json.loads(row["days"] or "[]")
            ),
            max(map(_asked, whole), default=min(map(_asked, loaded))),
            told["source_table"],
            tuple(told["columns_read"]),
            tuple(told["columns_dropped"]),
            any(row["truncated"] and all(row["begun_at"] > one["begun_at"] for one in whole) for row in mine),
            datetime.fromisoformat(newest["logged_at"]),
            tuple(told["columns_described"]),
            tuple(told["key_columns"]),
            told["source_created"],
            max(micros(datetime.fromisoformat(row["read_at"])) for row in mine),
            tuple(newest["row_versions"]),
        )

    def replacements(self, table: str, now: datetime) -> tuple[Replacement, ...]:
        self.step()
        found: dict[str, Replacement] = {}
        for row in self.rows:
            is_recent = datetime.fromisoformat(row["logged_at"]) >= now - timedelta(days=1)
            if row["table_name"] == table and row["replaces"] and is_recent:
                days = frozenset(map(date.fromisoformat, json.loads(row["days"]))) if row["days"] else None
                begun = datetime.fromisoformat(row["begun_at"])
                done = datetime.fromisoformat(row["logged_at"]) if row["state"] == "loaded" else None
                if done is None and row["load_id"] in found:
                    done = found[row["load_id"]].done_at
                found[row["load_id"]] = Replacement(row["load_id"], begun, done, days)
        return tuple(found.values())

    def begun_at(self, load_id: str, now: datetime) -> datetime | None:
        self.step()
        begun = [row for row in self.rows if row["load_id"] == load_id and row["state"] == "begun"]
        return min((datetime.fromisoformat(row["begun_at"]) for row in begun), default=None)

    def append(self, row: Row) -> None:
        self.step()
        self.rows.append(row)


def _days(row: Row) -> list[date]:
    return [date.fromisoformat(day) for day in json.loads(row["days"] or "[]")]


def _asked(row: Row) -> datetime:
    return min(datetime.fromisoformat(row[column]) for column in ("requested_at", "logged_at"))


def _keys_of_days(loaded: Iterable[Row]) -> tuple[tuple[date, int, int], ...]:
    ranges: dict[date, list[int]] = {}
    for row in loaded:
        for day, first, last in json.loads(row["keys_of_days"] or "[]"):
            ranges.setdefault(date.fromisoformat(day), []).extend((first, last))
    return tuple((day, min(keys), max(keys)) for day, keys in sorted(ranges.items()))
