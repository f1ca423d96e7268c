"""A topic for schema changes that is missing or refuses: the view is written, and the next refresh announces its changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from google.api_core import exceptions as api
from support.fake_bigquery import Crash, FakeBigQuery
from support.in_memory import MemoryPublisher, push_body
from support.refresh_shop import BASE, GET, PATCH, VIEW, before_next, covered, run, tags, touch, with_tag
from views.test_refresh_crashes import crash_at

import onefold.adapters.bigquery.annotations
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.pubsub import PubSub
from onefold.core.errors import Rejected, TopicRefused, TryAgain
from onefold.messages.table_created import table_message
from onefold.ports.publisher import Message
from onefold.refresh.handler import MAX_LOGGED_CHANGES, TableCreatedHandler
from onefold.settings.environment import Settings
from onefold.views.announce import MAX_KEPT, announce
from onefold.views.refresh import ViewPlan, refresh

SETTINGS = Settings(topic_schema_changes="schema-changes", topic_dead_letter="dead-letter")
UNANNOUNCED = "onefold_unannounced"
REFUSALS = {
    "missing": Rejected("topic projects/my-project/topics/schema-changes: 404 Resource not found"),
    "denied": TopicRefused("topic projects/my-project/topics/schema-changes: 403 User not authorized"),
}


class Desk:
    """The function's receiver between the fake BigQuery and a publisher whose topic may refuse."""

    def __init__(self, cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]) -> None:
        self.cloud = cloud
        self.publisher = MemoryPublisher()
        self._capsys = capsys

    def deliver(self, version: str | None = None) -> list[dict[str, Any]]:
        """Deliver a message and return the lines of the log."""
        receiver = TableCreatedHandler(SETTINGS, BigQueryWarehouse(self.cloud.client()), self.publisher)
        receiver.handle(push_body(table_message("shop", "customer", version)))
        found = map(json.loads, self._capsys.readouterr().out.splitlines())
        # No table here has a key. tests/refresh has the tests of the current view.
        return [line for line in found if line["event"] != "no_current"]

    def refuse(self, error: Exception | None) -> None:
        if error:
            self.publisher.trouble["schema-changes"] = error
        else:
            self.publisher.trouble.clear()

    @property
    def announced(self) -> list[dict[str, Any]]:
        return [json.loads(message.data) for message in self.publisher.topics.get("schema-changes", [])]

    @property
    def waiting(self) -> str | None:
        """The label that says how many announcements the view keeps."""
        label: str | None = self.cloud.resource(VIEW)["labels"].get(UNANNOUNCED)
        return label


