"""References to other schemas are resolved among given schemas, and never by a look into a network or a file."""

from __future__ import annotations

from typing import Any

import pytest

from onefold.core.errors import SchemaInvalid
from onefold.events.registry.columns import table_of
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.references import referred_schemas
from onefold.events.registry.validator import validator_of

USER = "iglu:com.acme/user/jsonschema/1-0-0"
PUBLISHED = "http://iglucentral.com/schemas/com.acme/user/jsonschema/1-0-0"


def schema(name: str, **rules: Any) -> JsonSchema:
    own = {"vendor": "com.acme", "name": name, "format": "jsonschema", "version": "1-0-0"}
    return parse_schema({"self": own, **rules})


def visit(reference: str) -> JsonSchema:
    return schema("visit", type="object", properties={"user": {"$ref": reference}})


USERS = schema(
    "user",
    type="object",
    properties={"age": {"$ref": "#/definitions/age"}},
    required=["age"],
    definitions={"age": {"type": "integer", "maximum": 200, "exclusiveMaximum": True}, "fee": {"multipleOf": 0.01}},
)


def resolved(one: JsonSchema, *others: JsonSchema) -> dict[str, Any]:
    by_key = {other.key: other for other in (one, *others)}
    return referred_schemas(one, by_key.get)


@pytest.mark.parametrize("reference", [USER, f"{USER}#", PUBLISHED, f"{PUBLISHED}#", PUBLISHED.replace("http:", "https:")])
def test_a_reference_to_a_schema_of_the_registry_validates_data(reference: str) -> None:
    one = visit(reference)
    validator = validator_of(one.json, resolved(one, USERS))
    assert [validator.is_valid({"user": {"age": age}}) for age in (5, 199, 200, "5")] == [True, True, False, False]
    assert [validator.is_valid({"user": user}) for user in ({"name": "a"}, 5)] == [False, False]


def test_a_reference_may_lead_into_another_schema_whose_rules_are_the_same_there() -> None:
    one = visit(f"{USER}#/definitions/fee")
    validator = validator_of(one.json, resolved(one, USERS))
    assert [validator.is_valid({"user": fee}) for fee in (1.1, 1.115)] == [True, False]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_schema_of_draft_4_is_known(scheme: str) -> None:
    one = visit(f"{scheme}://json-schema.org/draft-04/schema")
    validator = validator_of(one.json, resolved(one))
    assert [validator.is_valid({"user": rules}) for rules in ({"type": "integer"}, {"type": "int"})] == [True, False]


def test_schemas_may_refer_to_each_other_where_each_step_leads_into_the_value() -> None:
    folder = schema("folder", properties={"owner": {"$ref": "iglu:com.acme/owner/jsonschema/1-0-0"}})
    owner = schema("owner", type="object", properties={"home": {"$ref": "iglu:com.acme/folder/jsonschema/1-0-0"}})
    validator = validator_of(folder.json, resolved(folder, owner))
    assert [validator.is_valid({"owner": {"home": {"owner": value}}}) for value in ({"home": "x"}, 5)] == [True, False]


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        (USER, f"/properties/user/$ref: no schema {USER} is known"),
        (PUBLISHED, f"/properties/user/$ref: no schema {USER} is known"),
        (f"{USER}#/definitions/name", f"/properties/user/$ref: '{USER}#/definitions/name' does not exist"),
        (f"{USER}#/self", f"/properties/user/$ref: '{USER}#/self' does not exist"),
        ("http://json-schema.org/draft-04/schema#/definitions/none", "a reference leads to no valid schema"),
    ],
)
def test_a_reference_that_leads_to_nothing_is_named(reference: str, problem: str) -> None:
    others = [] if "is known" in problem else [USERS]
    with pytest.raises(SchemaInvalid, match=r".") as error:
        resolved(visit(reference), *others)
    assert problem in str(error.value)


def test_a_reference_of_a_schema_that_is_referred_to_has_to_be_resolved_too() -> None:
    with pytest.raises(SchemaInvalid) as error:
        resolved(schema("tour", items=visit(USER).json, **{"$ref": visit(USER).key.uri}), visit(USER))
    told = str(error.value)
    assert "iglu:com.acme/visit/jsonschema/1-0-0, /properties/user/$ref: no schema iglu:com.acme/user/" in told


def test_schemas_that_refer_to_each_other_for_the_same_value_are_refused() -> None:
    one, other = (schema(name, allOf=[{"$ref": f"iglu:com.acme/{next_}/jsonschema/1-0-0"}]) for name, next_ in ("ab", "ba"))
    with pytest.raises(SchemaInvalid, match="leads back to itself"):
        resolved(one, other)


def test_a_reference_is_one_column_whatever_it_leads_to() -> None:
    assert [(column.name, str(column.type)) for column in table_of([visit(USER)]).columns] == [("user", "VARCHAR(4096)")]
