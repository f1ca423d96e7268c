"""The commands of change logs: exit codes, standard output and standard error."""

from __future__ import annotations

from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE, change, land_changes
from support.cli import Run

CUSTOMER = {"id": "INT64", "name": "STRING"}


def test_current_creates_a_view_of_the_latest_rows_of_one_change_table(run: Run, dataset: EmulatedDataset) -> None:
    changes = [change("INSERT", "1", id=1, name="a"), change("INSERT", "2", id=2, name="b"), change("DELETE", "3", id=1)]
    land_changes(dataset, "customer", CUSTOMER, [{"name": None, **row} for row in changes])
    outcome = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert (outcome.code, outcome.out) == (
        0,
        f"local.{dataset.name}.customer_current created, over local.{dataset.name}.customer\n",
    )
    assert dataset.rows("customer_current") == [(2, "b")]
    assert "is up to date" in run("current", f"{dataset.name}.customer", "--keys", "id").out


def test_current_reads_all_versions_of_a_table_in_the_unified_types(run: Run, dataset: EmulatedDataset) -> None:
    land_changes(dataset, "customer_v_a", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    land_changes(
        dataset, "customer_v_b", {"id": "STRING", "email": "STRING"}, [change("UPDATE-INSERT", "2", id="1", email="e")]
    )
    made = run("current", f"{dataset.name}.customer", "--keys", "id", "--json")
    assert made.code == 0
    again = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert (
        again.out
        == f"local.{dataset.name}.customer_current is up to date, over 2 versions of local.{dataset.name}.customer\n"
    )
    assert made.result["source"] == f"local.{dataset.name}.customer"
    assert dataset.rows("customer_current") == [("1", None, "e")]


def test_current_does_not_replace_a_view_that_people_wrote(run: Run, dataset: EmulatedDataset) -> None:
    land_changes(dataset, "customer", CUSTOMER, [change("INSERT", "1", id=1, name="a")])
    dataset.run(f"CREATE VIEW {dataset.quoted('customer_current')} AS SELECT 7 AS mine")
    outcome = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert outcome.code == 1
    assert "not written by `onefold current`" in outcome.err
    assert dataset.rows("customer_current") == [(7,)]


def test_current_reports_all_problems_and_writes_nothing(run: Run, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64", "datastream_metadata": METADATA_TYPE.replace("uuid STRING", "uuid INT64")})
    outcome = run("current", f"{dataset.name}.customer", "--keys", "number,tenant")
    assert outcome.code == 1
    assert outcome.out == ""
    assert "no column number" in outcome.err
    assert "no column tenant" in outcome.err
    assert not [item for item in dataset.client.list_tables(dataset.name) if item.table_id == "customer_current"]


def test_current_without_a_table_or_versions_reports_the_names_it_looked_for(run: Run, dataset: EmulatedDataset) -> None:
    outcome = run("current", f"{dataset.name}.customer", "--keys", "id")
    assert outcome.code == 1
    assert f"there is no change table local.{dataset.name}.customer" in outcome.err
    assert "customer_v_" in outcome.err
