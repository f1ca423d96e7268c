"""The rights to set policy tags: BigQuery drops the tags with each change of a view's query.

An account without the right writes nothing, so that no column is readable without its tag.
"""

from __future__ import annotations

import pytest
from refresh.test_crashes import crash_at
from support.fake_bigquery import Crash, FakeBigQuery
from support.in_memory import MemoryPublisher, push_body
from support.memory_handler import unified_lines
from support.refresh_shop import (
    PATCH,
    PERMISSIONS,
    VIEW,
    add,
    covered,
    run,
    shop,
    tag,
    tags,
    with_tag,
)

from onefold.adapters.bigquery.policy_tags import GET_TAXONOMY, SET_TAGS
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import PolicyTagsDenied, Rejected, TryAgain
from onefold.messages.table_created import table_message
from onefold.refresh.plan import ViewPlan
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler


def test_without_the_right_nothing_is_written(denied: FakeBigQuery) -> None:
    before = denied.resource(VIEW)
    for version in ("fed", "fed", None):
        with pytest.raises(PolicyTagsDenied, match="Nothing was written"):
            run(denied, version)
        assert denied.resource(VIEW) == before


def test_without_the_right_a_crash_at_any_request_leaves_the_tags(denied: FakeBigQuery) -> None:
    before = denied.resource(VIEW)
    for index in range(4):
        for moment in ("before", "after"):
            crash_at(denied, index, moment)
            with pytest.raises((Crash, PolicyTagsDenied)):
                run(denied, "fed")
            denied.before = denied.after = lambda _: None
            assert denied.resource(VIEW) == before


@pytest.mark.usefixtures("small_texts")
def test_without_the_right_no_leaf_is_written() -> None:
    cloud = shop(3)
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    for number in range(3, 20):
        add(cloud, number)
    cloud.lacks = {SET_TAGS}
    with pytest.raises(PolicyTagsDenied):
        run(cloud)
    assert cloud.names("VIEW") == [VIEW]


def test_without_the_right_no_change_is_announced(denied: FakeBigQuery) -> None:
    announced: list[ViewPlan] = []

    def announce(plan: ViewPlan) -> tuple[str, ...]:
        announced.append(plan)
        return ()

    with pytest.raises(PolicyTagsDenied):
        run(denied, "fed", announce=announce)
    assert announced == []


def test_the_message_is_dead_lettered_and_names_the_rights_to_grant(
    denied: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    publisher = MemoryPublisher()
    settings = Settings(topic_dead_letter="dead-letter", topic_schema_changes="schema-changes")
    handler = TableCreatedHandler(settings, BigQueryWarehouse(denied.client()), publisher)
    message = push_body(table_message("shop", "customer", "fed"))
    handler.handle(message)
    (letter,) = publisher.topics["dead-letter"]
    assert letter.attributes["kind"] == "PolicyTagsDenied"
    (line,) = unified_lines(capsys)
    reason = line["reason"]
    for part in (
        "the policy tags of the columns id",
        "Grant it bigquery.tables.setCategory on the dataset my-project.shop (Terraform: restore_policy_tags = true)",
        "and datacatalog.taxonomies.get on projects/p/locations/eu/taxonomies/1, then send the message again",
    ):
        assert part in reason
    denied.lacks = set()
    handler.handle(push_body(letter.data))
    assert covered(denied) == {"abc", "def", "fed"}
    assert tags(denied) == {"id": "secret"}


def test_a_quota_error_is_not_a_missing_right(tagged: FakeBigQuery) -> None:
    tagged.fail("patch", 403, "rateLimitExceeded", "too many metadata updates")
    with pytest.raises(TryAgain, match="too many metadata updates"):
        run(tagged, "fed")
    assert tags(tagged) == {"id": "secret"}


def test_without_a_change_of_the_text_no_right_is_asked_for(tagged: FakeBigQuery) -> None:
    tagged.drop("customer_v_fed")
    tagged.lacks = {SET_TAGS}
    with tagged.counted() as made:
        run(tagged)
        tagged.change(VIEW, lambda resource: resource["labels"].update(onefold_rules="old"))
        run(tagged)
    assert PERMISSIONS not in made
    assert made.count(PATCH) == 1
    assert tags(tagged) == {"id": "secret"}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_with_the_right_the_next_refresh_restores_tags_after_a_crash_at_any_request(
    cloud: FakeBigQuery, moment: str
) -> None:
    run(cloud)
    for index in range(6):
        cloud.change(VIEW, with_tag("secret", "id"))
        cloud.create_table(f"customer_v_{index}", "id INT64")
        crash_at(cloud, index, moment)
        with pytest.raises(Crash):
            run(cloud, str(index))
        cloud.before = cloud.after = lambda _: None
        if "onefold_unfinished" not in cloud.resource(VIEW)["labels"]:
            assert tags(cloud) == {"id": "secret"}
        run(cloud, str(index))
        assert tags(cloud) == {"id": "secret"}
        assert str(index) in covered(cloud)


def test_a_right_that_is_lost_between_the_writes_is_retried_and_then_reported(tagged: FakeBigQuery) -> None:
    def after(_: object) -> None:
        if "onefold_unfinished" in tagged.resource(VIEW)["labels"]:
            tagged.lacks = {GET_TAXONOMY}

    tagged.after = after
    with pytest.raises(TryAgain, match="permission to get taxonomy"):
        run(tagged, "fed")
    with pytest.raises(PolicyTagsDenied, match="people read these columns without them"):
        run(tagged, "fed")
    tagged.create_table("customer_v_fee", "id INT64")
    with pytest.raises(PolicyTagsDenied, match="people read these columns without them"):
        run(tagged, "fee")
    tagged.after, tagged.lacks = lambda _: None, set()
    run(tagged, "fee")
    assert tags(tagged) == {"id": "secret"}
    assert covered(tagged) == {"abc", "def", "fed", "fee"}


def test_a_policy_tag_that_was_deleted_is_named(tagged: FakeBigQuery) -> None:
    tagged.fail("patch", 404, "notFound", f"Not found: Policy tag {tag('secret')}")
    before = tagged.resource(VIEW)
    with pytest.raises(Rejected, match=rf"Not found: Policy tag {tag('secret')}; restore it; .*take it off the column"):
        run(tagged, "fed")
    assert tagged.resource(VIEW) == before


def test_a_policy_tag_that_is_deleted_between_the_writes_is_named(tagged: FakeBigQuery) -> None:
    def after(_: object) -> None:
        if "onefold_unfinished" in tagged.resource(VIEW)["labels"]:
            tagged.after = lambda _: None
            tagged.fail("patch", 404, "notFound", f"Not found: Policy tag {tag('secret')}")

    tagged.after = after
    with pytest.raises(Rejected, match="Not found: Policy tag"):
        run(tagged, "fed")
    run(tagged, "fed")
    assert tags(tagged) == {"id": "secret"}


def test_an_unknown_error_is_quoted(tagged: FakeBigQuery) -> None:
    tagged.fail("permissions", 404, "notFound", "Nothing of the kind", times=10)
    with pytest.raises(TryAgain, match=r"10 tries, or it needs what is missing .*Nothing of the kind"):
        run(tagged, "fed")
