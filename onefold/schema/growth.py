"""Types of BigQuery that grow in place: a STRUCT gets more fields at its end, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from onefold.core.errors import InvalidType
from onefold.core.names import fold_case
from onefold.schema.types import Array, Field, Struct, Type, parse_type

_Pairs = Callable[[Sequence[Field], Sequence[Field]], Iterable[tuple[Field | None, Field | None]]]
"""Takes the fields of two STRUCTs; returns those that have to be one field, and those that one of both has alone."""


def grown_type(one: Type, other: Type, pairs: _Pairs = zip_longest) -> Type | None:
    """Return the least type that a column of either type can become in place; None where there is none.

    Args:
        one: a type.
        other: another one.
        pairs: which fields have to be one field: by default those that have one place.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> old, new = parse_type("ARRAY<STRUCT<a INT64>>"), parse_type("ARRAY<STRUCT<a INT64, b STRING>>")
        >>> str(grown_type(new, old)), grown_type(parse_type("INT64"), parse_type("FLOAT64"))
        ('ARRAY<STRUCT<a INT64, b STRING>>', None)
    """
    if one == other:
        return one
    if isinstance(one, Array) and isinstance(other, Array):
        element = grown_type(one.element, other.element, pairs)
        return Array(element) if isinstance(element, Struct) else None
    if not isinstance(one, Struct) or not isinstance(other, Struct):
        return None
    fields = [_grown_field(*pair, pairs) for pair in pairs(one.fields, other.fields)]
    known = tuple(field for field in fields if field is not None)
    return Struct(known) if len(known) == len(fields) else None


def grown(existing: str, new: str) -> str | None:
    """Return the type that a column gets to take the values of both types; None where BigQuery cannot change it in place.

    Examples:
        >>> grown("STRUCT<a INT64>", "STRUCT<a INT64, b DATE>"), grown("INT64", "STRING")
        ('STRUCT<a INT64, b DATE>', None)
    """
    return _grown_text(existing, new, zip_longest)


def grown_by_field_names(existing: str, new: str) -> str | None:
    """Return `grown` of a column that another loader made: its fields are found by their names, and stay where they are.

    Examples:
        >>> grown_by_field_names("STRUCT<b DATE, mine INT64, a INT64>", "STRUCT<a INT64, b DATE, c STRING>")
        'STRUCT<b DATE, mine INT64, a INT64, c STRING>'
    """
    return _grown_text(existing, new, _named_pairs)


def _grown_text(existing: str, new: str, pairs: _Pairs) -> str | None:
    try:
        type_ = grown_type(parse_type(existing), parse_type(new), pairs)
    except InvalidType:
        return None
    return str(type_) if type_ is not None else None


def _named_pairs(one: Sequence[Field], other: Sequence[Field]) -> Iterable[tuple[Field | None, Field | None]]:
    # BigQuery takes names that differ in case only for one: such a pair is no field of either name.
    rest = {fold_case(field.name): field for field in other}
    yield from [(field, rest.pop(fold_case(field.name), None)) for field in one]
    yield from ((None, field) for field in rest.values())


def _grown_field(one: Field | None, other: Field | None, pairs: _Pairs) -> Field | None:
    if one is None or other is None:
        return one or other
    type_ = grown_type(one.type, other.type, pairs)
    return Field(one.name, type_) if one.name == other.name and type_ is not None else None