@pytest.fixture
def desk(cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A view, and a version that it does not cover yet."""
    made = Desk(cloud, capsys)
    made.deliver()
    made.publisher.topics.clear()
    cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    return made


@pytest.fixture(params=REFUSALS)
def refusing(desk: Desk, request: pytest.FixtureRequest) -> Desk:
    desk.refuse(REFUSALS[request.param])
    return desk


def test_the_view_is_written_and_labelled_and_the_log_has_the_announcement(refusing: Desk) -> None:
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
def test_the_next_refresh_announces_it_and_takes_the_label_off(refusing: Desk, version: str | None) -> None:
    """A redelivery, which takes the shortcut, and the nightly check alike."""
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


def test_while_the_topic_refuses_nothing_more_is_written(refusing: Desk) -> None:
    refusing.deliver("fed")
    etag = refusing.cloud.resource(VIEW)["etag"]
    for version in ("fed", None):
        refused, refreshed = refusing.deliver(version)
        assert (refused["severity"], refused["event"]) == ("WARNING", "unannounced")
        assert (refreshed["action"], refreshed["unannounced"]) == ("none", 1)
    assert refusing.cloud.resource(VIEW)["etag"] == etag


def test_several_changes_wait_in_their_order(refusing: Desk) -> None:
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


def test_a_view_that_is_created_keeps_its_announcement_too(cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(cloud, capsys)
    desk.refuse(REFUSALS["missing"])
    desk.deliver()
    assert (covered(cloud), desk.waiting) == ({"abc", "def"}, "1")
    desk.refuse(None)
    desk.deliver("abc")
    assert [content["changes"][0]["kind"] for content in desk.announced] == ["view created"]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("refused", [True, False])
def test_a_crash_at_any_request_loses_no_announcement(
    cloud: FakeBigQuery, capsys: pytest.CaptureFixture[str], moment: str, refused: bool
) -> None:
    """Both while the topic refuses, and while what waits is published."""
    desk = Desk(cloud, capsys)
    desk.deliver()
    for index in range(3):
        desk.publisher.topics.clear()
        desk.refuse(REFUSALS["missing"])
        cloud.create_table(f"customer_v_{index}", f"column_{index} INT64")
        if not refused:
            desk.deliver(str(index))
            desk.refuse(None)
        crash_at(cloud, index, moment)
        with pytest.raises(Crash):
            desk.deliver(str(index))
        cloud.before = cloud.after = lambda _: None
        desk.refuse(None)
        desk.deliver(str(index))
        assert {content["changes"][0]["path"] for content in desk.announced} == {f"column_{index}"}
        assert desk.waiting is None


def test_tags_and_announcements_are_kept_side_by_side(refusing: Desk) -> None:
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


def test_a_long_announcement_is_logged_whole_and_kept_without_its_changes(refusing: Desk) -> None:
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


def test_without_room_in_the_text_the_next_refresh_says_that_something_changed(
    refusing: Desk, monkeypatch: pytest.MonkeyPatch
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


@pytest.mark.parametrize("kept", ['["{}"]', '["[]"]', '["no JSON"]', '["{\\"severity\\": 1}"]', "[1]", "{}", '["'])
def test_text_that_people_edited_breaks_no_announcement(refusing: Desk, kept: str) -> None:
    refusing.deliver("fed")
    marker = "-- onefold has to announce: "

    def edit(resource: dict[str, Any]) -> None:
        query = resource["view"]["query"]
        resource["view"]["query"] = query.partition(marker)[0] + marker + kept

    refusing.cloud.change(VIEW, edit)
    refusing.refuse(None)
    refusing.deliver("fed")
    assert [content["table"] for content in refusing.announced] == ["customer"]
    assert refusing.waiting is None


def test_an_announcement_that_people_changed_is_still_about_its_own_table(refusing: Desk) -> None:
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


def test_an_error_that_may_pass_is_left_to_the_next_delivery(desk: Desk) -> None:
    desk.refuse(TryAgain("503 unavailable"))
    with pytest.raises(TryAgain):
        desk.deliver("fed")
    assert covered(desk.cloud) == {"abc", "def"}


def test_a_refresh_that_announces_nothing_leaves_what_waits(refusing: Desk) -> None:
    """A batch or a laptop, which know of no topic."""
    refusing.deliver("fed")
    refusing.cloud.create_table("customer_v_fee", "id INT64")
    run(refusing.cloud, "fee")
    assert refusing.waiting == "1"
    warehouse, publisher = BigQueryWarehouse(refusing.cloud.client()), refusing.publisher

    def say(plan: ViewPlan) -> tuple[str, ...]:
        return announce(publisher, replace(SETTINGS, topic_schema_changes=None), plan, lambda *_: None)

    refresh(warehouse, BASE, SETTINGS, announce=say)
    assert refusing.waiting == "1"
    refusing.refuse(None)
    refusing.deliver()
    assert [content["changes"][0]["path"] for content in refusing.announced] == ["phone"]


# Removal: nothing would be left that could keep the announcement


def prune(desk: Desk, settings: Settings = SETTINGS) -> ViewPlan:
    for name in desk.cloud.names("TABLE"):
        desk.cloud.drop(name)

    def say(plan: ViewPlan) -> tuple[str, ...]:
        return announce(desk.publisher, settings, plan, lambda *_: None)

    return refresh(BigQueryWarehouse(desk.cloud.client()), BASE, settings, prune=True, announce=say)


def test_a_view_whose_removal_cannot_be_announced_is_not_removed(refusing: Desk) -> None:
    with pytest.raises(Rejected, match="was not removed"):
        prune(refusing)
    assert refusing.cloud.names("VIEW") == [VIEW]
    refusing.refuse(None)
    assert prune(refusing).action == "remove"
    assert [content["changes"][0]["kind"] for content in refusing.announced] == ["view removed"]


def test_without_a_topic_a_view_is_removed_with_what_it_keeps(refusing: Desk) -> None:
    refusing.deliver("fed")
    assert prune(refusing, replace(SETTINGS, topic_schema_changes=None)).action == "remove"


def test_who_announces_nothing_removes_a_view_with_what_it_keeps(refusing: Desk) -> None:
    refusing.deliver("fed")
    for name in refusing.cloud.names("TABLE"):
        refusing.cloud.drop(name)
    assert run(refusing.cloud, prune=True).action == "remove"


# The identifier of a change


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


# The adapter of Pub/Sub: what is refused, and what passes


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (api.NotFound, Rejected),
        (api.InvalidArgument, Rejected),
        (api.PermissionDenied, TopicRefused),
        (api.FailedPrecondition, TopicRefused),
        (api.ServiceUnavailable, TryAgain),
        (api.ResourceExhausted, TryAgain),
        (api.DeadlineExceeded, TryAgain),
    ],
)
def test_a_topic_that_refuses_differs_from_one_that_fails(error: Callable[[str], Exception], kind: type[Exception]) -> None:
    class Client:
        def publish(self, *_: object, **__: object) -> object:
            raise error("as Pub/Sub says")

    publisher = PubSub("my-project")
    publisher._client = Client()
    with pytest.raises(kind) as raised:
        publisher.publish("schema-changes", [Message(b"{}")])
    assert type(raised.value) is kind
