"""Types of Redshift as its catalog spells them, and as texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from onefold.core.errors import InvalidType
from onefold.schema.redshift import RedshiftType, merged_type

_NAMES = {
    "smallint": "SMALLINT", "integer": "INT", "bigint": "BIGINT", "boolean": "BOOLEAN", "date": "DATE", "real": "REAL",
    "timestamp without time zone": "TIMESTAMP", "timestamp with time zone": "TIMESTAMPTZ",
    "double precision": "DOUBLE PRECISION", "super": "SUPER",
}  # fmt: skip
"""Types as SVV_COLUMNS spells them (Amazon Redshift, "SVV_COLUMNS", 2026-11)."""
_BARE_VARCHAR = 256
"""The length of a VARCHAR without one (Amazon Redshift, "Character types", 2026-11)."""
_BARE_DECIMAL = 18
"""The digits of a DECIMAL without a precision (Amazon Redshift, "Numeric types", 2026-11)."""
_WITH_LENGTH = re.compile(r"(VARCHAR|CHAR)\(([1-9][0-9]{0,5})\)")
_PLAIN = re.compile(r"[A-Z][A-Z ]*[A-Z](?:\([0-9]{1,2}(?:, ?[0-9]{1,2})?\))?")


def catalog_type(row: Mapping[str, Any]) -> RedshiftType:
    """Return the type of a column.

    Args:
        row: a row of SVV_COLUMNS by the names of its columns.

    Raises:
        ValueError: the type is not known, or its length is not a number.

    Examples:
        >>> str(catalog_type({"data_type": "character varying", "character_maximum_length": "10"}))
        'VARCHAR(10)'
        >>> str(catalog_type({"data_type": "integer"}))
        'INT'
    """
    types: dict[str, Callable[[], RedshiftType]] = {
        "character varying": lambda: RedshiftType("VARCHAR", int(row["character_maximum_length"] or _BARE_VARCHAR)),
        "character": lambda: RedshiftType("CHAR", int(row["character_maximum_length"])),
        "numeric": lambda: RedshiftType(
            f"DECIMAL({int(row['numeric_precision'] or _BARE_DECIMAL)},{int(row['numeric_scale'] or 0)})"
        ),
    }
    spelled = str(row["data_type"]).lower()
    try:
        return types[spelled]() if spelled in types else RedshiftType(_NAMES[spelled])
    except (KeyError, TypeError) as error:
        raise ValueError(spelled) from error


def parse_type(text: str) -> RedshiftType:
    """Return the type that a text names.

    Raises:
        InvalidType: the text is not a type.

    Examples:
        >>> parse_type("VARCHAR(10)")
        RedshiftType(name='VARCHAR', length=10)
        >>> str(parse_type("DECIMAL(36,2)"))
        'DECIMAL(36,2)'
    """
    if found := _WITH_LENGTH.fullmatch(text):
        return RedshiftType(found[1], int(found[2]))
    if _PLAIN.fullmatch(text):
        return RedshiftType(text)
    raise InvalidType(f"{text!r} is not a type of Redshift")


def known_type(text: str) -> RedshiftType:
    """Return the type that a text names, of those of which columns are read from the catalog.

    Raises:
        InvalidType: the text is not a type, or one that `catalog_type` never returns.

    Examples:
        >>> str(known_type("DECIMAL(18,2)"))
        'DECIMAL(18,2)'
    """
    found = parse_type(text)
    if found.name.partition("(")[0] not in {*_NAMES.values(), "VARCHAR", "CHAR", "DECIMAL"}:
        raise InvalidType(f"{text!r} is not a type of Redshift")
    return found


def grown_type(existing: str, new: str) -> str | None:
    """Return the type that a column gets when values of another type come; None where Redshift cannot do it in place.

    A column that takes the values as it is keeps its type, whoever made it.

    Examples:
        >>> grown_type("VARCHAR(5000)", "VARCHAR(65535)"), grown_type("BIGINT", "INT"), grown_type("INT", "BIGINT")
        ('VARCHAR(65535)', 'BIGINT', None)
        >>> grown_type("SUPER", "VARCHAR(10)") is None
        True
    """
    try:
        merged = merged_type(parse_type(existing), parse_type(new))
    except InvalidType:
        return existing if existing == new else None
    return None if merged is None else str(merged)
