"""Policy tags on a view's columns: BigQuery drops them with each change of the query, and only some may set them again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from google.cloud.bigquery import SchemaField
from support.fake_bigquery import Crash, FakeBigQuery, Request, Resource, rest_field
from support.in_memory import MemoryPublisher, push_body
from support.refresh_shop import (
    BASE,
    LEAF,
    PATCH,
    PERMISSIONS,
    VIEW,
    add,
    covered,
    leaves,
    run,
    shop,
    tag,
    tags,
    with_rules,
    with_tag,
)
from views.test_refresh_crashes import crash_at

import onefold.adapters.bigquery.annotations
import onefold.views.unified_view
from onefold.adapters.bigquery.policy_tags import GET_TAXONOMY, SET_TAGS
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import LimitExceeded, PolicyTagsDenied, Rejected, SchemaConflict, TryAgain
from onefold.messages.table_created import table_message
from onefold.refresh.handler import TableCreatedHandler
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.settings.environment import Settings
from onefold.views.refresh import ViewPlan, plan_refresh

LACKING = {
    "neither right": ({SET_TAGS, GET_TAXONOMY}, False),
    "no right on the table": ({SET_TAGS}, False),
    "no right on the taxonomy": ({GET_TAXONOMY}, False),
    "no right, and the test of it says yes": ({SET_TAGS}, True),
}


@pytest.fixture
def tagged(cloud: FakeBigQuery) -> FakeBigQuery:
    """A view with a policy tag on a column, and a version that it does not cover yet."""
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    return cloud


@pytest.fixture(params=LACKING)
def denied(tagged: FakeBigQuery, request: pytest.FixtureRequest) -> FakeBigQuery:
    """The same, for an account that may not set the tag."""
    tagged.lacks, tagged.fails_open = LACKING[request.param]
    return tagged


# Without the right


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


def test_the_message_is_dead_lettered_and_says_what_to_grant(
    denied: FakeBigQuery, capsys: pytest.CaptureFixture[str]
) -> None:
    publisher = MemoryPublisher()
    settings = Settings(topic_dead_letter="dead-letter", topic_schema_changes="schema-changes")
    receiver = TableCreatedHandler(settings, BigQueryWarehouse(denied.client()), publisher)
    message = push_body(table_message("shop", "customer", "fed"))
    receiver.handle(message)
    (letter,) = publisher.topics["dead-letter"]
    assert letter.attributes["kind"] == "PolicyTagsDenied"
    reason = json.loads(capsys.readouterr().out)["reason"]
    for part in (
        "the policy tags of the columns id",
        "Grant it bigquery.tables.setCategory on the dataset my-project.shop (Terraform: restore_policy_tags = true)",
        "and datacatalog.taxonomies.get on projects/p/locations/eu/taxonomies/1, then send the message again",
    ):
        assert part in reason
    denied.lacks = set()
    receiver.handle(push_body(letter.data))
    assert covered(denied) == {"abc", "def", "fed"}
    assert tags(denied) == {"id": "secret"}


def test_a_quota_is_no_missing_right(tagged: FakeBigQuery) -> None:
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


# With the right


@pytest.mark.parametrize("moment", ["before", "after"])
def test_with_the_right_the_next_refresh_puts_tags_back_after_a_crash_at_any_request(
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


def test_where_the_right_goes_between_the_writes_it_is_tried_again_and_then_said(tagged: FakeBigQuery) -> None:
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


# Leaf views


def grown_to_two_levels() -> FakeBigQuery:
    """A view with a policy tag, of more versions than fit one level."""
    cloud = shop(3)
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    for number in range(3, 20):
        add(cloud, number)
    return cloud


@pytest.mark.usefixtures("small_texts")
def test_leaves_carry_the_tags_of_the_view_before_the_view_reads_them() -> None:
    cloud = grown_to_two_levels()
    read: list[dict[str, str]] = []

    def after(request: Request) -> None:
        if request == PATCH and (found := LEAF.findall(cloud.resource(VIEW)["view"]["query"])):
            read.extend(tags(cloud, leaf) for leaf in found)

    cloud.after = after
    run(cloud)
    assert read
    assert all(found == {"id": "secret"} for found in read)
    assert tags(cloud) == {"id": "secret"}


@pytest.mark.usefixtures("small_texts")
def test_a_leaf_that_cannot_be_tagged_is_removed_again() -> None:
    cloud = grown_to_two_levels()

    def after(request: Request) -> None:
        if request.kind == "insert":
            cloud.lacks = {GET_TAXONOMY}

    cloud.after = after
    with pytest.raises((TryAgain, PolicyTagsDenied)):
        run(cloud)
    assert cloud.names("VIEW") == [VIEW]
    assert tags(cloud) == {"id": "secret"}


@pytest.mark.usefixtures("small_texts")
def test_leaves_that_are_there_get_tags_that_people_put_on_the_view_later() -> None:
    cloud = shop(20)
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    add(cloud, 20)
    run(cloud)
    assert all(tags(cloud, leaf) == {"id": "secret"} for leaf in leaves(cloud))


# Columns that change


def addresses(*types: str) -> FakeBigQuery:
    """A view of a column `address`, whose type is as the last version made it."""
    cloud = FakeBigQuery()
    cloud.create_table("customer_v_0", f"address {types[0]}")
    cloud.schema_of = lambda query: [
        rest_field("address", parse_type(type_))
        for number, type_ in enumerate(types)
        if f"customer_v_{number}`" in query and f"customer_v_{number + 1}`" not in query
    ]
    run(cloud)
    return cloud


@pytest.mark.parametrize("landed", ["JSON", "STRING"])
@pytest.mark.parametrize(
    ("struct", "path"),
    [
        ("STRUCT<street STRING, zip INT64>", ("street",)),
        ("STRUCT<home STRUCT<street STRING>, zip INT64>", ("home", "street")),
    ],
)
def test_a_tag_of_a_field_moves_to_the_column_that_becomes_json_or_text(
    landed: str, struct: str, path: tuple[str, ...]
) -> None:
    cloud = addresses(struct, landed)
    cloud.change(VIEW, with_tag("secret", "address", *path))
    cloud.create_table("customer_v_1", f"address {landed}")
    run(cloud, "1")
    assert tags(cloud) == {"address": "secret"}


def test_it_moves_also_where_the_write_broke_off_between() -> None:
    cloud = addresses("STRUCT<street STRING, zip INT64>", "JSON")
    cloud.change(VIEW, with_tag("secret", "address", "street"))
    cloud.create_table("customer_v_1", "address JSON")
    crash_at(cloud, 4, "after")
    with pytest.raises(Crash):
        run(cloud, "1")
    assert tags(cloud) == {}
    cloud.after = lambda _: None
    run(cloud, "1")
    assert tags(cloud) == {"address": "secret"}


def test_fields_that_share_a_tag_become_one_column_with_it() -> None:
    cloud = addresses("STRUCT<street STRING, zip INT64>", "JSON")
    cloud.change(VIEW, with_tag("secret", "address", "street"))
    cloud.change(VIEW, with_tag("secret", "address", "zip"))
    cloud.create_table("customer_v_1", "address JSON")
    run(cloud, "1")
    assert tags(cloud) == {"address": "secret"}


def test_fields_of_different_tags_keep_the_view_as_it_is() -> None:
    cloud = addresses("STRUCT<street STRING, zip INT64>", "JSON")
    cloud.change(VIEW, with_tag("secret", "address", "street"))
    cloud.change(VIEW, with_tag("internal", "address", "zip"))
    cloud.create_table("customer_v_1", "address JSON")
    before = cloud.resource(VIEW)
    wanted = f"column address becomes JSON, and its fields have 2 policy tags ({tag('internal')}, {tag('secret')})"
    with pytest.raises(SchemaConflict) as refused:
        run(cloud, "1")
    assert wanted in str(refused.value)
    assert cloud.resource(VIEW) == before


def test_a_tag_of_a_column_moves_to_the_fields_that_it_comes_apart_into() -> None:
    cloud = addresses("STRUCT<home STRUCT<street STRING>, zip INT64>", "JSON")
    cloud.change(VIEW, with_tag("secret", "address", "home", "street"))
    cloud.create_table("customer_v_1", "address JSON")
    run(cloud, "1")
    cloud.drop("customer_v_1")
    run(cloud)
    assert tags(cloud) == {"address.home.street": "secret", "address.zip": "secret"}


def test_a_field_that_comes_later_gets_the_tag_that_the_whole_column_had() -> None:
    cloud = addresses("JSON", "STRUCT<a INT64, b INT64>", "STRUCT<a INT64, b INT64, c INT64, d STRUCT<e INT64>>")
    cloud.change(VIEW, with_tag("secret", "address"))
    cloud.create_table("customer_v_1", "address STRUCT<a INT64, b INT64>")
    cloud.drop("customer_v_0")
    run(cloud)
    assert tags(cloud) == {"address.a": "secret", "address.b": "secret"}
    cloud.change(VIEW, lambda view: view["schema"]["fields"][0]["fields"][1].pop("policyTags"))
    cloud.create_table("customer_v_1a", "address STRUCT<a INT64>")
    run(cloud)
    assert tags(cloud) == {"address.a": "secret"}
    cloud.create_table("customer_v_2", "address STRUCT<a INT64, b INT64, c INT64, d STRUCT<e INT64>>")
    run(cloud)
    assert tags(cloud) == {"address.a": "secret", "address.c": "secret", "address.d.e": "secret"}


def test_a_tag_survives_while_its_column_is_not_in_the_view(tagged: FakeBigQuery) -> None:
    tagged.change(VIEW, with_tag("private", "email"))
    run(tagged, settings=with_rules(retired=frozenset({"def"})))
    assert tags(tagged) == {"id": "secret"}
    tagged.create_table("customer_v_fee", "id INT64")
    run(tagged, settings=with_rules(retired=frozenset({"def"})))
    run(tagged)
    assert tags(tagged) == {"id": "secret", "email": "private"}


def test_a_tag_survives_while_its_field_is_not_in_the_view() -> None:
    cloud = addresses("STRUCT<street STRING, zip INT64>", "STRUCT<street STRING>", "STRUCT<zip INT64, street STRING>")
    cloud.change(VIEW, with_tag("secret", "address", "zip"))
    cloud.create_table("customer_v_1", "address STRUCT<street STRING>")
    cloud.drop("customer_v_0")
    run(cloud)
    assert tags(cloud) == {}
    cloud.create_table("customer_v_2", "address STRUCT<zip INT64, street STRING>")
    cloud.lacks = {SET_TAGS}
    with pytest.raises(PolicyTagsDenied):
        run(cloud)
    cloud.lacks = set()
    run(cloud)
    assert tags(cloud) == {"address.zip": "secret"}


def test_a_tag_of_a_field_that_is_there_counts_and_not_that_of_a_former_one() -> None:
    cloud = addresses("STRUCT<street STRING, zip INT64>", "STRUCT<street STRING>", "JSON")
    cloud.change(VIEW, with_tag("secret", "address", "street"))
    cloud.change(VIEW, with_tag("internal", "address", "zip"))
    cloud.create_table("customer_v_1", "address STRUCT<street STRING>")
    cloud.drop("customer_v_0")
    run(cloud)
    cloud.create_table("customer_v_2", "address JSON")
    run(cloud)
    assert tags(cloud) == {"address": "secret"}


def test_a_tag_that_people_took_off_does_not_come_back(tagged: FakeBigQuery) -> None:
    run(tagged)

    def take_off(resource: Resource) -> None:
        del resource["schema"]["fields"][0]["policyTags"]

    tagged.change(VIEW, take_off)
    for number in range(2):
        tagged.create_table(f"customer_v_{number}", "id INT64")
        run(tagged)
    assert tags(tagged) == {}


def test_a_former_tag_that_no_column_needs_takes_no_right(tagged: FakeBigQuery) -> None:
    tagged.change(VIEW, lambda resource: resource["schema"]["fields"][0].pop("policyTags"))
    tagged.change(VIEW, with_tag("private", "email"))
    run(tagged, settings=with_rules(retired=frozenset({"def"})))
    tagged.lacks = {SET_TAGS}
    tagged.create_table("customer_v_fee", "id INT64")
    run(tagged, settings=with_rules(retired=frozenset({"def"})))
    assert covered(tagged) == {"abc", "fed", "fee"}


# Columns that come back


@pytest.fixture
def former(cloud: FakeBigQuery) -> FakeBigQuery:
    """A view whose only tag is of a column that it does not have, since the version of the column is retired."""
    run(cloud)
    cloud.change(VIEW, with_tag("private", "email"))
    run(cloud, settings=with_rules(retired=frozenset({"def"})))
    return cloud


@pytest.mark.parametrize("lacking", LACKING)
def test_without_the_right_a_column_does_not_come_back_in_clear(former: FakeBigQuery, lacking: str) -> None:
    former.lacks, former.fails_open = LACKING[lacking]
    before = former.resource(VIEW)
    for _ in range(2):
        with pytest.raises(PolicyTagsDenied, match="Nothing was written"):
            run(former)
        assert former.resource(VIEW) == before
        assert former.names("VIEW") == [VIEW]
    former.lacks = set()
    run(former)
    assert tags(former) == {"email": "private"}
    assert former.names("VIEW") == [VIEW]


def test_the_taxonomies_of_present_and_of_returning_columns_are_all_proved(former: FakeBigQuery) -> None:
    other = "projects/p/locations/eu/taxonomies/2"
    former.change(
        VIEW, lambda view: view.update(view=json.loads(json.dumps(view["view"]).replace("taxonomies/1", other[-12:])))
    )
    former.change(VIEW, with_tag("secret", "id"))
    former.closed = {other}
    before = former.resource(VIEW)
    with pytest.raises(PolicyTagsDenied, match="Nothing was written"):
        run(former)
    assert former.resource(VIEW)["schema"] == before["schema"]
    former.closed = set()
    run(former)
    assert tags(former) == {"id": "secret", "email": "private"}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_during_the_proof_leaves_nothing_behind_for_long(former: FakeBigQuery, moment: str) -> None:
    for index in range(3, 6):
        crash_at(former, index, moment)
        with pytest.raises(Crash):
            run(former)
        former.before = former.after = lambda _: None
        assert tags(former) == {}
    run(former)
    assert tags(former) == {"email": "private"}
    assert former.names("VIEW") == [VIEW]


def test_a_present_tag_alone_takes_no_scratch_view(tagged: FakeBigQuery) -> None:
    with tagged.counted() as made:
        run(tagged, "fed")
    assert {request.name for request in made if request.kind in ("insert", "delete")} == set()


def test_the_tag_of_a_column_that_leaves_is_not_dropped_for_want_of_room(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(cloud)
    cloud.change(VIEW, with_tag("private", "email"))
    retired = with_rules(retired=frozenset({"def"}))
    plan = plan_refresh(BigQueryWarehouse(cloud.client()), BASE, retired)
    assert plan.draft
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", len(plan.draft.query) + 20)
    before = cloud.resource(VIEW)
    with pytest.raises(LimitExceeded, match="no room for the policy tags of the columns email"):
        run(cloud, settings=retired)
    assert cloud.resource(VIEW) == before


def test_a_form_is_taken_that_leaves_room_for_the_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = FakeBigQuery()
    for version in range(8):
        cloud.create_table(f"customer_v_{version}", "id INT64", f"a{version} STRING", f"b{version} STRING")
    run(cloud)
    cloud.change(VIEW, with_tag("secret", "id"))
    cloud.create_table("customer_v_8", "id INT64")
    forms = []
    for room in range(6_000, 1_000, -50):
        monkeypatch.setattr(onefold.views.unified_view, "MAX_TEXT", room)
        monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", room)
        plan = plan_refresh(BigQueryWarehouse(cloud.client()), BASE, Settings())
        assert plan.view
        forms.append(plan.view.form)
        run(cloud)
        assert tags(cloud) == {"id": "secret"}
    assert list(dict.fromkeys(forms)) == ["spelled", "compact", "two-level"]


# Policy tags that are not there


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


def test_an_error_without_a_known_name_is_repeated_word_for_word(tagged: FakeBigQuery) -> None:
    tagged.fail("permissions", 404, "notFound", "Nothing of the kind", times=10)
    with pytest.raises(TryAgain, match=r"10 tries, or it needs what is missing .*Nothing of the kind"):
        run(tagged, "fed")


# The rules themselves

SCHEMAS: dict[str, Callable[[], list[Resource]]] = {
    "a scalar": lambda: [rest_field("a", parse_type("INT64"))],
    "a struct": lambda: [rest_field("a", parse_type("STRUCT<b INT64, c STRING>"))],
    "an array of structs": lambda: [rest_field("a", parse_type("ARRAY<STRUCT<b INT64, c STRING>>"))],
}


@pytest.mark.parametrize("before", SCHEMAS)
@pytest.mark.parametrize("after", SCHEMAS)
def test_whatever_a_column_becomes_no_value_under_a_tag_is_left_without_one(before: str, after: str) -> None:
    old = SCHEMAS[before]()
    leaf = old[0]["fields"][1] if "fields" in old[0] else old[0]
    leaf["policyTags"] = {"names": [tag("secret")]}
    new = [SchemaField.from_api_repr(one) for one in SCHEMAS[after]()]
    (result,) = onefold.adapters.bigquery.annotations.with_annotations(new, old)
    if not result.fields:
        assert result.policy_tags == SchemaField.from_api_repr(leaf).policy_tags
    else:
        assert result.fields[1].policy_tags is not None
        assert (result.fields[0].policy_tags is not None) == (before == "a scalar")


def test_conflicts_are_found_below_structs_and_arrays_too() -> None:
    old = [rest_field("A", parse_type("ARRAY<STRUCT<b STRUCT<c INT64, d INT64>>>"))]
    for name, field in zip("xy", old[0]["fields"][0]["fields"], strict=True):
        field["policyTags"] = {"names": [tag(name)]}
    column = Column("a", parse_type("ARRAY<STRUCT<B STRING>>"))
    (conflict,) = onefold.adapters.bigquery.annotations.tag_conflicts([column], old)
    assert conflict.startswith("column a.B becomes STRING")
    assert not onefold.adapters.bigquery.annotations.tag_conflicts(
        [replace(column, type=parse_type("STRUCT<b STRUCT<c INT64>>"))], old
    )
