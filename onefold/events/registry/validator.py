"""The validator of data by a schema: Draft 4 with every format asserted, and no look outside the schemas that are given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from onefold.events.registry.multiple_of import MultipleOf
from onefold.events.registry.subschemas import Json

PATTERNS = jsonschema_rs.RegexOptions(size_limit=1 << 20)
"""The engine of patterns: its time is linear in the length of the text, and a compiled pattern takes at most 1 MiB."""
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
_DRAFT_4_BY_HTTPS = "https://json-schema.org/draft-04/schema"
DRAFT_4_NAMES = (DRAFT_4.removesuffix("#"), _DRAFT_4_BY_HTTPS)
"""The schema of schemas, which the validator has. Its own name begins with http:, and schemas use the other one, too."""
NOT_VALIDATED = ("$schema", "self")
"""The keywords of a self-describing schema that say nothing about data."""
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def validator_of(schema: Json, others: Mapping[str, Json] | None = None) -> jsonschema_rs.Draft4Validator:
    """Return the validator of a self-describing schema.

    Args:
        schema: the schema.
        others: all schemas that it refers to, by their URIs without `#`; see `references.referred_schemas`.

    Examples:
        >>> validator_of({"self": {}, "type": "integer"}).is_valid(5)
        True
        >>> uri = "iglu:com.acme/id/jsonschema/1-0-0"
        >>> validator_of({"$ref": uri}, {uri: {"minimum": 1}}).is_valid(0)
        False

    Raises:
        ValueError: the schema cannot be compiled. `parse_schema` and `referred_schemas` refuse such schemas.
    """
    known = {_DRAFT_4_BY_HTTPS: {"$ref": DRAFT_4}, **(others or {})}

    def retrieve(uri: str) -> dict[str, Any]:
        if uri in known:
            return {"$schema": DRAFT_4, **_rules(known[uri])}
        raise ValueError(f"{uri} is not among the schemas")

    return jsonschema_rs.Draft4Validator(
        _rules(schema),
        validate_formats=True,
        formats={"uuid": _is_uuid},
        retriever=retrieve,
        pattern_options=PATTERNS,
        keywords={"multipleOf": MultipleOf},
    )


def _rules(schema: Json) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in NOT_VALIDATED}


def _is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None
