"""The identifier of an announced change: the same for the same change, and another one for any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from refresh.test_crashes import crash_at
from support.announcements import REFUSALS, Announcer, prune
from support.fake_bigquery import Crash, FakeBigQuery
from support.refresh_shop import BASE, PATCH, VIEW, before_next, covered, run, touch

import onefold.adapters.bigquery.annotations
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.refresh.write import plan_refresh
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind


def ids_after(announcer: Announcer, *disturbances: Callable[[], None]) -> list[str]:
    for disturb in disturbances:
        before_next(announcer.cloud, PATCH, disturb)
        announcer.deliver("fed")
    return [content["id"] for content in announcer.announced]


def test_the_identifier_stays_after_a_412(announcer: Announcer) -> None:
    ids = ids_after(announcer, lambda: touch(announcer.cloud))
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_the_identifier_stays_if_a_version_without_new_columns_lands_in_between(announcer: Announcer) -> None:
    def land() -> None:
        announcer.cloud.create_table("customer_v_fee", "id INT64")
        touch(announcer.cloud)

    ids = ids_after(announcer, land)
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert covered(announcer.cloud) == {"abc", "def", "fed", "fee"}


def test_the_identifiers_of_other_changes_differ(announcer: Announcer) -> None:
    announcer.deliver("fed")
    announcer.cloud.create_table("customer_v_fee", "fax STRING")
    announcer.deliver("fee")
    announcer.cloud.drop("customer_v_fee")
    announcer.deliver()
    assert len({content["id"] for content in announcer.announced}) == len(announcer.announced) == 3


def planned_id(cloud: FakeBigQuery, view_name: str = "{table}_unified") -> str | None:
    return plan_refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), BASE, Settings(view_name=view_name))).change_id


def test_two_views_that_change_alike_have_different_identifiers(cloud: FakeBigQuery) -> None:
    assert planned_id(cloud) != planned_id(cloud, "{table}_all")


def test_the_same_columns_have_another_identifier_if_others_were_there_before(cloud: FakeBigQuery) -> None:
    run(cloud)
    cloud.create_table("customer_v_fed", "phone STRING")
    planned = planned_id(cloud)
    cloud.change(VIEW, lambda resource: resource["schema"]["fields"].pop())
    assert planned_id(cloud) not in (planned, None)


def test_a_change_that_is_undone_and_made_again_has_another_identifier(announcer: Announcer) -> None:
    for _ in range(2):
        announcer.deliver("fed")
        announcer.cloud.drop("customer_v_fed")
        announcer.deliver()
        announcer.cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    kinds = [content["changes"][0]["kind"] for content in announcer.announced]
    assert kinds == ["added", "removed", "added", "removed"]
    assert len({content["id"] for content in announcer.announced}) == 4


def test_a_view_that_is_removed_and_created_again_has_other_identifiers(announcer: Announcer) -> None:
    for _ in range(2):
        prune(announcer)
        announcer.cloud.create_table("customer_v_abc", "id INT64")
        announcer.deliver()
    kinds = [content["changes"][0]["kind"] for content in announcer.announced]
    assert kinds == ["view removed", "view created"] * 2
    assert len({content["id"] for content in announcer.announced}) == 4


def test_the_identifier_stays_if_the_view_could_not_be_created(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    announcer = Announcer(cloud, capsys)
    crash_at(cloud, 2, "before")
    with pytest.raises(Crash):
        announcer.deliver()
    cloud.before = lambda _: None
    announcer.deliver()
    assert len(announcer.announced) == 2
    assert len({content["id"] for content in announcer.announced}) == 1


def test_announcements_without_room_have_identifiers_of_their_own(
    announcer: Announcer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 350)
    for version in ("fed", "fee"):
        announcer.cloud.create_table(f"customer_v_{version}", f"{version} STRING")
        announcer.refuse(REFUSALS["missing"])
        announcer.deliver(version)
        announcer.refuse(None)
        announcer.deliver(version)
    assert [content["changes_left_out"] for content in announcer.announced] == [None, None]
    assert len({content["id"] for content in announcer.announced}) == 2


def test_announcements_that_people_changed_have_identifiers_of_their_own(refusing: Announcer) -> None:
    refusing.deliver("fed")
    marker = "-- onefold has to announce: "

    def edit(resource: dict[str, Any]) -> None:
        resource["view"]["query"] = resource["view"]["query"].partition(marker)[0] + marker + '["a", "b"]'

    refusing.cloud.change(VIEW, edit)
    refusing.refuse(None)
    refusing.deliver("fed")
    assert len({content["id"] for content in refusing.announced}) == 2
