"""A refresh after versions were dropped or retired, and the removal of a view."""

from __future__ import annotations

import pytest
from support.fake_bigquery import FakeBigQuery, Request
from support.refresh_shop import (
    GET,
    PATCH,
    PLAIN,
    QUERY,
    VIEW,
    before_next,
    covered,
    run,
    with_rules,
)

from onefold.core.errors import NotFound
from onefold.settings.environment import Settings


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
def test_without_versions_and_view_the_error_says_which_names_were_searched(cloud: FakeBigQuery, settings: Settings) -> None:
    if settings == PLAIN:
        cloud.drop("customer_v_abc")
        cloud.drop("customer_v_def")
    with pytest.raises(NotFound, match=r"my-project\.shop: expected tables named as customer_v_VERSION, where"):
        run(cloud, settings=settings)
    assert run(cloud, settings=settings, prune=True).action == "none"


def test_without_a_view_the_error_does_not_advise_to_remove_it(cloud: FakeBigQuery) -> None:
    cloud.drop("customer_v_abc")
    cloud.drop("customer_v_def")
    with pytest.raises(NotFound) as refused:
        run(cloud)
    assert "--prune" not in str(refused.value)


def test_the_view_stays_if_no_version_is_left(cloud: FakeBigQuery) -> None:
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
