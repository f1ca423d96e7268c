"""A part of a public registry: the schemas that its data refers to, as they are published."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from onefold.core.errors import OnefoldError
from onefold.events.registry.ddl import TARGETS
from onefold.events.registry.import_plan import ImportPlan, KnownSchemas, plan_import
from onefold.events.registry.index import Index
from onefold.events.registry.json_schema import JsonSchema, other_format, parse_schema
from onefold.events.registry.published import Published
from onefold.events.registry.schema_key import ModelKey, SchemaKey

PART = Path(__file__).parents[3] / "shared" / "data" / "iglu_central_part.json"
needs_the_part = pytest.mark.skipif(not PART.exists(), reason=f"{PART} is not there")


@cache
def documents() -> dict[str, Any]:
    """Return the schemas by vendor/name/format/version."""
    return json.loads(PART.read_text())["schemas"]  # type: ignore[no-any-return]


@cache
def imported() -> ImportPlan:
    """Import them into an empty registry, in the order of their versions."""
    schemas: dict[SchemaKey, JsonSchema] = {}
    left_out: dict[str, str] = {}
    for path in sorted(documents(), key=SchemaKey.parse):
        key = SchemaKey.parse(path)
        try:
            schemas[key] = parse_schema(json.dumps(documents()[path]))
        except OnefoldError as error:
            left_out[key.uri] = other_format(key.format) if key.format != "jsonschema" else str(error)
    known = KnownSchemas(Index(), (), lambda _: None, TARGETS)
    return plan_import(known, Published(tuple(schemas.values()), frozenset(schemas), left_out), "2026-11-26T18:00:00Z")


def models() -> dict[ModelKey, tuple[JsonSchema, ...]]:
    """Return the versions of each model."""
    found: dict[ModelKey, list[JsonSchema]] = {}
    for schema in imported().added:
        found.setdefault(schema.key.model_key, []).append(schema)
    return {model: tuple(schemas) for model, schemas in found.items()}


def rules_of(schema: JsonSchema) -> dict[str, Any]:
    """Return the rules of a schema without what describes it."""
    return {name: value for name, value in schema.json.items() if name not in ("self", "$schema")}
