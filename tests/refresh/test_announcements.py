"""A topic for schema changes that is missing or refuses: the view is written, and the next refresh announces its changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from refresh.test_crashes import crash_at
from support.announcements import REFUSALS, SETTINGS, Announcer, prune
from support.fake_bigquery import Crash, FakeBigQuery
from support.refresh_shop import BASE, GET, PATCH, VIEW, covered, run, tags, with_tag
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import Rejected, TryAgain
from onefold.refresh.announce import announce
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import refresh
from onefold.views.unified_kind import UnifiedKind


def test_the_view_is_written_and_labelled_and_the_log_has_the_announcement(refusing: Announcer) -> None:
    refused, refreshed = refusing.deliver("fed")
    assert covered(refusing.cloud) == {"abc", "def", "fed"}
    assert refusing.waiting == "1"
    assert (refused["severity"], refused["event"], refused["part"]) == ("ERROR", "unannounced", "1/1")
    assert refused["announcement"]["changes"] == [
        {"kind": "added", "path": "phone", "severity": "INFO", "old": None, "new": "STRING"}
    ]
    assert (refreshed["event"], refreshed["action"], refreshed["unannounced"]) == ("refreshed", "update", 1)
    refusing.refuse(None)
    refusing.deliver("fed")
    assert refusing.announced == [refused["announcement"]]


@pytest.mark.parametrize("version", ["fed", "abc", None])
def test_the_next_refresh_announces_the_changes_and_removes_the_label(refusing: Announcer, version: str | None) -> None:
    """A redelivered message, which takes the shortcut, and the nightly check do the same."""
    refusing.deliver("fed")
    refusing.refuse(None)
    text = refusing.cloud.resource(VIEW)["view"]["query"]
    with refusing.cloud.counted() as made:
        (line,) = refusing.deliver(version)
    assert [content["changes"][0]["path"] for content in refusing.announced] == ["phone"]
    assert refusing.announced[0]["severity"] == "INFO"
    assert (refusing.waiting, "unannounced" in line) == (None, False)
    about_view = [request for request in made if request.name == VIEW]
    assert (about_view[0], about_view[-1]) == (GET, PATCH)
    assert refusing.cloud.resource(VIEW)["view"]["query"] == text, "a text is not written for a label"
    refusing.deliver(version)
    assert len(refusing.announced) == 1


def test_while_the_topic_refuses_nothing_more_is_written(refusing: Announcer) -> None:
    refusing.deliver("fed")
    etag = refusing.cloud.resource(VIEW)["etag"]
    for version in ("fed", None):
        refused, refreshed = refusing.deliver(version)
        assert (refused["severity"], refused["event"]) == ("WARNING", "unannounced")
        assert (refreshed["action"], refreshed["unannounced"]) == ("none", 1)
    assert refusing.cloud.resource(VIEW)["etag"] == etag


def test_several_changes_are_announced_in_their_order(refusing: Announcer) -> None:
    refusing.deliver("fed")
    refusing.cloud.create_table("customer_v_fee", "fax STRING")
    refusing.deliver("fee")
    assert refusing.waiting == "2"
    refusing.cloud.create_table("customer_v_fab", "pager STRING")
    refusing.refuse(None)
    refusing.deliver("fab")
    assert [content["changes"][0]["path"] for content in refusing.announced] == ["phone", "fax", "pager"]
    assert refusing.waiting is None
    assert len({content["id"] for content in refusing.announced}) == 3


def test_a_view_that_is_created_stores_its_announcement(cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]) -> None:
    announcer = Announcer(cloud, capsys)
    announcer.refuse(REFUSALS["missing"])
    announcer.deliver()
    assert (covered(cloud), announcer.waiting) == ({"abc", "def"}, "1")
    announcer.refuse(None)
    announcer.deliver("abc")
    assert [content["changes"][0]["kind"] for content in announcer.announced] == ["view created"]


def test_an_announcement_names_the_view_and_not_the_table(cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither before the view exists nor after."""
    announcer = Announcer(cloud, capsys)
    announcer.deliver()
    cloud.create_table("customer_v_fed", "phone STRING")
    announcer.deliver("fed")
    assert [content["view"] for content in announcer.announced] == [f"{PROJECT}.shop.{VIEW}"] * 2


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("refused", [True, False])
def test_a_crash_at_any_request_loses_no_announcement(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str], moment: str, refused: bool
) -> None:
    """A crash happens while the topic refuses, or while stored announcements are published."""
    announcer = Announcer(cloud, capsys)
    announcer.deliver()
    for index in range(3):
        announcer.publisher.topics.clear()
        announcer.refuse(REFUSALS["missing"])
        cloud.create_table(f"customer_v_{index}", f"column_{index} INT64")
        if not refused:
            announcer.deliver(str(index))
            announcer.refuse(None)
        crash_at(cloud, index, moment)
        with pytest.raises(Crash):
            announcer.deliver(str(index))
        cloud.before = cloud.after = lambda _: None
        announcer.refuse(None)
        announcer.deliver(str(index))
        assert {content["changes"][0]["path"] for content in announcer.announced} == {f"column_{index}"}
        assert announcer.waiting is None


