"""Entries of the ledger for keys, contracts and policies of onefold.yaml: one for each view that they change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.clean_shop import CleanShop, policies
from support.contract_views import contracts
from support.functions import RefreshView
from support.ledgers import StoredLedger
from support.merge_shop import CUSTOMER, Shop

from onefold.schema.table_rules import TableRules

BY_ID = TableRules(keys=("id",), overlap_minutes=0)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"rules": replace(BY_ID, keys=("id", "name"))}, "keys"),
        ({"rules": BY_ID, "contracts": contracts("review")}, "contract.new_columns"),
    ],
    ids=["a key", "a contract"],
)
def test_a_key_and_a_contract_of_onefold_yaml_are_entries(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], name: str
) -> None:
    stored = StoredLedger(dataset)
    Shop(dataset).create("a1", CUSTOMER)
    RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID).deliver("a1")
    for _ in range(2):
        RefreshView(dataset, monkeypatch, stored.ledger, **changed).deliver()
    _, *entries = stored.entries()
    assert {one.origin for one in entries} == {"settings"}
    assert {change.name for one in entries for change in one.settings} == {name}
    views = [effect.view.rpartition(".")[2] for one in entries for effect in one.effects]
    assert len(views) == len(set(views))
    assert "customer_current" in views


def test_a_policy_of_onefold_yaml_is_an_entry_of_the_clean_view(
    dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = StoredLedger(dataset)
    assert CleanShop(dataset, monkeypatch).stored() is None
    Shop(dataset).create("a1", CUSTOMER)
    for action in ("clear", "drop", "drop"):
        by = policies(id="clear", name=action)
        RefreshView(dataset, monkeypatch, stored.ledger, rules=BY_ID, policies=by).deliver()
    _, entry = stored.entries()
    assert (entry.origin, [change.name for change in entry.settings]) == ("settings", ["policies"])
    (effect,) = entry.effects
    assert (effect.view.split(".", 1)[1], effect.kind, effect.path) == (
        f"{dataset.name}__views_clean.customer", "removed", "name",
    )  # fmt: skip
