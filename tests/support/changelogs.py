"""What the tests of the latest state share: changes, what goes wrong with them, and change tables in the emulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.oracle import Row, digest_of, is_deletion, oracle, source_row

from onefold.changelog.generator import METADATA_TYPE
from onefold.changelog.metadata import METADATA
from onefold.changelog.position import Position

__all__ = ("METADATA_TYPE", "PROBLEMS", "Row", "change", "land_changes", "oracle", "position_of")


def position_of(change: Row) -> str:
    """The text that a base stores as the position of a change; no oracle orders by it."""
    metadata = change[METADATA]
    return str(
        Position(
            sequence=metadata["change_sequence_number"],
            timestamp=metadata["source_timestamp"],
            sort_keys=tuple(metadata["sort_keys"]),
            deleted=is_deletion(change),
            tie_break=f"{metadata['uuid'] or ''} {digest_of(source_row(change))}",
        )
    )


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


PROBLEMS: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
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
    "a place of SQL Server is one number of twenty digits": (
        [
            change("UPDATE-INSERT", "0000002D00000AC0001A", id=1, name="later"),
            change("INSERT", "0000002D00000AC00015", id=1, name="x"),
        ],
        [(1, "later")],
    ),
    "sections may have more than sixteen digits": (
        [change("UPDATE-INSERT", "1" + "0" * 31, id=1, name="later"), change("INSERT", "F" * 31, id=1, name="x")],
        [(1, "later")],
    ),
    "there may be more than four sections": (
        [change("UPDATE-INSERT", "1/2/3/4/A", id=1, name="later"), change("INSERT", "1/2/3/4/9", id=1, name="x")],
        [(1, "later")],
    ),
    "a row's place in Oracle's log is three numbers": (
        [
            change("UPDATE-INSERT", "5", sort_keys=["5", " 0x000010.00000001.0010 ", "1"], id=1, name="later"),
            change("INSERT", "5", sort_keys=["5", " 0x00000f.00012345.0010 ", "2"], id=1, name="x"),
        ],
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
