"""Types of BigQuery that grow in place: a STRUCT gets more fields at its end, and nothing else changes."""

from __future__ import annotations

from itertools import zip_longest

from onefold.core.errors import InvalidType
from onefold.schema.types import Array, Field, Struct, Type, parse_type


def grown_type(one: Type, other: Type) -> Type | None:
    """Return the least type that a column of either type can become in place; None where there is none.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> old, new = parse_type("ARRAY<STRUCT<a INT64>>"), parse_type("ARRAY<STRUCT<a INT64, b STRING>>")
        >>> str(grown_type(new, old)), grown_type(parse_type("INT64"), parse_type("FLOAT64"))
        ('ARRAY<STRUCT<a INT64, b STRING>>', None)
    """
    if one == other:
        return one
    if isinstance(one, Array) and isinstance(other, Array):
        element = grown_type(one.element, other.element)
        return Array(element) if isinstance(element, Struct) else None
    if not isinstance(one, Struct) or not isinstance(other, Struct):
        return None
    fields = [_grown_field(*pair) for pair in zip_longest(one.fields, other.fields)]
    known = tuple(field for field in fields if field is not None)
    return Struct(known) if len(known) == len(fields) else None


def grown(existing: str, new: str) -> str | None:
    """Return the type that a column gets to take the values of both types; None where BigQuery cannot change it in place.

    Examples:
        >>> grown("STRUCT<a INT64>", "STRUCT<a INT64, b DATE>"), grown("INT64", "STRING")
        ('STRUCT<a INT64, b DATE>', None)
    """
    try:
        type_ = grown_type(parse_type(existing), parse_type(new))
    except InvalidType:
        return None
    return str(type_) if type_ is not None else None


def _grown_field(one: Field | None, other: Field | None) -> Field | None:
    if one is None or other is None:
        return one or other
    type_ = grown_type(one.type, other.type)
    return Field(one.name, type_) if one.name == other.name and type_ is not None else None
