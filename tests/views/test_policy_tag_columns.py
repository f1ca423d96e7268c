"""Policy tags of columns whose type changes, and of columns that a view has no longer."""

from __future__ import annotations

import pytest
from refresh.test_crashes import crash_at
from support.fake_bigquery import Crash, FakeBigQuery
from support.refresh_shop import (
    VIEW,
    covered,
    run,
    tag,
    tags,
    with_rules,
    with_tag,
)
from support.rest import Resource
from support.rest_fields import rest_field

from onefold.adapters.bigquery.policy_tags import SET_TAGS
from onefold.core.errors import PolicyTagsDenied, SchemaConflict
from onefold.schema.types import parse_type


def addresses(*types: str) -> FakeBigQuery:
    """Return a view of a column `address`; its type in the view is that of the last version."""
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


def test_a_tag_of_a_field_moves_also_after_a_crash_between_the_writes() -> None:
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


def test_fields_that_share_a_tag_become_one_column_with_the_tag() -> None:
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
    expected = f"column address becomes JSON, and its fields have 2 policy tags ({tag('internal')}, {tag('secret')})"
    with pytest.raises(SchemaConflict) as refused:
        run(cloud, "1")
    assert expected in str(refused.value)
    assert cloud.resource(VIEW) == before


def test_a_tag_of_a_column_moves_to_the_fields_that_replace_the_column() -> None:
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


def test_the_tag_of_a_present_field_counts_and_not_that_of_a_former_field() -> None:
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
