"""Decisions are about columns, and never about what a change is found to have later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.sweeps import sweep

REVIEW = 'contracts: {"*": {new_columns: review, types: review}}'
BY_NUMBER = json.dumps("(?P<base>.+)_(?P<version>[0-9]+)")


@pytest.fixture
def ledger(dataset: EmulatedDataset, run: Run, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """A dataset with a contract and a ledger."""
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    Path("onefold.yaml").write_text(REVIEW, "utf-8")
    assert run("changes", "create").code == 0
    return dataset


@pytest.fixture
def order(ledger: EmulatedDataset, run: Run) -> EmulatedDataset:
    """A table with a view of its first version."""
    return lands(run, ledger, "1", id="INT64")


def lands(run: Run, order: EmulatedDataset, version: str, **columns: str) -> EmulatedDataset:
    order.land(f"order_v_{version}", columns)
    assert run("refresh", f"{order.name}.order").code == 0
    return order


def grows(run: Run, order: EmulatedDataset, table: str, name: str) -> None:
    stored = order.client.get_table(f"local.{order.name}.{table}")
    stored.schema = [*stored.schema, bigquery.SchemaField(name, "STRING")]
    order.client.update_table(stored, ["schema"])
    assert run("refresh", f"{order.name}.order").code == 0


def waiting(run: Run, order: EmulatedDataset) -> dict[str, str]:
    (entry,) = run("plan", f"{order.name}.order", "--json").results
    return {one["path"]: one["id"] for one in entry["waiting_changes"]}


def types(order: EmulatedDataset) -> dict[str, str]:
    found = order.client.query(f"SELECT * FROM {order.quoted('order_unified')} LIMIT 0").result()
    return {field.name: field.field_type for field in found.schema}


def shown(order: EmulatedDataset) -> list[str]:
    return [*types(order)]


def test_a_column_that_was_rejected_is_not_accepted_along_with_the_others(run: Run, order: EmulatedDataset) -> None:
    table = f"{lands(run, order, '2', id='INT64', email='STRING', zip='STRING').name}.order"
    id_ = waiting(run, order)["email"]
    assert run("changes", "reject", id_, table, "--column", "email").code == 0
    accepted = run("changes", "accept", id_, table)
    assert (accepted.code, shown(order)) == (0, ["id", "zip"])
    assert "email was rejected and is not accepted along: --column accepts it" in accepted.err
    assert run("changes", "accept", id_, table).code == 0  # all that is left was rejected, so that is meant
    assert shown(order) == ["id", "zip", "email"]


def test_a_field_of_a_new_struct_is_not_accepted_without_the_struct(run: Run, order: EmulatedDataset) -> None:
    table = f"{lands(run, order, '2', id='INT64', at='STRUCT<zip STRING, fax STRING>').name}.order"
    id_ = waiting(run, order)["at"]
    done = run("changes", "accept", id_, table, "--column", "at.zip")
    assert (done.code, shown(order)) == (1, ["id"])
    assert f"{table} does not show at: accept that, and reject the fields that views are not to show" in done.err
    assert run("changes", "reject", id_, table, "--column", "at.fax").code == 0
    assert run("changes", "accept", id_, table, "--column", "at").code == 0
    assert waiting(run, order) == {}


@pytest.mark.parametrize(
    ("contract", "waits", "left"),
    sweep([("new_columns: hide, types: review", "n", "email"), ("new_columns: review, types: keep", "email", "n")]),
)
def test_what_the_contract_holds_for_good_is_accepted_by_its_name_alone(
    run: Run, ledger: EmulatedDataset, contract: str, waits: str, left: str
) -> None:
    Path("onefold.yaml").write_text(f'contracts: {{"*": {{{contract}}}}}', "utf-8")
    lands(run, ledger, "1", id="INT64", n="INT64")
    table = f"{lands(run, ledger, '2', id='INT64', n='STRING', email='STRING').name}.order"
    ((path, id_),) = waiting(run, ledger).items()
    accepted = run("changes", "accept", id_, table)
    assert f"Warning: {left} is held by the contract and is not accepted along: --column accepts it" in accepted.err
    assert path == waits
    assert types(ledger).get(left) == {"email": None, "n": "INTEGER"}[left]
    assert run("changes", "accept", id_, table, "--column", left).code == 0
    assert types(ledger) == {"id": "INTEGER", "n": "STRING", "email": "STRING"}


@pytest.mark.parametrize("verdict", ["reject", None])
def test_what_was_not_accepted_stays_hidden_when_the_version_that_brought_it_is_gone(
    run: Run, order: EmulatedDataset, verdict: str | None
) -> None:
    table = f"{lands(run, order, '2', id='INT64', email='STRING').name}.order"
    if verdict:
        assert run("changes", verdict, waiting(run, order)["email"], table).code == 0
    lands(run, order, "3", id="INT64")
    lands(run, order, "4", id="INT64", email="STRING", zip="STRING")
    assert run("changes", "accept", waiting(run, order)["zip"], table).code == 0
    order.run(f"DROP TABLE {order.quoted('order_v_2')}")
    assert run("refresh", table).code == 0
    assert (shown(order), list(waiting(run, order))) == (["id", "zip"], [] if verdict else ["email"])


def fields(order: EmulatedDataset, column: str) -> list[str]:
    found = order.client.query(f"SELECT * FROM {order.quoted('order_unified')} LIMIT 0").result()
    return [part.name for field in found.schema if field.name == column for part in field.fields]


@pytest.mark.parametrize("verdict", ["reject", None])
def test_a_field_stays_hidden_when_a_later_type_of_its_struct_is_accepted(
    run: Run, ledger: EmulatedDataset, verdict: str | None
) -> None:
    order = lands(run, ledger, "1", at="STRUCT<city STRING>")
    table = f"{lands(run, order, '2', at='STRUCT<city STRING, ssn STRING>').name}.order"
    if verdict:
        assert run("changes", verdict, waiting(run, order)["at.ssn"], table).code == 0
    lands(run, order, "3", at="ARRAY<STRUCT<city STRING, ssn STRING>>")
    assert run("changes", "accept", waiting(run, order)["at"], table).code == 0
    order.run(f"DROP TABLE {order.quoted('order_v_2')}")
    assert run("refresh", table).code == 0
    assert (fields(order, "at"), list(waiting(run, order))) == (["city"], [] if verdict else ["at.ssn"])


def test_an_accept_of_the_text_of_a_struct_names_the_fields_that_it_shows(run: Run, ledger: EmulatedDataset) -> None:
    order = lands(run, ledger, "1", at="STRUCT<city STRING>")
    table = f"{lands(run, order, '2', at='STRUCT<city STRING, ssn STRING>').name}.order"
    assert run("changes", "reject", waiting(run, order)["at.ssn"], table).code == 0
    id_ = waiting(run, lands(run, order, "3", at="STRING"))["at"]
    dry = run("changes", "accept", id_, table, "--dry-run")
    assert "the text of a whole struct has at.ssn, which views did not show" in " ".join(dry.err.split())
    assert run("changes", "accept", id_, table, "--json").result["fields_in_text"] == ["at.ssn"]
    assert run("changes", "reject", id_, table, "--json").result["fields_in_text"] == []


def test_a_field_that_onefold_yaml_rejects_stays_so_when_its_struct_is_accepted(run: Run, order: EmulatedDataset) -> None:
    """The line in the file counts no longer when the version before is gone."""
    table = f"{lands(run, order, '2', id='INT64', at='STRUCT<city STRING, ssn STRING>').name}.order"
    id_ = waiting(run, order)["at"]
    text = REVIEW.replace("types", f'decisions: {{"{id_}": {{at.ssn: reject}}}}, types')
    Path("onefold.yaml").write_text(text, "utf-8")
    assert run("changes", "accept", id_, table).code == 0
    order.run(f"DROP TABLE {order.quoted('order_v_1')}")
    assert run("refresh", table).code == 0
    assert fields(order, "at") == ["city"]


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_a_table_that_gains_columns_has_a_decision_about_each(run: Run, ledger: EmulatedDataset, verdict: str) -> None:
    """The versions of tables of events are numbers, which say nothing of the columns."""
    order = ledger
    Path("onefold.yaml").write_text(f"datasets: {{{order.name}: {{version_pattern: {BY_NUMBER}}}}}\n{REVIEW}", "utf-8")
    order.land("order_1", {"id": "INT64"})
    assert run("refresh", f"{order.name}.order").code == 0
    grows(run, order, "order_1", "email")
    assert run("changes", verdict, waiting(run, order)["email"], f"{order.name}.order").code == 0
    grows(run, order, "order_1", "ssn")
    assert (shown(order), list(waiting(run, order))) == (["id", "email"] if verdict == "accept" else ["id"], ["ssn"])


def test_a_line_of_onefold_yaml_about_a_whole_change_comes_before_a_command(run: Run, order: EmulatedDataset) -> None:
    lands(run, order, "2", id="INT64", email="STRING")
    id_ = waiting(run, order)["email"]
    assert run("changes", "reject", id_, f"{order.name}.order").code == 0
    lands(run, order, "3", id="INT64", email="STRING", zip="STRING")
    Path("onefold.yaml").write_text(REVIEW.replace("}}", f", decisions: {{{id_}: accept}}}}}}"), "utf-8")
    assert run("refresh", f"{order.name}.order").code == 0
    assert shown(order) == ["id", "email"]


def test_a_version_that_somebody_alters_shows_no_more_than_was_accepted(run: Run, order: EmulatedDataset) -> None:
    lands(run, order, "2", id="INT64", email="STRING")
    assert run("changes", "accept", waiting(run, order)["email"], f"{order.name}.order").code == 0
    grows(run, order, "order_v_2", "ssn")
    assert shown(order) == ["id", "email"]


def test_nothing_is_accepted_that_onefold_yaml_rejects(run: Run, order: EmulatedDataset) -> None:
    """The line in the file is about the version before, too, and counts no longer when that is gone."""
    table = f"{lands(run, order, '2', id='INT64', email='STRING').name}.order"
    id_ = waiting(run, order)["email"]
    Path("onefold.yaml").write_text(REVIEW.replace("types", f'decisions: {{"{id_}": reject}}, types'), "utf-8")
    assert run("changes", "accept", id_, table).code == 1
    order.run(f"DROP TABLE {order.quoted('order_v_1')}")
    assert run("refresh", table).code == 0
    assert shown(order) == ["id"]
