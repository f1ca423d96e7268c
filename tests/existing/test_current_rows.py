"""The query of current rows, against oracles that are written from the documentation of the tools."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.existing_tables import schema

from onefold.core.names import TableId
from onefold.existing.current_query import current_query
from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

pytestmark = pytest.mark.emulator
FEW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

STITCH = {
    "id": "INT64", "name": "STRING", "_sdc_sequence": "INT64", "_sdc_batched_at": "TIMESTAMP", "_sdc_table_version": "INT64",
    "_sdc_deleted_at": "STRING",
}  # fmt: skip
AIRBYTE = {
    "id": "INT64", "name": "STRING", "_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP",
    "_ab_cdc_log_file": "STRING", "_ab_cdc_log_pos": "INT64", "_ab_cdc_deleted_at": "STRING",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Change:
    """A change with a place in the source that no other change of the history has."""

    place: int
    id: int
    deleted: bool

    @property
    def name(self) -> str:
        return f"n{self.place}"


CHANGES = st.lists(
    st.builds(Change, st.integers(0, 5_000), st.integers(1, 4), st.booleans()),
    min_size=1,
    max_size=15,
    unique_by=lambda c: c.place,
)


def last_of_each_key(changes: list[Change]) -> list[tuple[int, str]]:
    """The oracle: the change of each key with the greatest place, unless it deletes the key."""
    last: dict[int, Change] = {}
    for change in sorted(changes, key=lambda change: change.place):
        last[change.id] = change
    return sorted((one.id, one.name) for one in last.values() if not one.deleted)


def current_rows(dataset: EmulatedDataset, columns: dict[str, str], rows: list[str]) -> list[Any]:
    fields = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
    dataset.run(f"CREATE OR REPLACE TABLE {dataset.quoted('t')} ({fields})")
    dataset.run(f"INSERT INTO {dataset.quoted('t')} VALUES {', '.join(f'({row})' for row in rows)}")
    table = ExistingTable("t", schema(columns), ("id",))
    query = current_query(TableId(DEFAULT_PROJECT, dataset.name, "t"), table, recognise(table))
    return sorted(dataset.run(str(query)))


@given(CHANGES, st.integers(1, 3))
@FEW
def test_stitch_shows_the_greatest_sequence_of_each_key_in_the_newest_version(
    dataset: EmulatedDataset, changes: list[Change], versions: int
) -> None:
    def version(change: Change) -> int:
        return change.id % versions  # a version may well have a lower sequence than an earlier one

    rows = [f"{c.id}, '{c.name}', {c.place}, TIMESTAMP '2026-01-01', {version(c)}, {deletion(c)}" for c in reversed(changes)]
    newest = max(map(version, changes))
    assert current_rows(dataset, STITCH, rows) == last_of_each_key([one for one in changes if version(one) == newest])


@given(CHANGES)
@FEW
def test_airbyte_orders_mysql_by_the_number_of_the_log_file_then_by_the_position(
    dataset: EmulatedDataset, changes: list[Change]
) -> None:
    def row(change: Change) -> str:
        file, position = divmod(change.place, 7)  # bin.9 comes before bin.10, and bin.99 before bin.100
        return f"{change.id}, '{change.name}', 'r', TIMESTAMP '2026-01-01', 'bin.{file}', {position}, {deletion(change)}"

    assert current_rows(dataset, AIRBYTE, [row(change) for change in changes]) == last_of_each_key(changes)


def deletion(change: Change) -> str:
    return "'2026-01-02'" if change.deleted else "NULL"
