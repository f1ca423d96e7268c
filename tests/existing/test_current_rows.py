"""The query of current rows, against an oracle: random changes, written as each tool is documented to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.existing_tables import APPEND_METADATA, schema

from onefold.core.names import TableId
from onefold.existing.current_query import current_query
from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

pytestmark = pytest.mark.emulator
FEW = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SOURCE = {"id": "INT64", "name": "STRING"}
AT = "TIMESTAMP '2026-01-01'"


@dataclass(frozen=True)
class Change:
    """A change with a place in the source that no other change of the history has."""

    place: int
    id: int
    deleted: bool

    @property
    def values(self) -> str:
        return f"{self.id}, 'n{self.place}'"


CHANGES = st.lists(
    st.builds(Change, st.integers(0, 5_000), st.integers(1, 4), st.booleans()),
    min_size=1,
    max_size=15,
    unique_by=lambda c: c.place,
)


def last_of_each_key(changes: list[Change]) -> list[tuple[object, ...]]:
    """The oracle: the change of each key with the greatest place, unless it deletes the key."""
    last = {change.id: change for change in sorted(changes, key=lambda change: change.place)}
    return sorted((one.id, f"n{one.place}") for one in last.values() if not one.deleted)


def current_rows(
    dataset: EmulatedDataset, columns: dict[str, str], rows: list[str], name: str = "t"
) -> list[tuple[object, ...]]:
    fields = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
    dataset.run(f"CREATE OR REPLACE TABLE {dataset.quoted(name)} ({fields})")
    if rows:
        dataset.run(f"INSERT INTO {dataset.quoted(name)} VALUES {', '.join(f'({row})' for row in rows)}")
    table = ExistingTable(name, schema(columns), ("id",))
    query = current_query(TableId(DEFAULT_PROJECT, dataset.name, name), table, recognise(table))
    return sorted(row[:2] for row in dataset.run(str(query)))


def mark(change: Change) -> str:
    return "'2026-01-02'" if change.deleted else "NULL"


def datastream(change: Change) -> str:
    type_ = "UPDATE-DELETE" if change.deleted else "UPDATE-INSERT"
    fields = f"'u' AS uuid, 1 AS source_timestamp, '{change.place:X}' AS change_sequence_number, '{type_}' AS change_type"
    return f"{change.values}, STRUCT({fields}, CAST([] AS ARRAY<STRING>) AS sort_keys)"


def airbyte_of_mysql(change: Change) -> str:
    file, position = divmod(change.place, 7)  # bin.9 comes before bin.10, and bin.99 before bin.100
    return f"{change.values}, 'r', {AT}, 'bin.{file}', {position}, {mark(change)}"


def dataflow_of_postgresql(change: Change) -> str:
    return f"{change.values}, {AT}, {change.deleted}, '{change.place // 256:X}/{change.place % 256:X}'"


def envelope(change: Change) -> str:
    row = f"STRUCT({change.id} AS id, 'n{change.place}' AS name)"
    nothing = "CAST(NULL AS STRUCT<id INT64, name STRING>)"
    before, after, op = (row, nothing, "d") if change.deleted else (nothing, row, "u")
    return f"{before}, {after}, '{op}', 1, STRUCT({change.place} AS lsn)"


def oracle(change: Change) -> tuple[str, str, int]:
    """Return SCN, rs_id and ssn, as Debezium writes them: three changes of one SCN and more differ in the place alone."""
    scn, place = divmod(change.place, 1_000)
    return f"'{scn}'", f"' 0x0001.{place // 2:x}.0010 '", place % 2


def envelope_of_oracle(change: Change) -> str:
    scn, rs_id, ssn = oracle(change)
    source = f"STRUCT({scn} AS scn, {scn} AS commit_scn, {rs_id} AS rs_id, {ssn} AS ssn)"
    return f"{envelope(change).rpartition(', STRUCT(')[0]}, {source}"


def flattened_of_oracle(change: Change) -> str:
    return f"{change.values}, '{str(change.deleted).lower()}', {', '.join(map(str, oracle(change)))}"


_AIRBYTE = {"_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP"}
_ROW = "STRUCT<id INT64, name STRING>"
ROW_FOR_EACH_CHANGE: dict[str, tuple[dict[str, str], Callable[[Change], str]]] = {
    "Datastream": ({**SOURCE, "datastream_metadata": APPEND_METADATA}, datastream),
    "Airbyte of MySQL": (
        {**SOURCE, **_AIRBYTE, "_ab_cdc_log_file": "STRING", "_ab_cdc_log_pos": "INT64", "_ab_cdc_deleted_at": "STRING"},
        airbyte_of_mysql,
    ),
    "Airbyte of PostgreSQL": (
        {**SOURCE, **_AIRBYTE, "_ab_cdc_lsn": "NUMERIC", "_ab_cdc_deleted_at": "STRING"},
        lambda change: f"{change.values}, 'r', {AT}, {change.place}, {mark(change)}",
    ),
    "Dataflow of PostgreSQL": (
        {**SOURCE, "_metadata_timestamp": "TIMESTAMP", "_metadata_deleted": "BOOL", "_metadata_lsn": "STRING"},
        dataflow_of_postgresql,
    ),
    "Debezium, envelope": (
        {"before": _ROW, "after": _ROW, "op": "STRING", "ts_ms": "INT64", "source": "STRUCT<lsn INT64>"}, envelope,
    ),
    "Debezium of Oracle, envelope": (
        {
            "before": _ROW, "after": _ROW, "op": "STRING", "ts_ms": "INT64",
            "source": "STRUCT<scn STRING, commit_scn STRING, rs_id STRING, ssn INT64>",
        },
        envelope_of_oracle,
    ),
    "Debezium of Oracle, flattened": (
        {**SOURCE, "__deleted": "STRING", "__source_scn": "STRING", "__source_rs_id": "STRING", "__source_ssn": "INT64"},
        flattened_of_oracle,
    ),
    "Debezium, flattened": (
        {**SOURCE, "__deleted": "STRING", "__source_lsn": "INT64"},
        lambda change: f"{change.values}, '{str(change.deleted).lower()}', {change.place}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", ROW_FOR_EACH_CHANGE)
@given(CHANGES)
@FEW
def test_the_last_change_of_each_key_is_shown_unless_it_is_a_deletion(
    dataset: EmulatedDataset, tool: str, changes: list[Change]
) -> None:
    columns, row = ROW_FOR_EACH_CHANGE[tool]
    name = "t_log" if tool.startswith("Dataflow") else "t"
    assert current_rows(dataset, columns, list(map(row, changes)), name) == last_of_each_key(changes)


@given(CHANGES)
@FEW
def test_a_load_of_dlt_that_began_later_wins_and_has_no_deletions(dataset: EmulatedDataset, changes: list[Change]) -> None:
    columns = {**SOURCE, "_dlt_id": "STRING", "_dlt_load_id": "STRING"}
    kept = [replace(change, deleted=False) for change in changes]
    rows = [f"{one.values}, 'x', '{1_699_999_999 + one.place // 100}.{one.place % 100:02d}'" for one in kept]
    assert current_rows(dataset, columns, rows) == last_of_each_key(kept)


def periods(changes: list[Change]) -> Iterator[tuple[Change, int | None]]:
    """Yield each state of a key with the place at which it ended; None for one that is there still."""
    for id_ in {change.id for change in changes}:
        own = sorted((change for change in changes if change.id == id_), key=lambda change: change.place)
        for change, following in zip(own, [*own[1:], None], strict=True):
            if not change.deleted:
                yield change, following.place if following else None


def time(place: int | None) -> str:
    return "NULL" if place is None else f"TIMESTAMP_SECONDS({place})"


@pytest.mark.parametrize("tool", ["Fivetran", "dlt"])
@given(CHANGES)
@FEW
def test_a_history_of_periods_shows_the_rows_whose_period_has_not_ended(
    dataset: EmulatedDataset, tool: str, changes: list[Change]
) -> None:
    if tool == "Fivetran":
        added = {
            "_fivetran_start": "TIMESTAMP",
            "_fivetran_end": "TIMESTAMP",
            "_fivetran_active": "BOOL",
            "_fivetran_synced": "TIMESTAMP",
        }
        rows = [f"{one.values}, {time(one.place)}, {time(end)}, {end is None}, {AT}" for one, end in periods(changes)]
    else:
        added = {"_dlt_valid_from": "TIMESTAMP", "_dlt_valid_to": "TIMESTAMP", "_dlt_id": "STRING"}
        rows = [f"{one.values}, {time(one.place)}, {time(end)}, 'x'" for one, end in periods(changes)]
    assert current_rows(dataset, {**SOURCE, **added}, rows) == last_of_each_key(changes)


@given(CHANGES, st.integers(1, 3))
@FEW
def test_stitch_shows_the_greatest_sequence_of_each_key_in_the_newest_version(
    dataset: EmulatedDataset, changes: list[Change], versions: int
) -> None:
    def version(change: Change) -> int:
        return change.id % versions  # a version may well have a lower sequence than an earlier one

    columns = {
        **SOURCE, "_sdc_sequence": "INT64", "_sdc_batched_at": "TIMESTAMP", "_sdc_table_version": "INT64",
        "_sdc_deleted_at": "STRING",
    }  # fmt: skip
    rows = [f"{one.values}, {one.place}, {AT}, {version(one)}, {mark(one)}" for one in changes]
    newest = max(map(version, changes))
    assert current_rows(dataset, columns, rows) == last_of_each_key([one for one in changes if version(one) == newest])


@pytest.mark.parametrize("tool", ["Airbyte of PostgreSQL", "Debezium, flattened"])
def test_of_a_deletion_and_a_row_with_the_same_place_the_row_is_shown(dataset: EmulatedDataset, tool: str) -> None:
    columns, row = ROW_FOR_EACH_CHANGE[tool]
    same = [Change(7, 1, deleted=True), Change(7, 1, deleted=False)]
    assert current_rows(dataset, columns, list(map(row, same))) == [(1, "n7")]
