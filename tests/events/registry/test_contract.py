"""Contracts at a registry: a schema that has a new column or another type is refused, and the error names the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.registries import schema

from onefold.adapters.folder_objects import FolderObjects
from onefold.core.errors import SchemaInvalid
from onefold.events.registry.open import open_registry_store
from onefold.events.registry.store import AdditionOutcome, RegistryStore
from onefold.schema.contract_rules import ContractRule, Contracts
from onefold.settings.registry import RegistrySettings


def registry(folder: Path, **keys: str) -> RegistryStore:
    """A registry under a contract of `com.acme/ad_*`, with the first version of a schema."""
    contracts = Contracts(tuple(ContractRule("com.acme/ad_*", key, value) for key, value in keys.items()))
    store = open_registry_store(str(folder), FolderObjects(folder), RegistrySettings(), contracts)
    store.add(schema("1-0-0", amount={"type": "integer"}))
    return store


def refused(store: RegistryStore, version: str, **properties: Any) -> list[tuple[str, str]]:
    with pytest.raises(SchemaInvalid) as raised:
        store.add(schema(version, **properties))
    return [tuple(problem.rsplit(": the contract of ", 1)) for problem in raised.value.problems]  # type: ignore[misc]


AMOUNT = {"type": "integer"}
EMAIL = {"type": "string", "maxLength": 100}


def test_a_new_column_is_refused_and_the_error_names_the_contract(tmp_path: Path) -> None:
    store = registry(tmp_path, new_columns="refuse")
    assert refused(store, "1-0-1", amount=AMOUNT, email=EMAIL) == [
        (
            "email: the column email STRING is new",
            "com.acme/ad_* in onefold.yaml refuses that (`new_columns: refuse`): remove it, or change the contract",
        )
    ]
    assert [str(entry.key.version) for entry in store.index().entries] == ["1-0-0"]


def test_another_type_is_refused_also_in_a_new_model(tmp_path: Path) -> None:
    store = registry(tmp_path, types="refuse")
    found = refused(store, "2-0-0", amount={"type": "string", "maxLength": 10})
    assert [text for text, _ in found] == ["amount: the column amount changes from INT64 to STRING"]
    assert store.add(schema("1-0-1", amount=AMOUNT, email=EMAIL)) is AdditionOutcome.ADDED


def test_a_new_model_with_a_new_column_is_refused_too(tmp_path: Path) -> None:
    found = refused(registry(tmp_path, new_columns="refuse"), "2-0-0", amount=AMOUNT, email=EMAIL)
    assert [text for text, _ in found] == ["email: the column email STRING is new"]


def test_what_is_there_may_be_added_again_and_other_schemas_are_free(tmp_path: Path) -> None:
    store = registry(tmp_path, new_columns="refuse", types="refuse")
    assert store.add(schema("1-0-0", amount=AMOUNT)) is AdditionOutcome.UNCHANGED
    assert store.add(schema("1-0-0", "other", amount=AMOUNT)) is AdditionOutcome.ADDED
    assert store.add(schema("1-0-1", "other", amount=AMOUNT, email=EMAIL)) is AdditionOutcome.ADDED
    assert store.add(schema("1-0-0", "ad_view", amount=AMOUNT)) is AdditionOutcome.ADDED


def test_a_contract_that_shows_and_widens_refuses_nothing(tmp_path: Path) -> None:
    store = registry(tmp_path, new_columns="show", types="widen")
    assert store.add(schema("1-0-1", amount=AMOUNT, email=EMAIL)) is AdditionOutcome.ADDED


def test_a_new_model_is_compared_with_the_one_before_it(tmp_path: Path) -> None:
    registry(tmp_path).add(schema("2-0-0", amount=AMOUNT, email=EMAIL))
    store = registry(tmp_path, new_columns="refuse", types="refuse")
    assert store.add(schema("3-0-0", amount=AMOUNT, email=EMAIL)) is AdditionOutcome.ADDED
    assert store.add(schema("1-0-0", amount=AMOUNT)) is AdditionOutcome.UNCHANGED
