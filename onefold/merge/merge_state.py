"""What the log of merges says of the present base: the counts of a merge, and the state from which the next one goes on.

What a merge has to read, and which keys a purge deleted, is a join of the log's rows: the greatest start and the greatest
floor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from onefold.schema.columns import Column

Kind = Literal[
    "create", "zones", "merge", "merge_whole", "merge_landed", "merge_partition", "merge_appends", "merge_source_timestamp",
    "snapshot", "purge", "converting", "convert", "rebuilding", "rebuild",
]  # fmt: skip
"""What was done. A merge of a plain change table is named by the way in which the table was read."""
Zones = frozenset[tuple[str, str]]
"""Columns whose values depend on the time zone in which they were read, with that zone; names without their case."""
ZONES = "zones"
"""The name of the zones in the rows of `state_query`, for logs with their column and without it."""
LANDED = "landed"
_WRITES: tuple[Kind, ...] = (
    "create", "zones", "merge", "merge_whole", "merge_landed", "merge_partition", "merge_appends", "merge_source_timestamp",
    "snapshot", "convert", "rebuild",
)  # fmt: skip
"""What is logged of the very base that the row names."""
_BEGINS: tuple[Kind, ...] = ("converting", "rebuilding")
"""What is logged before a base is replaced, of the base that was there."""
_READS_WHOLE: tuple[Kind, ...] = ("merge", "merge_whole", "rebuild")
"""What has read a plain change table whole: a `merge` of an earlier release, too."""


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
    bytes: the bytes that the merge processed.
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
    bytes: int | None = field(default=None, compare=False)

    def __add__(self, other: MergeCounts) -> MergeCounts:
        apart = ("text_example", "bytes")
        pairs = ((getattr(self, name), getattr(other, name)) for name in asdict(self) if name not in apart)
        sums = (None if a is None or b is None else a + b for a, b in pairs)
        read = [one.bytes for one in (self, other) if one.bytes is not None]
        return replace(
            MergeCounts(*sums),  # type: ignore[arg-type]
            text_example=self.text_example or other.text_example,
            bytes=sum(read) if read else None,
        )


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
    whole_at: when the last merge began that read a plain change table whole; None where none did.
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
    whole_at: datetime | None = None

    def start_of(self, version: str) -> datetime | None:
        """Return when the last merge of a version started; None where there was none, or that does not count any more."""
        return None if version in self.reloaded else (self.starts or {}).get(version)


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
        whole_at=max((row["started_at"] for row in of_base if _read_whole(row)), default=None),
    )


def _read_whole(row: Mapping[str, Any]) -> bool:
    return row["finished_as"] in _READS_WHOLE and bool(json.loads(row["versions"]))


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
    yield from ((column, zone) for column, zone in json.loads(row.get(ZONES) or "[]"))


def _landed(row: Mapping[str, Any]) -> Iterator[tuple[str, LandedRows]]:
    for version, (before, rows) in json.loads(row.get(LANDED) or "{}").items():
        yield version, LandedRows(datetime.fromisoformat(before), rows)
