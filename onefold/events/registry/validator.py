"""The validator of data by a schema: Draft 4 with every format asserted, and no look outside the schema."""

from __future__ import annotations

import re
from typing import NoReturn

import jsonschema_rs

from onefold.events.registry.multiple_of import MultipleOf
from onefold.events.registry.subschemas import Json

PATTERNS = jsonschema_rs.RegexOptions(size_limit=1 << 20)
"""The engine of patterns: its time is linear in the length of the text, and a compiled pattern takes at most 1 MiB."""
NOT_VALIDATED = ("$schema", "self")
"""The keywords of a self-describing schema that say nothing about data."""
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def validator_of(schema: Json) -> jsonschema_rs.Draft4Validator:
    """Return the validator of a self-describing schema.

    Examples:
        >>> validator_of({"self": {}, "type": "integer"}).is_valid(5)
        True

    Raises:
        ValueError: the schema cannot be compiled. `parse_schema` refuses such schemas.
    """
    rules = {name: value for name, value in schema.items() if name not in NOT_VALIDATED}
    return jsonschema_rs.Draft4Validator(
        rules,
        validate_formats=True,
        formats={"uuid": _is_uuid},
        retriever=_refuse,
        pattern_options=PATTERNS,
        keywords={"multipleOf": MultipleOf},
    )


def _is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not in the schema")
