"""A view that was dropped is made anew as the contract left it: what waits by the ledger stays hidden or keeps its type."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

REVIEW = 'contracts: {"*": {new_columns: review, types: review}}'


@pytest.fixture
def shop(dataset: EmulatedDataset, run: Run, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """A table with a ledger and a contract, whose second version brought a column and a type that wait."""
    Path("onefold.yaml").write_text(REVIEW, "utf-8")
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    assert run("changes", "create").code == 0
    dataset.land("order_v_1", {"id": "INT64", "amount": "INT64"}, "1, 7")
    assert run("refresh", f"{dataset.name}.order").code == 0
    dataset.land("order_v_2", {"id": "INT64", "amount": "STRING", "email": "STRING"}, "2, 'many', 'e'")
    assert run("refresh", f"{dataset.name}.order").code == 0
    return dataset


def made_anew(run: Run, shop: EmulatedDataset) -> list[tuple[object, ...]]:
    shop.client.delete_table(f"{shop.client.project}.{shop.name}.order_unified")
    assert run("refresh", f"{shop.name}.order").code == 0
    return sorted(shop.rows("order_unified"), key=str)


def waiting(run: Run, shop: EmulatedDataset) -> dict[str, str]:
    (entry,) = run("plan", f"{shop.name}.order", "--json").results
    return {one["path"]: one["id"] for one in entry["waiting_changes"]}


HELD, SHOWN = [(1, 7), (2, None)], [(1, "7", None), (2, "many", "e")]


def test_what_waits_is_held_in_a_view_that_was_dropped(run: Run, shop: EmulatedDataset) -> None:
    before = waiting(run, shop)
    assert made_anew(run, shop) == HELD
    assert waiting(run, shop) == before
    assert run("changes", "accept", before["email"]).code == 0
    assert sorted(shop.rows("order_unified"), key=str) == made_anew(run, shop) == SHOWN


def test_what_was_rejected_is_held_too_and_a_contract_that_is_lifted_holds_nothing(run: Run, shop: EmulatedDataset) -> None:
    assert run("changes", "reject", waiting(run, shop)["email"]).code == 0
    assert made_anew(run, shop) == HELD
    Path("onefold.yaml").unlink()
    assert made_anew(run, shop) == SHOWN


def test_a_field_that_was_rejected_of_a_struct_that_was_accepted_is_held(run: Run, shop: EmulatedDataset) -> None:
    shop.land("order_v_3", {"id": "INT64", "at": "STRUCT<city STRING, ssn STRING>"}, "3, STRUCT('Rome', '1')")
    assert run("refresh", f"{shop.name}.order").code == 0
    for verdict, path in (("reject", "at.ssn"), ("accept", "at")):
        assert run("changes", verdict, waiting(run, shop)["at"], f"{shop.name}.order", "--column", path).code == 0
    assert made_anew(run, shop)[-1] == (3, None, {"city": "Rome"})


def test_a_type_is_held_when_the_version_that_had_it_is_gone_too(run: Run, shop: EmulatedDataset) -> None:
    shop.run(f"DROP TABLE {shop.quoted('order_v_1')}")
    assert made_anew(run, shop) == [(2, None)]
    assert set(waiting(run, shop)) == {"amount", "email"}


def test_a_view_of_which_the_ledger_knows_nothing_shows_everything(run: Run, shop: EmulatedDataset) -> None:
    shop.run(f"DELETE FROM {shop.quoted('schema_changes')} WHERE TRUE")
    assert made_anew(run, shop) == SHOWN


@pytest.mark.parametrize("rule", ["hide", "review"])
def test_a_column_that_came_in_place_is_held(run: Run, shop: EmulatedDataset, rule: str) -> None:
    Path("onefold.yaml").write_text(f'contracts: {{"*": {{new_columns: {rule}, types: keep}}}}', "utf-8")
    table = shop.client.get_table(f"{shop.client.project}.{shop.name}.order_v_1")
    table.schema = [*table.schema, bigquery.SchemaField("ssn", "STRING")]
    shop.client.update_table(table, ["schema"])
    assert run("refresh", f"{shop.name}.order", "--accept-settings").code == 0
    found = run("changes", f"{shop.name}.order", "--json").results
    came = [(one["decision"], path["path"]) for one in found if one["change"] for path in one["operations"]]
    assert ("hidden" if rule == "hide" else "waiting", "ssn") in came
    assert made_anew(run, shop) == HELD


@pytest.mark.parametrize("more", ["", ", d STRING"])
def test_a_type_in_a_struct_is_kept_also_when_the_struct_becomes_text(run: Run, shop: EmulatedDataset, more: str) -> None:
    """In the ledger, the effect of a lossy cast in a struct names the column alone, beside another one of the entry."""
    value = "'y', 'd'" if more else "'y'"
    lands(run, shop, 3, "STRUCT<c BYTES>", "STRUCT(b'x')")
    Path("onefold.yaml").write_text(REVIEW.replace("types: review", "types: keep"), "utf-8")
    assert run("refresh", f"{shop.name}.order", "--accept-settings").code == 0
    assert run("changes", "accept", waiting(run, shop)["at"], f"{shop.name}.order", "--column", "at").code == 0
    lands(run, shop, 4, f"STRUCT<c STRING{more}>", f"STRUCT({value})")
    lands(run, shop, 5, "STRING", "'z'")
    assert [row[-1] for row in made_anew(run, shop)[2:]] == [{"c": b"x"}, {"c": b"y"}, None]


def lands(run: Run, shop: EmulatedDataset, number: int, type_: str, value: str) -> None:
    shop.land(f"order_v_{number}", {"id": "INT64", "at": type_}, f"{number}, {value}")
    assert run("refresh", f"{shop.name}.order").code == 0
