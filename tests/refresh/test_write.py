"""A refresh, through Google's own client, over the fake transport: what it reads and writes, and in what order."""

from __future__ import annotations

from support.fake_bigquery import FakeBigQuery, Request
from support.refresh_shop import (
    BASE,
    GET,
    INSERT,
    PATCH,
    PLAIN,
    QUERY,
    VIEW,
    annotate,
    covered,
    is_annotated,
    run,
    with_rules,
)

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.refresh.labels import LABEL
from onefold.refresh.write import plan_refresh
from onefold.schema.types import parse_type
from onefold.views.unified_kind import UnifiedKind


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


def test_there_is_no_shortcut_if_the_rules_have_changed(cloud: FakeBigQuery) -> None:
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


def test_if_only_the_label_of_the_rules_differs_the_text_is_not_written(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.change(VIEW, lambda resource: resource["labels"].update({LABEL: "old"}))
    cloud.change(VIEW, annotate)
    run(cloud, "def")
    assert is_annotated(cloud)


def test_a_plan_writes_nothing(cloud: FakeBigQuery) -> None:
    plan = plan_refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, PLAIN))
    assert plan.action == "create"
    assert cloud.names("VIEW") == []


def test_changes_are_announced_before_they_are_written(cloud: FakeBigQuery) -> None:
    seen: list[list[str]] = []
    run(cloud, announce=lambda plan: seen.append([*map(str, plan.changes), *cloud.names("VIEW")]))
    assert seen == [["view created"]]
    run(cloud, announce=lambda _: seen.append([]))
    assert len(seen) == 1


def test_settings_without_effect_are_warnings(cloud: FakeBigQuery) -> None:
    settings = with_rules(types=(("idd", parse_type("STRING")),), retired=frozenset({"gone"}))
    assert run(cloud, settings=settings).warnings == (
        "types.idd: no version has a column of this name",
        "retire: there is no version gone",
    )
