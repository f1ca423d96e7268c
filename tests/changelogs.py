"""What the tests of the latest state share: an oracle of a dict and a loop, and change tables in the emulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emulator import EmulatedDataset

from onefold.changelog import DELETIONS, METADATA
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
    winners = (change for _, change in latest.values() if change[METADATA]["change_type"] not in DELETIONS)
    return [{name: value for name, value in winner.items() if name != METADATA} for winner in winners]


def position_of(change: Row) -> str:
    metadata = change[METADATA]
    return str(
        Position(
            sequence=metadata["change_sequence_number"],
            timestamp=metadata["source_timestamp"],
            sort_keys=tuple(metadata["sort_keys"]),
            deleted=metadata["change_type"] in DELETIONS,
            tie_break=metadata["uuid"] or "",
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
