"""What a registry takes as a schema: each rule, and every violation at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.core.errors import InvalidName, SchemaInvalid
from onefold.events.registry.json_schema import parse_key, parse_schema
from onefold.events.registry.schema_key import ModelKey

SELF = {"vendor": "com.acme", "name": "ad_click", "format": "jsonschema", "version": "1-0-0"}


def violations(schema: Any) -> dict[str, str]:
    """Return the violations of a schema by their place."""
    with pytest.raises(SchemaInvalid) as error:
        parse_schema(schema)
    assert all(violation.allowed and violation.problem for violation in error.value.violations)
    return {violation.path: str(violation) for violation in error.value.violations}


def described(**keywords: Any) -> dict[str, Any]:
    return {"self": SELF, "type": "object", **keywords}


def nested(levels: int) -> dict[str, Any]:
    """Return a schema whose JSON has this number of levels."""
    schema: dict[str, Any] = {}
    for _ in range((levels - 1) // 2):
        schema = {"properties": {"a": schema}}
    return {"self": SELF, **schema} if levels % 2 else {"self": SELF, "not": schema}


def test_a_schema_is_read_from_text_bytes_and_an_object() -> None:
    schema = described(properties={"größe": {"type": "integer"}})
    text = json.dumps(schema, ensure_ascii=False)
    read = {parse_schema(source).canonical for source in (schema, text, text.encode())}
    assert len(read) == 1
    assert parse_schema(text).key.path == "com.acme/ad_click/jsonschema/1-0-0"


def test_canonical_text_does_not_depend_on_the_order_of_keys() -> None:
    one = described(properties={"a": {}, "b": {}})
    other = {"properties": {"b": {}, "a": {}}, "type": "object", "self": dict(reversed(SELF.items()))}
    assert parse_schema(one).canonical == parse_schema(other).canonical


def test_all_violations_are_listed_with_place_and_remedy() -> None:
    broken = {"type": "strin", "properties": {"a": {"minLength": -1}, "b": {"required": True}}}
    found = violations({"self": {**SELF, "version": "1-0"}, **broken})
    assert set(found) == {"/self/version", "/type", "/properties/a/minLength", "/properties/b/required"}
    assert "integer, null, number" in found["/type"]
    assert "from 0" in found["/properties/a/minLength"]


@pytest.mark.parametrize("part", list(SELF))
def test_each_part_of_self_is_needed(part: str) -> None:
    own = {name: value for name, value in SELF.items() if name != part}
    assert list(violations({"self": own})) == [f"/self/{part}"]


def test_self_has_nothing_else_and_the_format_jsonschema() -> None:
    assert set(violations({"self": {**SELF, "format": "avro", "more": 1}})) == {"/self/more", "/self/format"}
    assert list(violations({})) == ["/self"]
    assert list(violations([])) == [""]


def test_depth_is_bounded() -> None:
    assert parse_schema(nested(50))
    assert "50 levels" in violations(nested(51))[""]
    assert "50 levels" in violations("[" * 200_000)[""]


@pytest.mark.parametrize(
    "reference",
    ["http://example.com/a", "file:///etc/passwd", "other.json", "//a", "#a", "#/definitions/b", "#/self/vendor", "#/self"],
)
def test_a_reference_stays_within_the_schema(reference: str) -> None:
    schema = described(properties={"a": {"$ref": reference}}, definitions={"a": {}})
    assert list(violations(schema)) == ["/properties/a/$ref"]
    assert parse_schema(described(properties={"a": {"$ref": "#/definitions/a"}}, definitions={"a": {}}))


def test_a_reference_is_the_fragment_of_a_uri() -> None:
    for name, reference in (("a b", "a%20b"), ("ü", "%C3%BC"), ("a/b", "a~1b"), ("a%b", "a%25b")):
        assert parse_schema(described(properties={"a": {"$ref": f"#/definitions/{reference}"}}, definitions={name: {}}))
    for name in ("a b", "ü", "a%b"):
        schema = described(properties={"a": {"$ref": f"#/definitions/{name}"}}, definitions={name: {}})
        assert list(violations(schema)) == ["/properties/a/$ref"]


@pytest.mark.parametrize(
    "target", [{"type": "strin"}, {"minimum": "a"}, {"pattern": "(?=a)"}, {"$ref": "http://example.com"}]
)
def test_a_reference_to_what_is_no_schema_is_refused(target: dict[str, Any]) -> None:
    schema = described(properties={"a": {"$ref": "#/examples/a"}}, examples={"a": target})
    assert "no valid schema" in violations(schema)[""]


def test_a_reference_that_is_never_decided_is_refused() -> None:
    assert list(violations({"self": SELF, "$ref": "#"})) == ["/$ref"]
    circle = {"a": {"$ref": "#/definitions/b"}, "b": {"allOf": [{"$ref": "#/definitions/a"}]}}
    assert set(violations(described(definitions=circle))) == {"/definitions/a/$ref", "/definitions/b/allOf/0/$ref"}
    assert parse_schema(described(properties={"child": {"$ref": "#"}}))


def test_id_is_refused_as_a_keyword_and_taken_as_a_property() -> None:
    assert list(violations(described(id="http://example.com/"))) == ["/id"]
    assert parse_schema(described(properties={"id": {"type": "string"}, "$ref": {"type": "string"}}))


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(", "x{1000}{1000}"])
def test_a_pattern_without_a_bound_of_its_time_is_refused(pattern: str) -> None:
    assert list(violations(described(properties={"a": {"pattern": pattern}}))) == ["/properties/a/pattern"]
    (place,) = violations(described(definitions={"a": {"patternProperties": {pattern: {}}}}))
    assert place.startswith("/definitions/a/patternProperties/")


def test_a_pattern_that_is_slow_elsewhere_is_taken() -> None:
    assert parse_schema(described(properties={"a": {"pattern": "^(a+)+$"}}))


@pytest.mark.parametrize("name", ["", "a\x00b", "a\nb"])
def test_a_property_that_cannot_be_a_column_is_refused(name: str) -> None:
    assert list(violations(described(properties={name: {}}))) == [f"/properties/{name}"]


def test_other_drafts_are_refused() -> None:
    assert list(violations(described(**{"$schema": "http://json-schema.org/draft-07/schema#"}))) == ["/$schema"]
    own = "http://iglucentral.com/schemas/com.snowplowanalytics.self-desc/schema/jsonschema/1-0-0#"
    for dialect in (own, own[:-1], "http://json-schema.org/draft-04/schema#"):
        assert parse_schema(described(**{"$schema": dialect}))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}', '{"a": "\\ud800"}', '{"\\udc00": 1}',
        '{"a": ' + "9" * 5_000 + "}", "{", "", "nul", b"\xff", b"\xef\xbb\xbf{}",
    ],
)  # fmt: skip
def test_a_text_that_readers_take_differently_is_refused(text: str | bytes) -> None:
    assert "/self" not in violations(text)


def test_a_value_that_json_does_not_have_is_refused() -> None:
    assert list(violations(described(minimum=float("inf")))) == ["/minimum"]
    assert list(violations(described(default={1: 2}))) == ["/default"]


KEYS = st.sampled_from(["type", "properties", "items", "enum", "$ref", "a", "required", "id", "pattern"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)


@given(JSON)
def test_any_json_is_a_schema_or_a_list_of_violations(value: Any) -> None:
    schema = {**value, "self": SELF} if isinstance(value, dict) else value
    try:
        assert parse_schema(schema).json == schema
    except SchemaInvalid as error:
        found = error
    else:
        return
    assert all(str(violation) for violation in found.violations)
    assert found.violations


def test_only_the_format_jsonschema_has_columns() -> None:
    assert parse_key("iglu:com.acme/ad_click/jsonschema/1-0-0").name == "ad_click"
    with pytest.raises(InvalidName, match="avro"):
        parse_key("iglu:com.acme/ad_click/avro/1-0-0")


@pytest.mark.parametrize(
    ("schema", "place", "told"),
    [
        (described(properties={"": {}}), "/properties/", "a name of at least one character"),
        (described(properties={"a": {"$ref": "http://a.com/b#"}}), "/properties/a/$ref", "the URI of one in a registry"),
        ({"self": {**SELF, "version": f"{10**21 - 1}-0-0"}}, "/self/version", "9 digits at most"),
    ],
)
def test_a_violation_says_what_to_do_about_its_own_cause(schema: Any, place: str, told: str) -> None:
    assert told in violations(schema)[place]


def test_a_model_of_too_many_digits_is_told_their_number() -> None:
    with pytest.raises(InvalidName, match="9 digits at most"):
        ModelKey.parse(f"com.acme/a/jsonschema/{10**21 - 1}")
