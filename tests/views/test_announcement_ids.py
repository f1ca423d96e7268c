"""The identifier of an announced change: the same for the same change, and another one for any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.announcements import REFUSALS, Desk, prune
from support.fake_bigquery import Crash, FakeBigQuery
from support.refresh_shop import PATCH, VIEW, before_next, covered, touch
from views.test_refresh_crashes import crash_at

import onefold.adapters.bigquery.annotations


def ids_after(desk: Desk, *disturbances: Callable[[], None]) -> list[str]:
    for disturb in disturbances:
        before_next(desk.cloud, PATCH, disturb)
        desk.deliver("fed")
    return [content["id"] for content in desk.announced]


def test_the_identifier_stays_after_a_412(desk: Desk) -> None:
    ids = ids_after(desk, lambda: touch(desk.cloud))
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_it_stays_where_another_version_without_new_columns_came_in_between(desk: Desk) -> None:
    def land() -> None:
        desk.cloud.create_table("customer_v_fee", "id INT64")
        touch(desk.cloud)

    ids = ids_after(desk, land)
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert covered(desk.cloud) == {"abc", "def", "fed", "fee"}


def test_the_identifiers_of_other_changes_differ(desk: Desk) -> None:
    desk.deliver("fed")
    desk.cloud.create_table("customer_v_fee", "fax STRING")
    desk.deliver("fee")
    desk.cloud.drop("customer_v_fee")
    desk.deliver()
    assert len({content["id"] for content in desk.announced}) == len(desk.announced) == 3


def test_a_change_that_is_undone_and_made_again_is_another_one(desk: Desk) -> None:
    for _ in range(2):
        desk.deliver("fed")
        desk.cloud.drop("customer_v_fed")
        desk.deliver()
        desk.cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    kinds = [content["changes"][0]["kind"] for content in desk.announced]
    assert kinds == ["added", "removed", "added", "removed"]
    assert len({content["id"] for content in desk.announced}) == 4


def test_a_view_that_is_removed_and_comes_back_is_another_one(desk: Desk) -> None:
    for _ in range(2):
        prune(desk)
        desk.cloud.create_table("customer_v_abc", "id INT64")
        desk.deliver()
    kinds = [content["changes"][0]["kind"] for content in desk.announced]
    assert kinds == ["view removed", "view created"] * 2
    assert len({content["id"] for content in desk.announced}) == 4


def test_the_identifier_stays_where_the_view_could_not_be_created(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(cloud, capsys)
    crash_at(cloud, 2, "before")
    with pytest.raises(Crash):
        desk.deliver()
    cloud.before = lambda _: None
    desk.deliver()
    assert len(desk.announced) == 2
    assert len({content["id"] for content in desk.announced}) == 1


def test_announcements_without_room_have_identifiers_of_their_own(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 350)
    for version in ("fed", "fee"):
        desk.cloud.create_table(f"customer_v_{version}", f"{version} STRING")
        desk.refuse(REFUSALS["missing"])
        desk.deliver(version)
        desk.refuse(None)
        desk.deliver(version)
    assert [content["changes_left_out"] for content in desk.announced] == [None, None]
    assert len({content["id"] for content in desk.announced}) == 2


def test_announcements_that_people_changed_have_identifiers_of_their_own(refusing: Desk) -> None:
    refusing.deliver("fed")
    marker = "-- onefold has to announce: "

    def edit(resource: dict[str, Any]) -> None:
        resource["view"]["query"] = resource["view"]["query"].partition(marker)[0] + marker + '["a", "b"]'

    refusing.cloud.change(VIEW, edit)
    refusing.refuse(None)
    refusing.deliver("fed")
    assert len({content["id"] for content in refusing.announced}) == 2
