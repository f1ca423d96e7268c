"""Errors of a refresh: those that another delivery solves, and those that are final."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import (
    PLAIN,
    VIEW,
    covered,
    run,
    with_rules,
)
from support.rest import PROJECT

import onefold.refresh.limits
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import LimitExceeded, NotFound, Rejected, SchemaConflict, TryAgain, ViewNameTaken
from onefold.core.names import TableId
from onefold.refresh.write import refresh
from onefold.views.unified_kind import UnifiedKind


def test_a_table_with_the_name_of_the_view_is_not_replaced(cloud: FakeBigQuery) -> None:
    cloud.create_table(VIEW, "id INT64")
    with pytest.raises(ViewNameTaken, match=VIEW):
        run(cloud)
    assert cloud.names("TABLE") == [VIEW, "customer_v_abc", "customer_v_def"]


def test_the_view_of_another_table_is_not_replaced(cloud: FakeBigQuery) -> None:
    """With this template the table `customer` of `shop_eu` and `eu_customer` of `shop` would share a view."""
    cloud.create_table("eu_customer_v_abc", "id INT64")
    template = replace(PLAIN, view_name="{dataset}_customer")
    run(cloud, settings=template)
    other = TableId(PROJECT, "shop", "eu_customer")
    with pytest.raises(ViewNameTaken, match="the view of another table"):
        refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), other, template))


def test_a_materialized_view_is_not_replaced(cloud: FakeBigQuery) -> None:
    cloud.create_table(VIEW, "id INT64", kind="MATERIALIZED_VIEW")
    with pytest.raises(ViewNameTaken):
        run(cloud)


def test_a_version_that_the_metadata_do_not_show_yet_is_waited_for(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    cloud.hidden.add("customer_v_fed")
    with pytest.raises(TryAgain, match="customer_v_fed"):
        run(cloud, "fed")
    cloud.hidden.clear()
    run(cloud, "fed")
    assert covered(cloud) == {"abc", "def", "fed"}


def test_the_first_version_of_a_table_is_waited_for(cloud: FakeBigQuery) -> None:
    cloud.hidden |= {"customer_v_abc", "customer_v_def"}
    with pytest.raises(TryAgain):
        run(cloud, "abc")


def test_an_unknown_version_causes_an_ordinary_refresh(cloud: FakeBigQuery) -> None:
    plan = run(cloud, "gone")
    assert plan.action == "create"
    assert covered(cloud) == {"abc", "def"}


def test_a_missing_dataset_is_final() -> None:
    cloud = FakeBigQuery(datasets={})
    with pytest.raises(NotFound, match="shop"):
        run(cloud, "abc")


def test_a_missing_dataset_of_views_is_final(cloud: FakeBigQuery) -> None:
    with pytest.raises(Rejected, match="shop_unified"):
        run(cloud, settings=replace(PLAIN, view_dataset="{dataset}_unified"))


@pytest.mark.parametrize("kind", ["get", "query", "insert"])
@pytest.mark.parametrize(
    ("status", "reason"),
    [(500, ""), (503, "backendError"), (429, ""), (403, "rateLimitExceeded"), (403, "quotaExceeded"), (403, "accessDenied")],
)
def test_after_a_temporary_error_the_next_delivery_refreshes_the_view(
    cloud: FakeBigQuery, kind: str, status: int, reason: str
) -> None:
    cloud.fail(kind, status, reason)
    with pytest.raises(TryAgain):
        run(cloud, "def")
    run(cloud, "def")
    assert covered(cloud) == {"abc", "def"}


def test_a_refused_query_is_final(cloud: FakeBigQuery) -> None:
    cloud.fail("insert", 400, "invalidQuery", "Syntax error")
    with pytest.raises(Rejected, match="Syntax error"):
        run(cloud)


def test_versions_that_do_not_fit_one_view_leave_the_old_view(cloud: FakeBigQuery) -> None:
    run(cloud)
    etag = cloud.resource(VIEW)["etag"]
    with pytest.raises(SchemaConflict):
        run(cloud, settings=with_rules(version_column="email"))
    assert cloud.resource(VIEW)["etag"] == etag


def test_too_many_versions_leave_the_old_view(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    monkeypatch.setattr(onefold.refresh.limits, "MAX_TABLES", 3)
    with pytest.raises(LimitExceeded, match="3 versions"):
        run(cloud, "fed")
    assert covered(cloud) == {"abc", "def"}
