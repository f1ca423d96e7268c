"""A column whose type is newer than this release: the view shows it as it is, as long as all versions agree."""

from __future__ import annotations

import pytest
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import covered, run, with_rules
from support.rest import PROJECT

from onefold.core.errors import SchemaConflict
from onefold.schema.types import parse_type

VIEW = f"{PROJECT}.shop.customer_unified"


def shop(*columns: str) -> FakeBigQuery:
    cloud = FakeBigQuery()
    for number, column in enumerate(columns):
        cloud.create_table(f"customer_v_{number:03}", "id INT64", column)
    return cloud


@pytest.mark.parametrize("conversions", ["lossless", "classic"])
@pytest.mark.parametrize("type_", ["UUID", "VECTOR<FLOAT64>", "ARRAY<UUID>"])
def test_a_column_of_an_unknown_type_stays_as_it_is_where_all_versions_agree(type_: str, conversions: str) -> None:
    cloud = shop(f"key {type_}", f"KEY {type_}", "name STRING")
    plan = run(cloud, settings=with_rules(conversions=conversions))
    assert plan.view
    assert [f"{column.name} {column.type}" for column in plan.view.columns] == ["id INT64", f"key {type_}", "name STRING"]
    branches = plan.view.query.split("UNION ALL")
    assert [line for line in branches[2].splitlines() if "key" in line] == [f"  CAST(NULL AS {type_}) AS `key`,"]
    assert "CAST(v" not in plan.view.query, "no value is converted"
    assert covered(cloud) == {"000", "001", "002"}


def test_a_field_of_an_unknown_type_stays_as_it_is_while_the_fields_beside_it_are_joined() -> None:
    plan = run(shop("s STRUCT<a UUID, b INT64>", "s STRUCT<a UUID, b NUMERIC, c STRING>"))
    assert plan.view
    assert str(plan.view.columns[1].type) == "STRUCT<a UUID, b NUMERIC, c STRING>"
    assert "v.`s`.`a` AS `a`" in plan.view.query


@pytest.mark.parametrize("conversions", ["lossless", "classic"])
def test_versions_that_disagree_are_an_error_that_names_view_column_types_and_versions(conversions: str) -> None:
    cloud = shop("key UUID", "Key UUID", "key STRING")
    cloud.create_table("customer_v_def", "id INT64", "tags ARRAY<VECTOR>")
    cloud.create_table("customer_v_fed", "id INT64", "tags VECTOR<INT64>")
    with pytest.raises(SchemaConflict) as refused:
        run(cloud, settings=with_rules(conversions=conversions))
    first, second = refused.value.problems
    assert first.startswith(f"{VIEW}, column key: UUID in 000, 001, STRING in 002: ")
    assert "does not know the type UUID" in first
    assert second.startswith(f"{VIEW}, column tags: ARRAY<VECTOR> in def, VECTOR<INT64> in fed: ")
    assert cloud.names("VIEW") == []


def test_a_column_of_an_unknown_type_is_not_converted_to_a_target_type() -> None:
    with pytest.raises(SchemaConflict, match="column key of version 000: UUID cannot be converted to STRING"):
        run(shop("key UUID"), settings=with_rules(types=(("key", parse_type("STRING")),)))
