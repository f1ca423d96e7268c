"""What the tests of clean views share: the datasets beside a dataset of the emulator, a key, and the clean view."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.functions import RefreshView

from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys
from onefold.core.hash_key import HashKey
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.schema.table_rules import TableRules
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

KEY = HashKey(b"thirty-two bytes of a secret key")
BY_ID = TableRules(keys=("id",), overlap_minutes=0)


def policies(**rules: str) -> ColumnPolicies:
    """Policies of columns of every table: `address__zip="clear"`."""
    made = (PolicyRule("*", name.replace("__", "."), Action[action.upper()]) for name, action in rules.items())
    return ColumnPolicies(tuple(made))


class CleanShop:
    """A dataset with its datasets of clean views and keys, and the function that keeps its views."""

    def __init__(self, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dataset, self._monkeypatch = dataset, monkeypatch
        self.client: bigquery.Client = dataset.client
        self.warehouse = EmulatedWarehouse(dataset.client)
        self.client.create_dataset(f"{dataset.name}__views_clean")
        self.client.create_dataset(f"{dataset.name}__keys")

    @property
    def base(self) -> TableId:
        return TableId(DEFAULT_PROJECT, self.dataset.name, "customer")

    @property
    def key_table(self) -> TableId:
        return TableId(DEFAULT_PROJECT, f"{self.dataset.name}__keys", "hash_key")

    def write_key(self, key: HashKey = KEY, *, replace: bool = False) -> None:
        BigQueryHashKeys(self.client).write(self.key_table, key, replace=replace)

    def function(self, **rules: str) -> RefreshView:
        return RefreshView(self.dataset, self._monkeypatch, rules=BY_ID, policies=policies(**rules))

    def stored(self) -> StoredView | None:
        return self.warehouse.get_view(TableId(DEFAULT_PROJECT, f"{self.dataset.name}__views_clean", "customer"))

    def view(self) -> StoredView:
        found = self.stored()
        assert found is not None
        return found

    def rows(self) -> list[tuple[Any, ...]]:
        return self.dataset.run(f"SELECT * FROM `{DEFAULT_PROJECT}.{self.dataset.name}__views_clean.customer` ORDER BY 1")
