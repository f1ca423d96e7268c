"""Announcements that wait in the text of a view: long ones, and ones that people edited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.announcements import SETTINGS, Announcer
from support.refresh_shop import BASE, VIEW

import onefold.adapters.bigquery.annotations
import onefold.refresh.announce
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.refresh.announce import MAX_KEPT, schema_change
from onefold.refresh.write import plan_refresh
from onefold.views.handler_log import MAX_LOGGED_CHANGES
from onefold.views.unified_kind import UnifiedKind


def test_a_long_announcement_is_logged_whole_and_stored_without_its_changes(refusing: Announcer) -> None:
    count = 2 * MAX_LOGGED_CHANGES + 1
    refusing.cloud.create_table("customer_v_b16", *(f"{'column' * 20}_{n} STRING" for n in range(count)))
    *refused, _ = refusing.deliver("b16")
    assert [line["part"] for line in refused] == ["1/3", "2/3", "3/3"]
    assert sum(len(line["announcement"]["changes"]) for line in refused) == count + 1
    assert all(len(json.dumps(line)) < 256_000 for line in refused)
    refusing.refuse(None)
    refusing.deliver("b16")
    (content,) = refusing.announced
    assert (content["changes"], content["changes_left_out"], content["severity"]) == ([], count + 1, "INFO")
    assert content["id"] == refused[0]["announcement"]["id"]
    assert len(json.dumps(content)) < MAX_KEPT


@pytest.mark.parametrize("spare", [0, -1])
def test_an_announcement_of_exactly_the_limit_is_stored_whole(
    refusing: Announcer, monkeypatch: pytest.MonkeyPatch, spare: int
) -> None:
    refusing.cloud.create_table("customer_v_fed", "phone STRING")
    content = schema_change(plan_refresh(UnifiedKind(BigQueryWarehouse(refusing.cloud.client()), BASE, SETTINGS)))
    monkeypatch.setattr(onefold.refresh.announce, "MAX_KEPT", len(json.dumps(content)) + spare)
    refusing.deliver("fed")
    refusing.refuse(None)
    refusing.deliver("fed")
    (announced,) = refusing.announced
    assert (announced == content, "changes_left_out" in announced) == (spare == 0, spare < 0)


def test_without_room_in_the_text_the_next_refresh_announces_a_change_without_details(
    refusing: Announcer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 350)
    refusing.deliver("fed")
    assert refusing.waiting == "1"
    assert "onefold has to announce" not in refusing.cloud.resource(VIEW)["view"]["query"]
    refusing.deliver("fed")
    refusing.refuse(None)
    refusing.deliver("fed")
    (content,) = refusing.announced
    assert (content["view"], content["severity"], content["changes"]) == ("my-project.shop.customer_unified", "CRITICAL", [])
    assert refusing.waiting is None


@pytest.mark.parametrize("stored", ['["{}"]', '["[]"]', '["no JSON"]', '["{\\"severity\\": 1}"]', "[1]", "{}", '["'])
def test_text_that_people_edited_breaks_no_announcement(refusing: Announcer, stored: str) -> None:
    refusing.deliver("fed")
    marker = "-- onefold has to announce: "

    def edit(resource: dict[str, Any]) -> None:
        query = resource["view"]["query"]
        resource["view"]["query"] = query.partition(marker)[0] + marker + stored

    refusing.cloud.change(VIEW, edit)
    refusing.refuse(None)
    refusing.deliver("fed")
    assert [content["table"] for content in refusing.announced] == ["customer"]
    assert refusing.waiting is None


def test_an_announcement_that_people_changed_is_still_about_its_own_table(refusing: Announcer) -> None:
    refusing.deliver("fed")

    def edit(resource: dict[str, Any]) -> None:
        resource["view"]["query"] = resource["view"]["query"].replace(
            '\\"table\\": \\"customer\\"', '\\"table\\": \\"order\\"'
        )

    text = refusing.cloud.resource(VIEW)["view"]["query"]
    refusing.cloud.change(VIEW, edit)
    assert refusing.cloud.resource(VIEW)["view"]["query"] != text
    refusing.refuse(None)
    refusing.deliver("fed")
    assert [(content["table"], len(content["changes"])) for content in refusing.announced] == [("customer", 1)]
