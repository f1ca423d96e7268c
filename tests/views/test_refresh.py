"""A refresh, through Google's own client, over the fake transport: what it reads and writes, and in what order.

A message is delivered as Pub/Sub does it: again and again while the refresh raises TryAgain.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fake_bigquery import PROJECT, FakeBigQuery, Request
from support.refresh_shop import (
    BASE,
    GET,
    INSERT,
    PATCH,
    PLAIN,
    QUERY,
    VIEW,
    annotate,
    before_next,
    covered,
    deliver,
    is_annotated,
    run,
    touch,
    with_rules,
)

import onefold.views.limits
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import LimitExceeded, NotFound, Rejected, SchemaConflict, TryAgain, ViewNameTaken
from onefold.core.names import TableId
from onefold.core.retry import CONFLICT_TRIES
from onefold.schema.types import parse_type
from onefold.settings.environment import Settings
from onefold.views.labels import LABEL
from onefold.views.refresh import plan_refresh, refresh

# What is written, and what it costs


def test_a_first_refresh_creates_the_view_of_all_versions(cloud: FakeBigQuery) -> None:
    with cloud.counted() as made:
        plan = run(cloud, "def")
    assert made == [GET, QUERY, INSERT]
    assert plan.action == "create"
    assert covered(cloud) == {"abc", "def"}


def test_a_new_version_costs_three_requests_the_etag_first_then_the_metadata_then_the_write(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    with cloud.counted() as made:
        plan = run(cloud, "fed")
    assert made == [GET, QUERY, PATCH]
    assert [str(change) for change in plan.changes] == ["added phone STRING"]
    assert covered(cloud) == {"abc", "def", "fed"}


def test_a_redelivered_message_costs_two_requests_that_are_free(cloud: FakeBigQuery) -> None:
    run(cloud, "def")
    for version in ("abc", "def"):
        with cloud.counted() as made:
            plan = run(cloud, version)
        assert made == [GET, Request("get", f"customer_v_{version}")]
        assert plan.shortcut


def test_there_is_no_shortcut_where_the_rules_have_changed(cloud: FakeBigQuery) -> None:
    run(cloud, "def")
    with cloud.counted() as made:
        plan = run(cloud, "def", with_rules(version_column="origin"))
    assert made == [GET, QUERY, PATCH]
    assert not plan.shortcut
    assert "origin" in cloud.resource(VIEW)["view"]["query"]


def test_there_is_no_shortcut_without_a_version(cloud: FakeBigQuery) -> None:
    run(cloud)
    with cloud.counted() as made:
        plan = run(cloud)
    assert made == [GET, QUERY]
    assert (plan.action, plan.shortcut) == ("none", False)


def test_there_is_no_shortcut_to_a_view_of_unknown_rules(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.change(VIEW, lambda resource: resource["labels"].pop(LABEL))
    with cloud.counted() as made:
        run(cloud, "def")
    assert made == [GET, QUERY, PATCH]
    assert LABEL in cloud.resource(VIEW)["labels"]


def test_the_same_text_is_not_written_twice(cloud: FakeBigQuery) -> None:
    run(cloud)
    etag = cloud.resource(VIEW)["etag"]
    run(cloud)
    run(cloud, "abc")
    assert cloud.resource(VIEW)["etag"] == etag


def test_where_only_the_rules_label_differs_the_text_is_left_alone(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.change(VIEW, lambda resource: resource["labels"].update({LABEL: "old"}))
    cloud.change(VIEW, annotate)
    run(cloud, "def")
    assert is_annotated(cloud)


def test_a_plan_writes_nothing(cloud: FakeBigQuery) -> None:
    plan = plan_refresh(BigQueryWarehouse(cloud.client()), BASE, PLAIN)
    assert plan.action == "create"
    assert cloud.names("VIEW") == []


def test_changes_are_announced_before_they_are_written(cloud: FakeBigQuery) -> None:
    seen: list[list[str]] = []
    run(cloud, announce=lambda plan: seen.append([*map(str, plan.changes), *cloud.names("VIEW")]))
    assert seen == [["view created"]]
    run(cloud, announce=lambda _: seen.append([]))
    assert len(seen) == 1


# Conflicts


def test_after_a_412_everything_starts_again_from_the_read(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    before_next(cloud, PATCH, lambda: touch(cloud))
    with cloud.counted() as made:
        run(cloud, "fed")
    assert made == [GET, QUERY, PATCH, GET, QUERY, PATCH]
    assert covered(cloud) == {"abc", "def", "fed"}


def test_after_a_409_everything_starts_again_from_the_read(cloud: FakeBigQuery) -> None:
    before_next(cloud, INSERT, lambda: deliver(cloud))
    with cloud.counted() as made:
        run(cloud)
    assert made == [GET, QUERY, GET, QUERY, INSERT, INSERT, GET, QUERY]
    assert covered(cloud) == {"abc", "def"}


def test_who_was_overtaken_by_a_newer_view_does_not_bring_the_older_one_back(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")

    def overtake() -> None:
        cloud.create_table("customer_v_fee", "id INT64")
        run(cloud, "fee")

    before_next(cloud, PATCH, overtake)
    run(cloud, "fed")
    assert covered(cloud) == {"abc", "def", "fed", "fee"}


def test_a_view_that_is_removed_meanwhile_is_created(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    before_next(cloud, PATCH, lambda: cloud.drop(VIEW))
    run(cloud, "fed")
    assert covered(cloud) == {"abc", "def", "fed"}


def test_a_version_that_is_dropped_meanwhile_is_left_out(cloud: FakeBigQuery) -> None:
    before_next(cloud, INSERT, lambda: cloud.drop("customer_v_abc"))
    run(cloud)
    assert covered(cloud) == {"def"}


def test_after_all_tries_the_message_is_to_be_delivered_again(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    cloud.fail("patch", 412, "conditionNotMet", times=CONFLICT_TRIES)
    pauses: list[float] = []
    with pytest.raises(TryAgain, match=VIEW):
        refresh(BigQueryWarehouse(cloud.client()), BASE, PLAIN, sleep=pauses.append)
    assert len(pauses) == CONFLICT_TRIES - 1
    assert all(0 <= pause <= 8 for pause in pauses)


# Deletion


def test_a_dropped_version_is_taken_out(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.drop("customer_v_abc")
    with cloud.counted() as made:
        plan = run(cloud)
    assert made == [GET, QUERY, PATCH]
    assert covered(cloud) == {"def"}
    assert [str(change) for change in plan.changes] == ["removed name STRING"]


def test_a_retired_version_is_taken_out_while_its_table_is_there(cloud: FakeBigQuery) -> None:
    run(cloud)
    run(cloud, "abc", with_rules(retired=frozenset({"abc"})))
    assert covered(cloud) == {"def"}
    assert "customer_v_abc" in cloud.names("TABLE")


@pytest.mark.parametrize("settings", [PLAIN, with_rules(retired=frozenset({"abc", "def"}))], ids=["dropped", "retired"])
def test_without_versions_and_view_nothing_is_found_and_it_says_where(cloud: FakeBigQuery, settings: Settings) -> None:
    if settings == PLAIN:
        cloud.drop("customer_v_abc")
        cloud.drop("customer_v_def")
    with pytest.raises(NotFound, match=r"my-project\.shop.*\^customer_v_\(\?:\[0-9a-f\]\{1,64\}\)\$"):
        run(cloud, settings=settings)
    assert run(cloud, settings=settings, prune=True).action == "none"


def test_the_view_is_left_where_no_version_is_left(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.drop("customer_v_abc")
    cloud.drop("customer_v_def")
    with pytest.raises(NotFound, match="--prune"):
        run(cloud)
    assert cloud.names("VIEW") == [VIEW]


def test_prune_removes_the_view_and_nothing_else(cloud: FakeBigQuery) -> None:
    run(cloud)
    plan = run(cloud, settings=with_rules(retired=frozenset({"abc", "def"})), prune=True)
    assert plan.action == "remove"
    assert cloud.names("VIEW") == []
    assert cloud.names("TABLE") == ["customer_v_abc", "customer_v_def"]


def test_prune_leaves_a_view_alone_that_has_versions(cloud: FakeBigQuery) -> None:
    run(cloud)
    run(cloud, prune=True)
    assert covered(cloud) == {"abc", "def"}


def test_a_version_that_comes_while_the_view_is_pruned_ends_in_a_view(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.drop("customer_v_abc")
    cloud.drop("customer_v_def")

    def appear() -> None:
        cloud.create_table("customer_v_fed", "id INT64")
        run(cloud, "fed")

    before_next(cloud, Request("delete", VIEW), appear)
    run(cloud, prune=True)
    assert covered(cloud) == {"fed"}


# What raises


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
        refresh(BigQueryWarehouse(cloud.client()), other, template)


def test_settings_without_effect_are_warnings(cloud: FakeBigQuery) -> None:
    settings = with_rules(types=(("idd", parse_type("STRING")),), retired=frozenset({"gone"}))
    assert run(cloud, settings=settings).warnings == (
        "types.idd: no version has a column of this name",
        "retire: there is no version gone",
    )


def test_a_materialized_view_is_not_replaced_either(cloud: FakeBigQuery) -> None:
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


def test_the_first_version_of_all_is_waited_for_too(cloud: FakeBigQuery) -> None:
    cloud.hidden |= {"customer_v_abc", "customer_v_def"}
    with pytest.raises(TryAgain):
        run(cloud, "abc")


def test_a_version_that_nobody_knows_is_an_ordinary_refresh(cloud: FakeBigQuery) -> None:
    plan = run(cloud, "gone")
    assert plan.action == "create"
    assert covered(cloud) == {"abc", "def"}


def test_a_dataset_that_is_not_there_is_final() -> None:
    cloud = FakeBigQuery(datasets={})
    with pytest.raises(NotFound, match="shop"):
        run(cloud, "abc")


def test_a_dataset_for_views_that_is_not_there_is_final(cloud: FakeBigQuery) -> None:
    with pytest.raises(Rejected, match="shop_unified"):
        run(cloud, settings=replace(PLAIN, view_dataset="{dataset}_unified"))


@pytest.mark.parametrize("kind", ["get", "query", "insert"])
@pytest.mark.parametrize(
    ("status", "reason"),
    [(500, ""), (503, "backendError"), (429, ""), (403, "rateLimitExceeded"), (403, "quotaExceeded"), (403, "accessDenied")],
)
def test_an_error_that_may_pass_leaves_everything_to_the_next_delivery(
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


def test_versions_that_cannot_be_one_view_leave_the_old_one(cloud: FakeBigQuery) -> None:
    run(cloud)
    etag = cloud.resource(VIEW)["etag"]
    with pytest.raises(SchemaConflict):
        run(cloud, settings=with_rules(version_column="email"))
    assert cloud.resource(VIEW)["etag"] == etag


def test_too_many_versions_leave_the_old_view(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "id INT64")
    monkeypatch.setattr(onefold.views.limits, "MAX_TABLES", 3)
    with pytest.raises(LimitExceeded, match="3 versions"):
        run(cloud, "fed")
    assert covered(cloud) == {"abc", "def"}
