"""A workload is the same for the same seed, and its log leads to its truth."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.oracle import oracle, text_of
from support.typed_values import comparable, plain_row

from onefold.changelog.generator import Workload, WorkloadOptions, check_options, make_workload
from onefold.changelog.generator_files import FORMATS, Format, type_in_parquet, value_in_parquet, write_workload
from onefold.changelog.generator_values import EXTREMES, TYPES
from onefold.changelog.metadata import METADATA
from onefold.compare.files import read_rows
from onefold.core.errors import InvalidInput
from onefold.schema.types import Array, Struct, parse_type

ROOT = Path(__file__).resolve().parents[2]
BIGQUERY = {
    "STRING", "BYTES", "BOOL", "INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC", "DATE", "TIME", "DATETIME", "TIMESTAMP",
    "INTERVAL", "JSON", "GEOGRAPHY", "RANGE<DATE>", "RANGE<DATETIME>", "RANGE<TIMESTAMP>",
}  # fmt: skip


def all_changes(workload: Workload) -> list[dict[str, Any]]:
    return [row for rows in workload.changes.values() for row in rows]


def test_the_same_options_make_the_same_workload() -> None:
    options = WorkloadOptions(key_changes=0.1, duplicates=0.2, shuffle=True, backfill=True, versions=3)
    assert make_workload(options) == make_workload(options)


def test_another_seed_makes_another_workload() -> None:
    assert make_workload(WorkloadOptions(seed=1)).truth != make_workload(WorkloadOptions(seed=2)).truth


def test_every_operation_is_one_change_and_a_change_of_key_is_two() -> None:
    workload = make_workload(WorkloadOptions(key_changes=0.5))
    assert len(all_changes(workload)) == sum(workload.counts.values()) + workload.counts["key change"]
    assert sum(workload.counts.values()) == 1000


def test_duplicates_are_the_same_changes_again() -> None:
    once, twice = make_workload(WorkloadOptions()), make_workload(WorkloadOptions(duplicates=1.0))
    assert [row for row in all_changes(once) for _ in range(2)] == all_changes(twice)


def test_a_backfill_overlaps_the_changes_and_has_no_sequence() -> None:
    rows = [
        row
        for row in all_changes(make_workload(WorkloadOptions(backfill=True)))
        if row[METADATA]["change_sequence_number"] is None
    ]
    assert rows
    assert len({row[METADATA]["source_timestamp"] for row in rows}) == 1
    assert len({row[METADATA]["uuid"] for row in rows}) == 1


def test_each_version_after_the_first_brings_a_column() -> None:
    workload = make_workload(WorkloadOptions(versions=3))
    assert [len(rows[0]) - len(TYPES) for rows in workload.changes.values()] == [4, 5, 6]
    assert all(len(row) - len(TYPES) == 5 for row in workload.truth)


def test_the_base_is_the_table_at_the_chosen_time() -> None:
    changes = all_changes(make_workload(WorkloadOptions()))
    base = make_workload(WorkloadOptions(base_at=300)).base
    assert base == sorted(oracle(changes[:300], ["id"], TYPES), key=lambda row: row["id"])
    assert make_workload(WorkloadOptions(base_at=0)).base == []


@pytest.mark.parametrize("mix", [(40, 40, 20), (100, 0, 0), (34, 33, 33), (10, 10, 80)])
def test_the_log_leads_to_the_truth(mix: tuple[int, int, int]) -> None:
    options = WorkloadOptions(operations=250, mix=mix, key_changes=0.1, duplicates=0.1)
    workload = make_workload(replace(options, shuffle=True, same_second=True, unpadded=True))
    assert sorted(oracle(all_changes(workload), ["id"], TYPES), key=lambda row: row["id"]) == workload.truth


def test_the_truth_comes_from_simulation_and_not_from_positions() -> None:
    """Deliveries in another order, twice, with other positions: the table at the source is the same."""
    plain = make_workload(WorkloadOptions())
    assert make_workload(WorkloadOptions(shuffle=True, duplicates=0.5, same_second=True, unpadded=True)).truth == plain.truth
    for name in ("generator", "generator_values"):
        tree = ast.parse((ROOT / "onefold" / "changelog" / f"{name}.py").read_text())
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not modules & {"onefold.changelog.position", "onefold.changelog.digest"}


def test_there_is_a_column_of_every_type_and_an_array_of_each() -> None:
    scalars = {str(type_) for type_ in map(parse_type, TYPES.values()) if not isinstance(type_, Array | Struct)}
    assert scalars == {*EXTREMES, "RANGE<DATE>", "RANGE<DATETIME>", "RANGE<TIMESTAMP>"}
    assert scalars == BIGQUERY
    assert {type_ for type_ in TYPES.values() if type_.startswith("ARRAY")} >= {f"ARRAY<{name}>" for name in scalars}
    assert {type_.split("<")[0] for name, type_ in TYPES.items() if name.startswith("s_")} == {"STRUCT"}


def test_every_extreme_value_and_null_occur() -> None:
    rows = all_changes(make_workload(WorkloadOptions(operations=2000)))
    for name, extremes in EXTREMES.items():
        found = [row[f"v_{name.lower()}"] for row in rows]
        assert {repr(value) for value in (*extremes, None)} <= set(map(repr, found)), name
        assert any(value not in extremes for value in found if value is not None) or name == "BOOL"
    for kind in ("date", "datetime", "timestamp"):
        ends = [(row[f"v_range_{kind}"]["start"], row[f"v_range_{kind}"]["end"]) for row in rows if row[f"v_range_{kind}"]]
        assert {(start is None, end is None) for start, end in ends} == {
            (a, b) for a in (True, False) for b in (True, False)
        }
        assert all(start < end for start, end in ends if start and end)
    assert any(row["s_each"]["string"] is None for row in rows if row["s_each"])
    assert all(row["s_nested"]["m"] is not None for row in rows if row["s_nested"])
    assert any(row["a_string"] == [] for row in rows)
    assert any(row["a_string"] is None for row in rows)


@pytest.mark.parametrize("name", ["v_range_date", "v_range_datetime", "v_range_timestamp"])
def test_a_range_in_parquet_is_the_text_that_bigquery_makes_of_it(name: str) -> None:
    type_, rows = parse_type(TYPES[name]), all_changes(make_workload(WorkloadOptions(operations=60)))
    assert all(value_in_parquet(row[name], type_) == text_of(row[name], type_) for row in rows)


def test_few_columns_are_a_key_a_name_and_an_amount() -> None:
    assert make_workload(WorkloadOptions(every_type=False)).types == {"id": "INT64", "name": "STRING", "amount": "INT64"}


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_holds_every_value_exactly(tmp_path: Path, form: Format) -> None:
    workload = make_workload(WorkloadOptions(operations=200, versions=2))
    write_workload(workload, tmp_path / "work", form)
    types = {name: parse_type(type_) for name, type_ in workload.types.items()}
    if form == "jsonl":
        text = (tmp_path / "work" / "truth.jsonl").read_text()
        assert [comparable(json.loads(line)) for line in text.split("\n")[:-1]] == [
            comparable(row) for row in workload.truth
        ]
        return
    stored = {name: type_in_parquet(type_) for name, type_ in types.items()}
    found = [comparable(plain_row(row, stored)) for row in read_rows(tmp_path / "work" / "truth.parquet")]
    assert found == [comparable({name: value_in_parquet(row[name], types[name]) for name in row}) for row in workload.truth]


def test_all_problems_of_options_are_reported_at_once() -> None:
    with pytest.raises(InvalidInput) as raised:
        check_options(WorkloadOptions(operations=0, mix=(50, 50, 50), key_changes=2, base_at=9))
    assert len(raised.value.problems) == 4
