"""`onefold discover`: tables of several tools in the embedded BigQuery, and a draft that the strict loader takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.existing_tables import APPEND_METADATA

from onefold.settings.yaml_file import read_tables_file


@pytest.fixture
def others(dataset: EmulatedDataset) -> EmulatedDataset:
    """Tables of Datastream, Fivetran and dlt, with the schema that dlt stores."""
    dataset.land("orders", {"id": "INT64", "datastream_metadata": APPEND_METADATA})
    dataset.land("customers", {"id": "INT64", "_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"})
    dataset.land(
        "events",
        {"id": "INT64", "score": "INT64", "score__v_double": "FLOAT64", "_dlt_id": "STRING", "_dlt_load_id": "STRING"},
    )
    schema = '{"tables": {"events": {"write_disposition": "append", "columns": {"id": {"primary_key": true}}}}}'
    columns = {"schema_name": "STRING", "inserted_at": "TIMESTAMP", "schema": "STRING"}
    dataset.land(
        "_dlt_version", columns, f"'shop', TIMESTAMP '2026-01-01', '{schema}'", "'shop', TIMESTAMP '2025-01-01', '{}'"
    )
    return dataset


def test_a_dataset_is_recognised_drafted_and_left_as_it_was(run: Run, others: EmulatedDataset, tmp_path: Path) -> None:
    done = run("discover", others.name, "--json", "--output", "draft.yaml")
    assert done.code == 0, done.err
    assert {one["table"].split(".")[-1]: (one["tool"], one["form"], one["rows"], one["key"]) for one in done.results} == {
        "orders": ("Datastream", "append-only", "history", []),
        "customers": ("Fivetran", "SOFT_DELETE", "current", []),
        "events": ("dlt", "append", "history", ["id"]),
        "_dlt_version": ("dlt", "own", "own", []),
    }
    assert "in which tools note keys" in done.err
    declared = read_tables_file(tmp_path / "draft.yaml").tables
    assert {name: (rules.tool, rules.rows, rules.keys) for name, rules in declared.items()} == {
        f"{others.name}.customers": ("Fivetran", "current", ()),
        f"{others.name}.events": ("dlt", "history", ("id",)),
    }
    assert {table.table_id for table in others.client.list_tables(others.name)} == {
        "orders",
        "customers",
        "events",
        "_dlt_version",
    }
    shown = run("discover", f"{others.name}.c*")
    assert ("customers" in shown.out, "orders" in shown.out, "1 table, 0 with history" in shown.out) == (True, False, True)
    refused = run("discover", others.name, "--output", "draft.yaml")
    assert (refused.code, "exists already" in refused.err) == (1, True)


def test_the_query_of_current_rows_joins_variants_and_leaves_deleted_rows_out(run: Run, others: EmulatedDataset) -> None:
    others.run(f"INSERT INTO {others.quoted('customers')} VALUES (1, NULL, FALSE), (2, NULL, TRUE)")
    others.run(
        f"INSERT INTO {others.quoted('events')} VALUES (1, 5, NULL, 'a', '1700000000.5'), "
        "(1, NULL, 2.5, 'b', '1700000000.57'), (2, 7, NULL, 'c', '1699999999.9')"
    )
    queries = {one["table"].split(".")[-1]: one["current"] for one in run("discover", others.name, "--json").results}
    assert queries["orders"] is None  # no key is known
    assert others.run(queries["customers"]) == [(1,)]
    assert sorted(others.run(queries["events"])) == [(1, "2.5", "b"), (2, "7", "c")]


@pytest.mark.parametrize("words", [[], ["shop."], ["--dataset", ""]])
def test_a_dataset_has_to_be_named(run: Run, words: list[str]) -> None:
    refused = run("discover", *words)
    assert (refused.code, "no dataset is named" in refused.err) == (1, True)


def test_a_dataset_that_does_not_exist_is_an_error(run: Run, dataset: EmulatedDataset) -> None:
    refused = run("discover", f"{dataset.name}_no")
    assert (refused.code, f"{dataset.name}_no" in refused.err) == (1, True)
