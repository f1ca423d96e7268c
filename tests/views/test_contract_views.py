"""Views under a contract in the embedded BigQuery: over versions, over a base, clean, plain; the base keeps everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.contract_views import contracts
from support.merge_shop import Shop

from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import SettingsChanged
from onefold.refresh.held_note import read_held_note
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import plan_refresh, refresh
from onefold.settings.environment import Settings
from onefold.views.base_view import CurrentViewOverBase
from onefold.views.current_kind import CurrentKind
from onefold.views.current_text import left_out
from onefold.views.unified_kind import UnifiedKind

OLD = {"id": "INT64", "n": "INT64", "raw": "BYTES", LANDED_AT: "TIMESTAMP"}
NEW = {"id": "STRING", "n": "STRING", "raw": "STRING", "email": "STRING", LANDED_AT: "TIMESTAMP"}
FULL: list[dict[str, Any]] = [
    {"id": "1", "n": "7", "raw": "/w==", "email": None},
    {"id": "2", "n": "8", "raw": "text", "email": "e"},
    {"id": "3", "n": "many", "raw": None, "email": "f"},
]
HELD: list[dict[str, Any]] = [
    {"id": "1", "n": 7, "raw": b"\xff"},
    {"id": "2", "n": 8, "raw": b"text"},
    {"id": "3", "n": None, "raw": None},
]


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A table with one version, its current and its unified view, and a contract that keeps both as they are."""
    shop = Shop(dataset)
    shop.create("a1", OLD)
    shop.land("a1", change("INSERT", "1", id=1, n=7, raw="/w=="))
    shop.contracts = contracts("hide", "keep")
    assert shop.current() == [{"id": 1, "n": 7, "raw": b"\xff"}]
    refresh(unified(shop))
    return shop


def unified(shop: Shop, settings: Settings | None = None) -> UnifiedKind:
    return UnifiedKind(shop.warehouse, shop.table, settings or shop.settings)


def bring_second_version(shop: Shop) -> None:
    shop.create("b2", NEW)
    shop.land(
        "b2", change("INSERT", "2", id="2", n="8", raw="text", email="e"),
        change("INSERT", "3", id="3", n="many", email="f", raw=None),
    )  # fmt: skip


def unified_rows(shop: Shop) -> list[dict[str, Any]]:
    view = refresh(unified(shop)).view
    assert view
    shown = [column.name for column in view.columns if column.name not in (LANDED_AT, "datastream_metadata")]
    rows = shop.warehouse.fetch(f"SELECT {', '.join(shown)} FROM {view.id.quoted}")
    return sorted(map(dict, rows), key=lambda row: str(row["id"]))


def test_the_current_view_keeps_its_columns_and_types_over_versions_and_over_a_base(shop: Shop) -> None:
    shop.merge()
    bring_second_version(shop)
    assert shop.current() == HELD
    shop.merge()
    assert shop.current() == HELD
    assert shop.people_see() == FULL
    shop.contracts = contracts()
    assert shop.current() == FULL


def test_a_base_of_the_old_types_is_read_as_it_is(shop: Shop) -> None:
    shop.merge()
    shop.contracts = contracts("hide", "keep")
    bring_second_version(shop)
    shop.merge()
    shop.land("a1", change("INSERT", "4", id=1, n=9, raw="/w=="))
    assert shop.current() == [{"id": "1", "n": 9, "raw": b"\xff"}, *HELD[1:]]


def test_a_base_is_read_where_its_types_give_the_values_back_and_left_out_elsewhere(
    dataset: EmulatedDataset,
) -> None:
    for name, old, new, reads_base in (("given", "INT64", "STRING", True), ("lost", "BYTES", "STRING", False)):
        shop = Shop(dataset, name, contracts=contracts("hide", "keep"))
        shop.create("a1", {"id": "INT64", "x": old, LANDED_AT: "TIMESTAMP"})
        shop.land("a1", change("INSERT", "1", id=1, x=None))
        shop.current()
        shop.create("b2", {"id": "INT64", "x": new, LANDED_AT: "TIMESTAMP"})
        shop.land("b2", change("INSERT", "2", id=2, x=None))
        shop.merge()
        shop.current()
        view = shop.warehouse.get_view(CurrentKind(shop.warehouse, shop.table, shop.settings, ("id",)).id)
        assert view
        assert (not left_out(view.query)) == reads_base
        assert shop.current() == [{"id": 1, "x": None}, {"id": 2, "x": None}]


