"""What the tests of the latest state share: an oracle of a dict and a loop, and change tables in the emulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emulator import EmulatedDataset

from onefold.changelog import DELETIONS, LANDED_AT, METADATA
from onefold.digest import array_text, digest
from onefold.position import Position

Row = Mapping[str, Any]

METADATA_TYPE = (
    "STRUCT<uuid STRING, source_timestamp INT64, change_sequence_number STRING, change_type STRING, sort_keys ARRAY<STRING>>"
)


def oracle(changes: Iterable[Row], keys: Sequence[str]) -> list[dict[str, Any]]:
    """The latest row of each key: a dict and a loop."""
    latest: dict[tuple[Any, ...], tuple[str, Row]] = {}
    for change in changes:
        key, position = tuple(change[name] for name in keys), position_of(change)
        if key not in latest or position > latest[key][0]:
            latest[key] = (position, change)
    winners = (change for _, change in latest.values() if change[METADATA]["change_type"].upper() not in DELETIONS)
    return [{name: value for name, value in winner.items() if name not in (METADATA, LANDED_AT)} for winner in winners]


def position_of(change: Row) -> str:
    """With the digest of the row, which decides where all else is equal."""
    metadata = change[METADATA]
    return str(
        Position(
            sequence=metadata["change_sequence_number"],
            timestamp=metadata["source_timestamp"],
            sort_keys=tuple(metadata["sort_keys"]),
            deleted=metadata["change_type"].upper() in DELETIONS,
            tie_break=f"{metadata['uuid'] or ''} {digest_of(change)}",
        )
    )


def digest_of(change: Row) -> str:
    return digest({name: _text(value) for name, value in change.items() if name not in (METADATA, LANDED_AT)})


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        return array_text([_text(element) for element in value])
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def land_changes(dataset: EmulatedDataset, table: str, columns: Mapping[str, str], rows: Sequence[Row]) -> None:
    """A change table, with rows written as the sink would write them."""
    dataset.land(table, {**columns, METADATA: METADATA_TYPE})
    if rows:
        failed = dataset.client.insert_rows_json(f"{dataset.client.project}.{dataset.name}.{table}", list(rows))
        assert failed == []


def change(
    kind: str,
    sequence: str | None,
    *,
    timestamp: int | None = 1,
    sort_keys: Sequence[str] = (),
    uuid: str = "",
    **columns: Any,
) -> dict[str, Any]:
    """One change, as Datastream writes it."""
    metadata = {
        "uuid": uuid,
        "source_timestamp": timestamp,
        "change_sequence_number": sequence,
        "change_type": kind,
        "sort_keys": list(sort_keys),
    }
    return {**columns, METADATA: metadata}


FAULTS: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "a changed key leaves no ghost at the old one": (
        [
            change("INSERT", "1", id=1, name="a"),
            change("UPDATE-DELETE", "2", id=1, name="a"),
            change("UPDATE-INSERT", "2", id=2, name="a"),
        ],
        [(2, "a")],
    ),
    "a replayed deletion does not delete a newer row": (
        [change("DELETE", "2", id=1), change("INSERT", "3", id=1, name="new"), change("DELETE", "2", id=1)],
        [(1, "new")],
    ),
    "a late older row does not bring a deleted one back": (
        [change("DELETE", "3", id=1), change("UPDATE-INSERT", "2", id=1, name="late")],
        [],
    ),
    "a row without a sequence is older than any with one": (
        [change("INSERT", None, timestamp=9, id=1, name="backfill"), change("UPDATE-INSERT", "1", id=1, name="update")],
        [(1, "update")],
    ),
    "equal sequences are told apart by time": (
        [change("UPDATE-INSERT", "5", timestamp=2, id=1, name="later"), change("INSERT", "5", timestamp=1, id=1, name="x")],
        [(1, "later")],
    ),
    "equal sequences and times are told apart by sort keys, as numbers": (
        [
            change("UPDATE-INSERT", "5", sort_keys=["mysql-bin.9", "10"], id=1, name="later"),
            change("UPDATE-INSERT", "5", sort_keys=["mysql-bin.9", "9"], id=1, name="x"),
        ],
        [(1, "later")],
    ),
    "at the same place a deletion comes before an upsert": (
        [change("UPDATE-INSERT", "5", id=1, name="still here"), change("DELETE", "5", id=1)],
        [(1, "still here")],
    ),
    "sequences are numbers, not text": (
        [change("INSERT", "9", id=1, name="x"), change("UPDATE-INSERT", "10", id=1, name="later")],
        [(1, "later")],
    ),
    "keys that are NULL are one key": (
        [change("INSERT", "1", id=None, name="x"), change("UPDATE-INSERT", "2", id=None, name="later")],
        [(None, "later")],
    ),
    "change types are compared without case": (
        [change("INSERT", "1", id=1, name="x"), change("Delete", "2", id=1), change("INSERT", "1", id=2, name="kept")],
        [(2, "kept")],
    ),
    "a change of unknown kind is no deletion": ([change("SOMETHING", "1", id=1, name="kept")], [(1, "kept")]),
    "all columns may be NULL": ([change("INSERT", "1", id=1, name=None)], [(1, None)]),
}
"""What goes wrong with the SQL in common use: changes, and who is there at the end."""
