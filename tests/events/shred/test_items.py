"""Items of arrays in BigQuery: a value has one spelling in a column, whichever version of the schema it came with."""

from __future__ import annotations

from typing import Any

import pytest
from support.shred_events import parsed
from support.shred_scene import cells, entity, plan, shred

from onefold.events.registry.json_schema import JsonSchema


def tags(version: str, *types: str) -> JsonSchema:
    items: dict[str, Any] = {"type": types[0]} if len(types) == 1 else {"type": list(types)}
    return parsed({"type": "object", "properties": {"tags": {"type": "array", "items": items}}}, version)


PLAIN, NULLABLE, MIXED = tags("1-0-0", "string"), tags("1-0-1", "string", "null"), tags("1-0-2", "string", "integer")


def column(made: Any, schema: JsonSchema, value: list[Any]) -> Any:
    outcome = shred(made, entity(schema, tags=value))
    assert outcome.bad is None, outcome.bad
    return cells(made, outcome)["tags"]


@pytest.mark.parametrize("later", [NULLABLE, MIXED])
def test_a_text_is_plain_where_the_first_version_had_texts_only(later: JsonSchema) -> None:
    made = plan(PLAIN, later, format_="parquet")
    assert {table.name for table in made.tables} == {"events", "com_acme_ad_click_1"}
    assert column(made, PLAIN, ["a", 'b "c"']) == column(made, later, ["a", 'b "c"']) == ["a", 'b "c"']


def test_what_is_no_text_is_json_among_plain_texts() -> None:
    made = plan(PLAIN, NULLABLE, MIXED, format_="parquet")
    assert column(made, NULLABLE, ["a", None]) == ["a", "null"]
    assert column(made, MIXED, ["a", 1]) == ["a", "1"]


def test_a_text_is_json_where_the_first_version_had_other_items_too() -> None:
    first, later = tags("1-0-0", "string", "null"), tags("1-1-0", "string")
    made = plan(first, later, format_="parquet")
    assert column(made, first, ["a", None, "null"]) == ['"a"', "null", '"null"']
    assert column(made, later, ["a", "null"]) == ['"a"', '"null"']