def test_the_unified_view_keeps_its_columns_and_types(shop: Shop) -> None:
    bring_second_version(shop)
    assert unified_rows(shop) == HELD
    shop.contracts = contracts()
    assert unified_rows(shop) == FULL


def test_a_key_column_is_never_held_in_the_unified_view_whose_current_view_knows_the_key(shop: Shop) -> None:
    bring_second_version(shop)
    plan = plan_refresh(unified(shop))
    assert plan.view
    assert {column.name: str(column.type) for column in plan.view.columns}["id"] == "STRING"


def test_a_view_under_a_contract_is_stable_and_a_change_of_the_contract_rewrites_it(shop: Shop) -> None:
    bring_second_version(shop)
    refresh(unified(shop))
    assert plan_refresh(unified(shop)).action == "none"
    assert plan_refresh(unified(shop), "b2").shortcut
    for by in (contracts(), contracts("review", "keep"), contracts("hide", "keep", "warn")):
        plan = plan_refresh(unified(shop, Settings(contracts=by)), "b2")
        assert (plan.action, plan.shortcut) == ("update", False)
        assert all(change.name.startswith("contract.") for change in plan.settings)


def test_what_was_accepted_once_stays_shown_under_a_stricter_contract(shop: Shop) -> None:
    bring_second_version(shop)
    shop.contracts = contracts()
    assert unified_rows(shop) == FULL
    shop.contracts = contracts("hide", "keep")
    assert unified_rows(shop) == FULL


def test_a_command_without_the_contract_does_not_lift_it(shop: Shop) -> None:
    bring_second_version(shop)
    refresh(unified(shop))
    with pytest.raises(SettingsChanged, match=r"contract\.new_columns: hide -> default"):
        refresh(unified(shop, Settings(keep_view_settings=True)))


def test_a_change_that_waits_is_shown_after_it_was_accepted(shop: Shop) -> None:
    shop.contracts = contracts("review", "review")
    bring_second_version(shop)
    plan = plan_refresh(unified(shop))
    waiting = {one.path: one for one in plan.view.waiting} if plan.view else {}
    assert set(waiting) == {"n", "raw", "email"}
    assert {one.version for one in waiting.values()} == {"b2"}
    refresh(unified(shop))
    id_ = waiting["email"].change
    shop.contracts = contracts("review", "review", verdicts={(id_, ""): "accept", (id_, "raw"): "reject"})
    assert unified_rows(shop) == [{**row, "raw": held["raw"]} for row, held in zip(FULL, HELD, strict=True)]
    assert plan_waits(plan_refresh(unified(shop))) == ()


def plan_waits(plan: ViewPlan) -> tuple[str, ...]:
    return tuple(one.path for one in plan.view.waiting) if plan.view else ("no view",)


def test_a_merge_keeps_the_view_readable_and_held_at_every_moment(shop: Shop) -> None:
    """The base is replaced by one of other types, and the view is written before and after."""
    shop.merge()
    bring_second_version(shop)
    shop.current()
    seen: list[Mapping[str, Any]] = []
    warehouse = shop.warehouse
    over = CurrentViewOverBase(warehouse, shop.settings)
    plan = shop.prepare()
    seen += [dict(row) for row in warehouse.fetch(f"SELECT * FROM {shop.dataset.quoted('customer_current')} ORDER BY id")]
    over.after_base(plan)
    assert seen == HELD
    shop.merge()
    view = warehouse.get_view(CurrentKind(warehouse, shop.table, shop.settings, ("id",)).id)
    assert view
    assert read_held_note(view.query).hidden == ("email",)


def test_a_view_that_is_built_anew_for_a_kept_type_warns_of_what_was_dropped(shop: Shop) -> None:
    shop.contracts = contracts("hide", "keep", dropped="warn")
    shop.create("b2", {name: type_ for name, type_ in NEW.items() if name != "n"})
    (warning,) = [one for one in plan_refresh(unified(shop)).warnings if "lacks" in one]
    assert "b2, lacks n" in warning