def test_a_view_stores_tags_and_announcements_together(refusing: Announcer) -> None:
    refusing.cloud.change(VIEW, with_tag("secret", "id"))
    refusing.deliver("fed")
    assert (refusing.waiting, tags(refusing.cloud)) == ("1", {"id": "secret"})
    crash_at(refusing.cloud, 4, "after")
    refusing.cloud.create_table("customer_v_fee", "fax STRING")
    with pytest.raises(Crash):
        refusing.deliver("fee")
    refusing.cloud.after = lambda _: None
    assert (refusing.waiting, tags(refusing.cloud)) == ("2", {})
    refusing.refuse(None)
    refusing.deliver("fee")
    assert (refusing.waiting, tags(refusing.cloud)) == (None, {"id": "secret"})
    assert [content["changes"][0]["path"] for content in refusing.announced] == ["phone", "fax"]


def test_a_temporary_error_of_the_topic_is_left_to_the_next_delivery(announcer: Announcer) -> None:
    announcer.refuse(TryAgain("503 unavailable"))
    with pytest.raises(TryAgain):
        announcer.deliver("fed")
    assert covered(announcer.cloud) == {"abc", "def"}


def test_a_refresh_without_announcements_leaves_stored_announcements(refusing: Announcer) -> None:
    """A batch and a laptop have no topic."""
    refusing.deliver("fed")
    refusing.cloud.create_table("customer_v_fee", "id INT64")
    run(refusing.cloud, "fee")
    assert refusing.waiting == "1"
    warehouse, publisher = BigQueryWarehouse(refusing.cloud.client()), refusing.publisher

    def announce_changes(plan: ViewPlan) -> tuple[str, ...]:
        return announce(publisher, replace(SETTINGS, topic_schema_changes=None), plan, lambda *_: None)

    refresh(UnifiedKind(warehouse, BASE, SETTINGS), announce=announce_changes)
    assert refusing.waiting == "1"
    refusing.refuse(None)
    refusing.deliver()
    assert [content["changes"][0]["path"] for content in refusing.announced] == ["phone"]


def test_a_view_whose_removal_cannot_be_announced_is_not_removed(refusing: Announcer) -> None:
    with pytest.raises(Rejected, match="was not removed"):
        prune(refusing)
    assert refusing.cloud.names("VIEW") == [VIEW]
    refusing.refuse(None)
    assert prune(refusing).action == "remove"
    assert [content["changes"][0]["kind"] for content in refusing.announced] == ["view removed"]


def test_without_a_topic_a_view_is_removed_with_its_stored_announcements(refusing: Announcer) -> None:
    refusing.deliver("fed")
    assert prune(refusing, replace(SETTINGS, topic_schema_changes=None)).action == "remove"


def test_a_refresh_without_announcements_removes_a_view_with_stored_announcements(refusing: Announcer) -> None:
    refusing.deliver("fed")
    for name in refusing.cloud.names("TABLE"):
        refusing.cloud.drop(name)
    assert run(refusing.cloud, prune=True).action == "remove"
