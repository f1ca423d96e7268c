"""What people put on a view and its columns survives every refresh, broken ones too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.fake_bigquery import Crash, FakeBigQuery, Request
from support.refresh_shop import GET, PATCH, PERMISSIONS, QUERY, VIEW, annotate, covered, is_annotated, run
from support.rest_fields import rest_field

from onefold.schema.types import parse_type

# What people put on the view


@pytest.fixture
def described(cloud: FakeBigQuery) -> FakeBigQuery:
    """A view that people described, nested fields included, and a version that it does not cover yet."""
    cloud.create_table("customer_v_1e57ed", "address STRUCT<street STRING, zip INT64>")
    run(cloud)
    cloud.change(VIEW, annotate)
    cloud.create_table("customer_v_fed", "id INT64", "phone STRING")
    return cloud


def test_descriptions_labels_and_policy_tags_survive_at_the_price_of_three_requests(described: FakeBigQuery) -> None:
    with described.counted() as made:
        run(described, "fed")
    assert made == [GET, QUERY, PERMISSIONS, PATCH, PATCH, PATCH]
    assert is_annotated(described)
    assert covered(described) == {"abc", "def", "1e57ed", "fed"}


def test_the_next_refresh_finds_nothing_to_do(described: FakeBigQuery) -> None:
    run(described, "fed")
    with described.counted() as made:
        run(described)
        run(described, "fed")
    assert made == [GET, QUERY, GET, Request("get", "customer_v_fed")]


def test_they_survive_another_writer_between_the_two_writes(described: FakeBigQuery) -> None:
    interfere(described, lambda: described.change(VIEW, lambda resource: resource["labels"].update(cost="low")))
    run(described, "fed")
    assert is_annotated(described)
    assert described.resource(VIEW)["labels"]["cost"] == "low"


def test_they_survive_another_refresh_between_the_two_writes(described: FakeBigQuery) -> None:
    def overtake() -> None:
        described.create_table("customer_v_fee", "id INT64")
        run(described, "fee")

    interfere(described, overtake)
    run(described, "fed")
    assert is_annotated(described)
    assert covered(described) == {"abc", "def", "1e57ed", "fed", "fee"}


def test_they_survive_a_crash_between_the_two_writes_though_the_view_covers_the_version(described: FakeBigQuery) -> None:
    def crash() -> None:
        raise Crash

    interfere(described, crash)
    with pytest.raises(Crash):
        run(described, "fed")
    assert not is_annotated(described)
    run(described, "fed")
    assert is_annotated(described)


def interfere(cloud: FakeBigQuery, act: Callable[[], None]) -> None:
    """Act between the write of the text and that of the columns."""

    def after(made: Request) -> None:
        if made == PATCH and "onefold_unfinished" in cloud.resource(VIEW)["labels"]:
            cloud.after = lambda _: None
            act()

    cloud.after = after


def test_the_view_says_what_can_be_lost_below_what_people_say(cloud: FakeBigQuery) -> None:
    cloud.create_table("customer_v_fed", "id INT64", "name BYTES")
    run(cloud)
    cloud.change(VIEW, lambda resource: resource.update(description="Our customers.\n\n" + resource["description"]))
    cloud.create_table("customer_v_fee", "email BYTES")
    run(cloud, "fee")
    description = cloud.resource(VIEW)["description"]
    assert description.startswith("Our customers.\n\n[onefold: conversions that can lose values\n")
    assert "- name: " in description
    assert "- email: " in description
    assert description.count("[onefold:") == 1
    for lossy in ("fed", "fee"):
        cloud.drop(f"customer_v_{lossy}")
    run(cloud)
    assert cloud.resource(VIEW)["description"] == "Our customers."


def test_a_retyped_column_is_reported_with_both_types(cloud: FakeBigQuery) -> None:
    cloud.schema_of = lambda _: [rest_field(name, parse_type(kind)) for name, kind in (("id", "INT64"), ("name", "STRING"))]
    cloud.drop("customer_v_def")
    run(cloud)
    cloud.create_table("customer_v_fed", "id STRING")
    assert [str(change) for change in run(cloud, "fed").changes] == ["retyped id INT64 -> STRING"]
