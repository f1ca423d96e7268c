"""The rules by which policy tags pass from the columns of a view to those of its next text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from google.cloud.bigquery import SchemaField
from support.refresh_shop import (
    tag,
)
from support.rest import Resource
from support.rest_fields import rest_field

import onefold.adapters.bigquery.annotations
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

SCHEMAS: dict[str, Callable[[], list[Resource]]] = {
    "a scalar": lambda: [rest_field("a", parse_type("INT64"))],
    "a struct": lambda: [rest_field("a", parse_type("STRUCT<b INT64, c STRING>"))],
    "an array of structs": lambda: [rest_field("a", parse_type("ARRAY<STRUCT<b INT64, c STRING>>"))],
}


@pytest.mark.parametrize("before", SCHEMAS)
@pytest.mark.parametrize("after", SCHEMAS)
def test_no_tagged_value_loses_its_tag_when_a_column_changes_its_type(before: str, after: str) -> None:
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
