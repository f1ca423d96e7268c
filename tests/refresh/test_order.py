"""A view that exists keeps the order and the spelling of its columns and fields, whatever happens to its versions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.cloud import bigquery
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import PATCH, VIEW, before_next, run, with_rules
from support.rest import PROJECT, Resource
from support.rest_fields import rest_field
from support.zetasql_judge import Judge

from onefold.adapters.bigquery.schema import columns_of
from onefold.refresh.plan import ViewPlan
from onefold.schema.types import parse_type, render_type

OLD = ("Id INT64", "Address STRUCT<Street STRING, zip INT64>", "name STRING")
NEW = ("email STRING", "NAME STRING", "address STRUCT<city STRING, ZIP INT64, street STRING>", "ID INT64")
ORDER = ["Id", "Address.Street", "Address.zip", "Address.city", "name", "email"]


@pytest.fixture
def shop(judge: Judge) -> FakeBigQuery:
    """Two versions and no view; views have the columns that the analyzer finds in their text."""
    cloud = analyzed(judge)
    cloud.create_table("customer_v_abc", *OLD)
    cloud.create_table("customer_v_def", *NEW)
    return cloud


def analyzed(judge: Judge) -> FakeBigQuery:
    cloud = FakeBigQuery()

    def schema_of(query: str) -> list[Resource]:
        tables = {f"{PROJECT}.shop.{name}": _columns(found) for name, found in cloud.datasets["shop"].items()}
        return [rest_field(name, parse_type(type_)) for name, type_ in judge.columns(query, tables)]

    cloud.schema_of = schema_of
    return cloud


def _columns(resource: Resource) -> list[tuple[str, str]]:
    fields = [bigquery.SchemaField.from_api_repr(field) for field in resource["schema"]["fields"]]
    return [(column.name, render_type(column.type)) for column in columns_of(fields)]


def paths(cloud: FakeBigQuery) -> list[str]:
    """The paths of the columns and fields that hold values, in the order in which people see them."""

    def found(fields: list[Resource], prefix: str) -> list[str]:
        nested = [
            found(one["fields"], f"{prefix}{one['name']}.") if "fields" in one else [prefix + one["name"]] for one in fields
        ]
        return [path for group in nested for path in group]

    return found(cloud.resource(VIEW)["schema"]["fields"], "")


def retire_the_oldest(cloud: FakeBigQuery) -> ViewPlan:
    return run(cloud, settings=with_rules(retired=frozenset({"abc"})))


def drop_the_oldest(cloud: FakeBigQuery) -> ViewPlan:
    cloud.drop("customer_v_abc")
    return run(cloud)


def create_the_oldest_again(cloud: FakeBigQuery) -> ViewPlan:
    cloud.drop("customer_v_abc")
    cloud.create_table("customer_v_abc", *OLD)
    return run(cloud)


def drop_the_oldest_and_create_it_later(cloud: FakeBigQuery) -> ViewPlan:
    drop_the_oldest(cloud)
    cloud.create_table("customer_v_abc", *OLD)
    return run(cloud)


@pytest.mark.parametrize(
    "act", [retire_the_oldest, drop_the_oldest, create_the_oldest_again, drop_the_oldest_and_create_it_later]
)
def test_the_oldest_version_goes_and_nothing_moves(shop: FakeBigQuery, act: Callable[[FakeBigQuery], ViewPlan]) -> None:
    run(shop)
    assert paths(shop) == ORDER
    plan = act(shop)
    assert paths(shop) == ORDER
    assert plan.changes == ()


def test_a_new_column_and_a_new_field_come_last_even_in_an_older_version(shop: FakeBigQuery) -> None:
    run(shop)
    shop.drop("customer_v_abc")
    shop.create_table("customer_v_abc", "first DATE", "address STRUCT<country STRING, zip INT64>", "id INT64")
    plan = run(shop)
    assert paths(shop) == [*ORDER[:4], "Address.country", *ORDER[4:], "first"]
    assert sorted(map(str, plan.changes)) == ["added Address.country STRING", "added first DATE"]


def test_a_column_that_leaves_and_comes_back_comes_last(shop: FakeBigQuery) -> None:
    run(shop)
    shop.drop("customer_v_def")
    assert [str(change) for change in run(shop).changes] == ["removed Address.city STRING", "removed email STRING"]
    shop.create_table("customer_v_fed", "email STRING", "phone STRING", "id INT64")
    run(shop)
    assert paths(shop) == ["Id", "Address.Street", "Address.zip", "name", "email", "phone"]


def test_a_view_made_anew_has_the_order_of_the_versions(shop: FakeBigQuery) -> None:
    run(shop)
    shop.drop(VIEW)
    shop.drop("customer_v_abc")
    shop.create_table("customer_v_abc", *OLD)
    run(shop)
    assert paths(shop) == ["email", "NAME", "address.city", "address.ZIP", "address.street", "ID"]


def test_the_fields_of_a_target_type_have_the_order_and_the_spelling_of_the_settings_and_that_is_announced(
    shop: FakeBigQuery,
) -> None:
    run(shop)
    rules = with_rules(types=(("address", parse_type("STRUCT<zip INT64, street STRING, city STRING>")),))
    plan = run(shop, settings=rules)
    assert paths(shop) == ["Id", "Address.zip", "Address.street", "Address.city", "name", "email"]
    assert [f"{change.severity.name} {change}" for change in plan.changes] == [
        "WARNING respelled Address.Street Street -> street",
        "CRITICAL reordered Address Street, zip, city -> zip, street, city",
    ]
    assert run(shop, settings=rules).action == "none"


def test_an_order_that_people_gave_the_view_stays(shop: FakeBigQuery) -> None:
    run(shop)
    shop.change(VIEW, lambda resource: resource["schema"]["fields"].reverse())
    shop.create_table("customer_v_fed", "phone STRING")
    plan = run(shop)
    assert paths(shop) == ["email", "name", *ORDER[1:4], "Id", "phone"]
    assert [str(change) for change in plan.changes] == ["added phone STRING"]


def test_a_version_column_comes_first_in_a_new_view_and_last_in_one_that_exists(shop: FakeBigQuery) -> None:
    rules = with_rules(version_column="_version")
    run(shop)
    plan = run(shop, settings=rules)
    assert paths(shop) == [*ORDER, "_version"]
    assert [str(change) for change in plan.changes] == ["added _version STRING"]
    shop.drop(VIEW)
    run(shop, settings=rules)
    assert paths(shop)[0] == "_version"


def test_the_order_is_that_of_the_view_that_another_process_wrote_meanwhile(shop: FakeBigQuery) -> None:
    run(shop)
    shop.create_table("customer_v_fed", "phone STRING")

    before_next(shop, PATCH, lambda: shop.change(VIEW, lambda resource: resource["schema"]["fields"].reverse()))
    run(shop)
    assert paths(shop)[0] == "email"
    assert paths(shop)[-1] == "phone"


@pytest.mark.usefixtures("small_texts")
def test_two_levels_keep_their_order_too(judge: Judge) -> None:
    cloud = analyzed(judge)
    for number in range(20):
        cloud.create_table(f"customer_v_{number:03}", *("b INT64", "a STRING")[:: 1 if number == 0 else -1])
    plan = run(cloud)
    assert plan.view
    assert plan.view.form == "two-level"
    cloud.drop("customer_v_000")
    run(cloud)
    assert paths(cloud) == ["b", "a"]
