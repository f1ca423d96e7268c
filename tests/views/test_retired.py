"""Versions that the settings retire."""

from __future__ import annotations

import pytest
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import GET, covered, run, with_rules

from onefold.core.errors import NoVersions


def test_a_redelivered_message_for_a_retired_version_costs_no_query(cloud: FakeBigQuery) -> None:
    settings = with_rules(retired=frozenset({"abc"}))
    run(cloud, settings=settings)
    with cloud.counted() as made:
        plan = run(cloud, "abc", settings)
    assert (plan.action, plan.shortcut) == ("none", True)
    assert made == [GET]


def test_a_redelivered_message_costs_no_query_where_all_versions_are_retired_and_there_is_no_view(
    cloud: FakeBigQuery,
) -> None:
    settings = with_rules(retired=frozenset({"abc", "def"}))
    with cloud.counted() as made:
        assert run(cloud, "abc", settings).action == "none"
    assert made == [GET]


def test_the_first_message_after_a_version_was_retired_writes_the_view(cloud: FakeBigQuery) -> None:
    run(cloud)
    assert run(cloud, "abc", with_rules(retired=frozenset({"abc"}))).action == "update"
    assert covered(cloud) == {"def"}


def test_a_table_whose_versions_are_all_retired_is_reported_as_such(cloud: FakeBigQuery) -> None:
    with pytest.raises(NoVersions, match="all 2 of them are retired"):
        run(cloud, settings=with_rules(retired=frozenset({"abc", "def"})))
