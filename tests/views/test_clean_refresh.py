"""The clean view is tightened before the current view is written, and keeps what is to be announced."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.clean_shop import policies
from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView, ViewDraft
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings
from onefold.views.clean import clean_warnings
from onefold.views.clean_kind import CleanKind
from onefold.views.clean_refresh import tighten_clean

BASE = TableId(PROJECT, "shop", "customer")
SETTINGS = Settings(policies=policies(id="clear", note="clear"), topic_schema_changes="schema-changes")


def shop(*columns: tuple[str, str]) -> tuple[FakeBigQuery, BigQueryWarehouse]:
    """A table of one version, with a current view of these columns."""
    cloud = FakeBigQuery()
    cloud.land("customer_v_a1", dict(columns))
    cloud.datasets["shop__views_clean"] = {}
    warehouse = BigQueryWarehouse(cloud.client())
    warehouse.create_view(SETTINGS.current_view_of(BASE), ViewDraft(f"SELECT * FROM `{PROJECT}.shop.customer_v_a1` AS v"))
    return cloud, warehouse


def stored(warehouse: BigQueryWarehouse) -> StoredView:
    """The clean view."""
    found = warehouse.get_view(SETTINGS.clean_view_of(BASE))
    assert found
    return found


def test_what_tightening_hides_is_announced_by_the_next_refresh() -> None:
    cloud, warehouse = shop(("id", "INT64"), ("note", "STRING"))
    refresh(CleanKind(warehouse, BASE, SETTINGS))
    assert "v.`note`" in stored(warehouse).query
    cloud.land("customer_v_b2", {"id": "INT64", "note": "STRUCT<phone STRING>"})
    tighten_clean(warehouse, BASE, SETTINGS)
    tightened = stored(warehouse)
    assert "v.`note`" not in tightened.query
    (kept,) = tightened.unannounced
    # The columns of a view in memory are unknown where it reads no table, so they read as added.
    assert [one["path"] for one in json.loads(kept)["changes"] if one["kind"] == "undecided"] == ["note.phone"]
    announced: list[str] = []

    def announce(plan: ViewPlan) -> tuple[str, ...]:
        announced.extend(plan.unannounced)
        return ()

    refresh(CleanKind(warehouse, BASE, SETTINGS), announce=announce)
    assert announced == [kept]
    assert stored(warehouse).unannounced == ()


def test_tightening_does_not_note_a_version_that_the_current_view_lacks() -> None:
    cloud, warehouse = shop(("id", "INT64"))
    refresh(CleanKind(warehouse, BASE, SETTINGS))
    cloud.land("customer_v_b2", {"id": "INT64", "phone": "STRING"})
    tighten_clean(warehouse, BASE, SETTINGS)
    assert not refresh(CleanKind(warehouse, BASE, SETTINGS), version="b2").shortcut
    assert refresh(CleanKind(warehouse, BASE, SETTINGS), version="a1").shortcut


def test_a_view_is_closed_where_its_tightened_text_is_refused_and_is_opened_by_the_next_refresh() -> None:
    cloud, warehouse = shop(("id", "INT64"), ("note", "STRING"))
    refresh(CleanKind(warehouse, BASE, SETTINGS))
    stricter = replace(SETTINGS, policies=policies(id="clear", note="mask"))
    cloud.fail("patch", 400, "invalidQuery", "Name gone not found inside v")
    tighten_clean(warehouse, BASE, stricter)
    closed = stored(warehouse)
    assert "customer_current cannot be read as it is: `onefold refresh`" in "".join(clean_warnings(closed.query))
    assert SETTINGS.current_view_of(BASE).quoted not in closed.query
    refresh(CleanKind(warehouse, BASE, stricter))
    assert clean_warnings(stored(warehouse).query) == ()


def test_a_view_that_is_refused_closed_as_well_is_an_error_so_that_the_current_view_is_not_written() -> None:
    cloud, warehouse = shop(("id", "INT64"), ("note", "STRING"))
    refresh(CleanKind(warehouse, BASE, SETTINGS))
    cloud.fail("patch", 400, "invalidQuery", "Name gone not found inside v", times=2)
    with pytest.raises(Rejected, match="Name gone"):
        tighten_clean(warehouse, BASE, replace(SETTINGS, policies=policies(id="clear", note="mask")))


def test_without_a_clean_view_nothing_is_tightened() -> None:
    cloud, warehouse = shop(("id", "INT64"))
    tighten_clean(warehouse, BASE, SETTINGS)
    assert cloud.names("VIEW", "shop__views_clean") == []
