"""Self-describing JSON Schemas (Draft 4): parsed, and checked by every rule that a registry has for one schema alone."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from onefold.core.errors import InvalidName, SchemaInvalid, Violation
from onefold.core.text import shortened, shown_list
from onefold.events.registry.json_text import pointer, read_json, value_violations
from onefold.events.registry.references import foreign_references, local_violations
from onefold.events.registry.schema_key import SchemaKey, SchemaVer, part_problems
from onefold.events.registry.subschemas import Json, subschemas
from onefold.events.registry.validator import DRAFT_4, NOT_VALIDATED, PATTERNS, validator_of

FORMAT = "jsonschema"
SELF_DESCRIBING = "http://iglucentral.com/schemas/com.snowplowanalytics.self-desc/schema/jsonschema/1-0-0#"
_DIALECTS = {uri.removesuffix("#") for uri in (DRAFT_4, SELF_DESCRIBING)}
_REFERENCE = "refer to a schema below #/definitions"
_ALLOWED = {
    "type": "use array, boolean, integer, null, number, object, string, or a list of different ones",
    "required": "use a list of at least one name, each once; leave the keyword out where nothing is required",
    "enum": "use a list of at least one value, each once",
    "properties": "use an object of schemas",
    "patternProperties": "use an object of schemas",
    "definitions": "use an object of schemas",
    "dependencies": "use an object of schemas or lists of names",
    "items": "use a schema or a list of at least one schema",
    "multipleOf": "use a number above 0",
    "pattern": "use a regular expression without look-around and back references",
    "exclusiveMinimum": "use true or false beside minimum, as Draft 4 has it",
    "exclusiveMaximum": "use true or false beside maximum, as Draft 4 has it",
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), "use a list of at least one schema"),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), "use a whole number from 0"
    ),
    **dict.fromkeys(("minimum", "maximum"), "use a number"),
    **dict.fromkeys(("additionalProperties", "additionalItems"), "use true, false or a schema"),
    **dict.fromkeys(("title", "description", "format", "$schema", "id"), "use text"),
}


@dataclass(frozen=True)
class JsonSchema:
    """A self-describing schema.

    Attributes:
        key: its identity, from `self`.
        json: the whole schema, `self` included.
    """

    key: SchemaKey
    json: Json

    @property
    def canonical(self) -> str:
        """The schema as one line of JSON with sorted keys: equal texts are equal schemas."""
        return json.dumps(self.json, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def parse_schema(source: str | bytes | Json) -> JsonSchema:
    """Return the schema of a JSON text, or of a JSON object that was read already.

    Examples:
        >>> own = {"vendor": "com.acme", "name": "ad_click", "format": "jsonschema", "version": "1-0-0"}
        >>> parse_schema({"self": own, "type": "object"}).key.path
        'com.acme/ad_click/jsonschema/1-0-0'

    Raises:
        SchemaInvalid: the schema breaks rules; the error lists all violations, each with its place and what is allowed.
    """
    value = read_json(source) if isinstance(source, str | bytes) else source
    violations = value_violations(value) if value is source else []
    if not isinstance(value, dict):
        violations.append(Violation("", "not an object", "use a JSON object with `self`"))
    # The other checks read a value of bounded depth.
    violations = violations or [*_self_violations(value), *_metaschema_violations(value)]
    violations = violations or list(_rule_violations(value))
    violations = violations or list(_compile_violations(value))
    if violations:
        raise SchemaInvalid(violations)
    own = value["self"]
    return JsonSchema(SchemaKey(own["vendor"], own["name"], own["format"], SchemaVer.parse(own["version"])), value)


def other_format(name: str) -> str:
    """Return why a schema of another format than JSON Schema cannot be used."""
    return f"the format {name} is not known: use {FORMAT}"


def _self_violations(schema: Json) -> Iterator[Violation]:
    own = schema.get("self")
    parts = ("vendor", "name", "format", "version")
    if not isinstance(own, dict):
        yield Violation("/self", "missing or not an object", f"add `self` with {shown_list(parts)}")
        return
    for part in parts:
        if part not in own:
            yield Violation(pointer("self", part), "missing", f"add the {part} of the schema")
        else:
            yield from (
                Violation(pointer("self", part), *problem.split(": ", 1)) for problem in part_problems(part, own[part])
            )
    for part in own.keys() - set(parts):
        yield Violation(pointer("self", part), "unknown", f"`self` has {shown_list(parts)} only")
    if own.get("format", FORMAT) != FORMAT and not part_problems("format", own["format"]):
        yield Violation("/self/format", *other_format(own["format"]).split(": ", 1))


@functools.cache
def _metaschema() -> jsonschema_rs.Draft4Validator:
    return jsonschema_rs.Draft4Validator({"$ref": DRAFT_4}, retriever=_refuse)


def _refuse(uri: str) -> Any:
    raise SchemaInvalid([Violation("", f"{uri} is not in the schema", "use references within the schema only")])


def _metaschema_violations(schema: Json) -> Iterator[Violation]:
    dialect = schema.get("$schema", DRAFT_4)
    if isinstance(dialect, str) and dialect.removesuffix("#") not in _DIALECTS:
        yield Violation("/$schema", f"{shortened(dialect)} is not supported", f"use {SELF_DESCRIBING} or {DRAFT_4}")
    for error in _metaschema().iter_errors(schema):
        steps = error.instance_path
        shown = shortened(json.dumps(error.instance, ensure_ascii=False))
        problem = f"{shown} is not valid" if error.schema_path[-1] == "anyOf" else shortened(error.message)[1:-1]
        keyword = next((step for step in reversed(steps) if step in _ALLOWED), "")
        yield Violation(pointer(*steps), problem, _ALLOWED.get(str(keyword), "use a JSON Schema of Draft 4"))


def _rule_violations(schema: Json) -> Iterator[Violation]:
    rules = {name: value for name, value in schema.items() if name not in NOT_VALIDATED}
    for path, inner in subschemas(schema):
        if "id" in inner:
            yield Violation(path + "/id", "changes what references mean", "remove it: `self` identifies the schema")
        if "$ref" in inner:
            yield from local_violations(rules, path, inner["$ref"])
        patterns = [("pattern", inner["pattern"])] if "pattern" in inner else []
        patterns += [(pointer("patternProperties", key)[1:], key) for key in inner.get("patternProperties", {})]
        yield from (
            violation for place, pattern in patterns for violation in _pattern_violations(f"{path}/{place}", pattern)
        )
        yield from (violation for name in inner.get("properties", {}) for violation in _name_violations(path, name))


def _compile_violations(schema: Json) -> Iterator[Violation]:
    """Yield why the validator cannot use a schema: a reference may lead to a place that the other checks take for data.

    A schema that refers to others is compiled with them, by `references.referred_schemas`.
    """
    if foreign_references(schema) or not any("$ref" in inner for _, inner in subschemas(schema)):
        return
    try:
        validator_of(schema)
    except ValueError as error:
        yield Violation("", f"a reference leads to no valid schema: {shortened(str(error).splitlines()[0])}", _REFERENCE)


def _pattern_violations(path: str, pattern: str) -> Iterator[Violation]:
    try:
        jsonschema_rs.Draft4Validator({"pattern": pattern}, pattern_options=PATTERNS, retriever=_refuse)
    except ValueError:
        problem = f"{shortened(pattern)} is no regular expression, too large, or its time has no bound"
        yield Violation(path, problem, _ALLOWED["pattern"])


def _name_violations(path: str, name: str) -> Iterator[Violation]:
    if not name or any(character < " " for character in name):
        place = path + pointer("properties", name)
        yield Violation(
            place, "a column cannot have this name", "use a name of at least one character, and no control characters"
        )


def parse_key(text: str) -> SchemaKey:
    """Return the schema that a URI or a path names; only the format `jsonschema` has columns.

    Raises:
        InvalidName: the text is not a schema's URI or path, or has another format.
    """
    key = SchemaKey.parse(text)
    if key.format != FORMAT:
        raise InvalidName(f"{text}: {other_format(key.format)}")
    return key
