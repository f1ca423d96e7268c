"""The latest state of change logs: the query of the view, compared with an oracle and with a known truth."""

from __future__ import annotations

from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE, PROBLEMS, change, land_changes, oracle
from support.merge_shop import Shop
from support.sweeps import sweep
from support.typed_shop import PARTS, held, held_types, land_workload, shown, texts, truth
from support.zetasql_judge import Judge

from onefold.changelog.generator import WorkloadOptions, make_workload
from onefold.changelog.metadata import METADATA
from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId
from onefold.refresh.write import refresh
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.settings.environment import Settings
from onefold.views.current_view import current_query
from onefold.views.unified_kind import UnifiedKind
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

CUSTOMER = {"id": "INT64", "name": "STRING"}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_problems_of_the_sql_in_common_use(dataset: EmulatedDataset, problem: str) -> None:
    changes, expected = PROBLEMS[problem]
    land_changes(dataset, "customer", CUSTOMER, [{"name": None, **row} for row in changes])
    assert read(dataset, "customer", columns(CUSTOMER), "id") == expected


@pytest.mark.parametrize(
    "options",
    sweep(
        [
            WorkloadOptions(operations=200),
            WorkloadOptions(operations=200, shuffle=True, duplicates=0.3, key_changes=0.2),
            WorkloadOptions(operations=200, shuffle=True, same_second=True, unpadded=True),
            WorkloadOptions(operations=200, shuffle=True, backfill=True, duplicates=0.1),
            WorkloadOptions(
                operations=200,
                shuffle=True,
                versions=3,
                key_changes=0.1,
                unpadded=True,
                backfill=True,
                same_second=True,
                duplicates=0.1,
            ),
        ]
    ),
    ids=["plain", "duplicates and key changes", "equal times", "backfill", "everything"],
)
def test_the_latest_state_of_a_workload_is_its_truth(dataset: EmulatedDataset, options: WorkloadOptions) -> None:
    workload, part = make_workload(options), options.versions % len(PARTS)
    shop = Shop(dataset)
    land_workload(shop, workload, part)
    warehouse = EmulatedWarehouse(dataset.client)
    plan = refresh(UnifiedKind(warehouse, TableId(DEFAULT_PROJECT, dataset.name, "customer"), Settings()))
    assert plan.view

    query = current_query(TableId(DEFAULT_PROJECT, dataset.name, "customer_unified"), plan.view.columns, ["id"])
    types = held_types(workload, part)
    assert shown(shop, f"({query})", types) == truth(workload, part)
    changes = [held(row, part) for rows in workload.changes.values() for row in rows]
    assert texts(oracle(changes, ["id"], types), types) == truth(workload, part)


def test_the_article_s_experiment_ends_with_188_rows(dataset: EmulatedDataset) -> None:
    """1,000 operations, 382 insertions and 194 deletions among them."""
    kinds = ["INSERT"] * 382 + ["DELETE"] * 194 + ["UPDATE-INSERT"] * 424
    changes = [
        change(
            kind,
            f"{place:X}",
            id=place + 1 if kind == "INSERT" else (place - 382) % 194 + 1 if kind == "DELETE" else 300,
            name=kind,
        )
        for place, kind in enumerate(kinds)
    ]
    land_changes(dataset, "customer", CUSTOMER, changes)
    found = read(dataset, "customer", columns(CUSTOMER), "id")
    assert len(found) == 382 - 194 == 188
    assert found == sorted(tuple(row.values()) for row in oracle(changes, ["id"]))


def test_the_analyzer_accepts_the_query_with_the_columns_of_the_source(judge: Judge) -> None:
    landed = {
        "id": "INT64",
        "tenant": "STRING",
        "_Rank": "INT64",
        "order": "STRUCT<`select` INT64>",
        METADATA: METADATA_TYPE,
    }
    query = current_query(TableId("p", "d", "t"), columns(landed), ["id", "tenant"])
    assert judge.columns(query, {"p.d.t": list(landed.items())}) == [
        ("id", "INT64"),
        ("tenant", "STRING"),
        ("_Rank", "INT64"),
        ("order", "STRUCT<select INT64>"),
    ]


def test_a_log_without_sort_keys_and_identifiers_has_a_latest_state_too(judge: Judge) -> None:
    kind = "STRUCT<source_timestamp INT64, change_sequence_number STRING, change_type STRING>"
    query = current_query(TableId("p", "d", "t"), columns({"id": "INT64", METADATA: kind}), ["ID"])
    rows = " UNION ALL ".join(
        f"SELECT {key} AS id, STRUCT({time} AS source_timestamp, '{sequence}' AS change_sequence_number, "
        f"'{change_type}' AS change_type) AS {METADATA}"
        for key, time, sequence, change_type in ((1, 1, "9", "INSERT"), (1, 1, "A", "DELETE"), (2, 1, "B", "INSERT"))
    )
    assert judge.rows(query, {"p.d.t": [("id", "INT64"), (METADATA, kind)]}, {"p.d.t": rows}) == [(2,)]


@pytest.mark.parametrize(
    ("landed", "keys", "problem"),
    [
        ({"id": "INT64"}, ["id"], f"no column {METADATA} of type STRUCT"),
        ({"id": "INT64", METADATA: "STRING"}, ["id"], f"no column {METADATA} of type STRUCT"),
        ({"id": "INT64", METADATA: "STRUCT<change_type STRING>"}, ["id"], "no field change_sequence_number"),
        ({"id": "INT64", METADATA: METADATA_TYPE.replace("timestamp INT64", "timestamp STRING")}, ["id"], "is STRING"),
        ({"id": "INT64", METADATA: METADATA_TYPE}, [], "name the columns of the key"),
        ({"id": "INT64", METADATA: METADATA_TYPE}, ["number"], "no column number for the key; it has id"),
        ({"id": "FLOAT64", METADATA: METADATA_TYPE}, ["id"], "no equality to group rows by"),
        ({"id": "ARRAY<INT64>", METADATA: METADATA_TYPE}, ["id"], "no equality to group rows by"),
    ],
)
def test_everything_that_keeps_a_table_from_a_latest_state_is_named(
    landed: dict[str, str], keys: list[str], problem: str
) -> None:
    with pytest.raises(SchemaConflict, match=problem):
        current_query(TableId("p", "d", "customer"), columns(landed), keys)


def test_all_problems_are_in_one_error() -> None:
    with pytest.raises(SchemaConflict) as raised:
        current_query(TableId("p", "d", "t"), columns({"a": "JSON", METADATA: "STRUCT<uuid STRING>"}), ["a", "b"])
    assert len(raised.value.problems) == 5


def columns(landed: dict[str, str]) -> list[Column]:
    with_metadata = landed if METADATA in landed or len(landed) == 1 else {**landed, METADATA: METADATA_TYPE}
    return [Column(name, parse_type(type_)) for name, type_ in with_metadata.items()]


def read(dataset: EmulatedDataset, table: str, known: Any, key: str) -> list[tuple[Any, ...]]:
    query = current_query(TableId(DEFAULT_PROJECT, dataset.name, table), known, [key])
    return sorted(dataset.run(query), key=lambda row: (row[0] is not None, row))
