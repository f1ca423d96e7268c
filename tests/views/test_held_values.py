"""The nightly check counts the values that a view does not show because a contract keeps the type of their column."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.contract_views import contracts
from support.in_memory import MemoryPublisher, push_body
from support.merge_shop import Shop

from onefold.changelog.metadata import LANDED_AT
from onefold.refresh.write import refresh
from onefold.schema.contract_rules import Contracts
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler
from onefold.views.held_values import count_held_values
from onefold.views.unified_kind import UnifiedKind

OLD = {
    "id": "INT64", "n": "INT64", "raw": "BYTES", "codes": "ARRAY<INT64>", "one": "INT64",
    "address": "STRUCT<zip INT64, city STRING>", "place": "STRUCT<zip INT64, at DATE>", LANDED_AT: "TIMESTAMP",
}  # fmt: skip
NEW = {
    "id": "INT64", "n": "STRING", "raw": "STRING", "codes": "ARRAY<STRING>", "one": "ARRAY<INT64>",
    "address": "STRUCT<zip STRING, city STRING>", "place": "ARRAY<STRUCT<zip STRING, at DATE>>", LANDED_AT: "TIMESTAMP",
}  # fmt: skip
KEEP = contracts("show", "keep")


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A table of two versions, whose view was written over the first; five values of the second do not fit."""
    shop = Shop(dataset, contracts=KEEP)
    shop.create("a1", OLD)
    first: dict[str, Any] = {
        "n": 7,
        "raw": "/w==",
        "codes": [1],
        "one": 5,
        "address": {"zip": 1, "city": "x"},
        "place": {"zip": 1},
    }
    shop.land("a1", change("INSERT", "1", id=1, **first))
    refresh(UnifiedKind(shop.warehouse, shop.table, shop.settings))
    shop.create("b2", NEW)
    fits: dict[str, Any] = {
        "n": "8",
        "raw": "r",
        "codes": ["2"],
        "one": [6],
        "address": {"zip": "2", "city": "y"},
        "place": [{"zip": "2"}],
    }
    does_not: dict[str, Any] = {
        "n": "many",
        "raw": None,
        "codes": ["3", "C"],
        "one": [7, 8],
        "address": {"zip": "Z", "city": "z"},
        "place": [{"zip": "Z", "at": "2026-01-01"}],
    }
    shop.land("b2", change("INSERT", "2", id=2, **fits), change("INSERT", "3", id=3, **does_not))
    return shop


def test_values_that_do_not_fit_are_counted_by_column(shop: Shop) -> None:
    kind = UnifiedKind(shop.warehouse, shop.table, shop.settings)
    found = count_held_values(shop.warehouse, kind, refresh(kind))
    assert found
    assert dict(found.values) == {"n": 1, "codes": 1, "one": 1, "address": 1, "place": 1}
    assert str(found).endswith("the types that the contract keeps: n 1, codes 1, one 1, address 1, place 1")


def test_nothing_is_counted_where_no_type_is_kept(shop: Shop) -> None:
    kind = UnifiedKind(shop.warehouse, shop.table, Settings())
    assert count_held_values(shop.warehouse, kind, refresh(kind)) is None


def lines(shop: Shop, by: Contracts, version: str | None, capfd: pytest.CaptureFixture[str]) -> list[tuple[str, str, int]]:
    """The lines of the log about values that do not fit, after a message."""
    capfd.readouterr()
    body = {"dataset": shop.dataset.name, "table": {"name": "customer", **({"version": version} if version else {})}}
    TableCreatedHandler(Settings(contracts=by), shop.warehouse, MemoryPublisher()).handle(
        push_body(json.dumps(body).encode())
    )
    found = (json.loads(line) for line in capfd.readouterr().out.splitlines() if '"held_values' in line)
    return [(line["severity"], line["event"], line["total"]) for line in found]


def test_a_check_of_the_table_logs_the_count_and_a_message_about_a_version_does_not(
    shop: Shop, capfd: pytest.CaptureFixture[str]
) -> None:
    assert lines(shop, KEEP, "b2", capfd) == []
    assert lines(shop, KEEP, None, capfd) == [("WARNING", "held_values", 5)]
    assert lines(shop, contracts(), None, capfd) == []


def test_a_current_view_counts_what_no_unified_view_counts(
    dataset: EmulatedDataset, capfd: pytest.CaptureFixture[str]
) -> None:
    shop = Shop(dataset, contracts=KEEP)
    shop.create("a1", {"id": "INT64", "n": "INT64", LANDED_AT: "TIMESTAMP"})
    shop.land("a1", change("INSERT", "1", id=1, n=7))
    refresh(UnifiedKind(shop.warehouse, shop.table, shop.settings))
    assert [row["n"] for row in shop.current()] == [7]
    shop.create("b2", {"id": "INT64", "n": "STRING", LANDED_AT: "TIMESTAMP"})
    shop.land("b2", change("INSERT", "2", id=2, n="many"))
    assert lines(shop, KEEP, None, capfd) == [("WARNING", "held_values", 1)]
    dataset.client.delete_table(f"{dataset.client.project}.{dataset.name}.customer_unified")
    # The one that is made anew shows everything.
    assert lines(shop, KEEP, None, capfd) == [("WARNING", "held_values", 1)]
