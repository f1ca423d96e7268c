"""The least common type of several types: the join of schemas.

Scalars form one tree; the least common type of two scalars is their lowest common ancestor. The join is commutative and
associative (up to the order and the spelling of fields) and idempotent, so versions in any order give the same schema.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from onefold.core.errors import SchemaConflict
from onefold.core.names import fold_case
from onefold.core.text import shown_list
from onefold.schema.types import JSON, SCALARS, STRING, Array, Field, Scalar, Struct, Type, element_of

PARENTS = {
    "BOOL": "INT64", "INT64": "NUMERIC", "NUMERIC": "BIGNUMERIC", "BIGNUMERIC": "STRING",
    "FLOAT64": "STRING",
    "DATE": "DATETIME", "DATETIME": "TIMESTAMP", "TIMESTAMP": "STRING",
    "TIME": "STRING", "INTERVAL": "STRING", "GEOGRAPHY": "STRING", "BYTES": "STRING", "JSON": "STRING",
}  # fmt: skip
"""The type tree: each scalar type, and the next wider one, which holds every value of the first."""


def join(first: Type, second: Type, floats: bool = False) -> Type:
    """Return the least type that holds every value of both types.

    Args:
        first: a type.
        second: another type.
        floats: put FLOAT64 above the other numbers, as GoogleSQL does: numbers of different types are FLOAT64 as soon as one
            of them is, and may be rounded.

    Raises:
        SchemaConflict: one type is not known to this release, and the other type differs.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> str(join(parse_type("INT64"), parse_type("BIGNUMERIC"))), str(join(parse_type("INT64"), parse_type("DATE")))
        ('BIGNUMERIC', 'STRING')
        >>> str(join(parse_type("STRUCT<a DATE>"), parse_type("STRUCT<A DATETIME, b INT64>")))
        'STRUCT<a DATETIME, b INT64>'
    """
    if first is second or first == second:
        return first
    return _join(first, second, floats)


def join_all(types: Iterable[Type], floats: bool = False) -> Type:
    """Return the least type that holds every value of all types; there has to be at least one type.

    Args:
        types: the types.
        floats: as for `join`.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> str(join_all(map(parse_type, ["BOOL", "INT64", "ARRAY<NUMERIC>"])))
        'ARRAY<NUMERIC>'
    """
    return functools.reduce(functools.partial(join, floats=floats), types)


@functools.lru_cache(maxsize=65536)
def _join(first: Type, second: Type, floats: bool) -> Type:
    if isinstance(first, Array) or isinstance(second, Array):
        return Array(_join_elements(element_of(first), element_of(second), floats))
    if isinstance(first, Struct) and isinstance(second, Struct):
        return _join_structs(first, second, floats)
    if first == second:
        return first
    above_first = _ancestors(first, floats)
    common = next((type_ for type_ in _ancestors(second, floats) if type_ in above_first), None)
    if common is None:
        unknown = shown_list(sorted(unknown_types(first) | unknown_types(second)))
        raise SchemaConflict(
            f"{first} and {second} have no common type: this release does not know the type {unknown}: update Onefold"
        )
    return common


def _join_elements(first: Type, second: Type, floats: bool) -> Scalar | Struct:
    return join(first, second, floats)  # type: ignore[return-value]  # neither type is an array, so their join is none


def _ancestors(type_: Type, floats: bool) -> list[Type]:
    """Return the type itself, then each wider type, up to STRING."""
    if isinstance(type_, Struct):
        return [type_, JSON, STRING]
    if not isinstance(type_, Scalar):
        return [type_, STRING]
    if type_.name not in SCALARS:
        return [type_]
    chain = [type_.name]
    while chain[-1] != "STRING":
        chain.append("FLOAT64" if floats and chain[-1] == "BIGNUMERIC" else PARENTS[chain[-1]])
    return [Scalar(name) for name in chain]


def _join_structs(first: Struct, second: Struct, floats: bool) -> Struct:
    """Join two structs field by field, by name without case; the spelling and the order of the first appearance win."""
    fields = {fold_case(field.name): field for field in first.fields}
    for field in second.fields:
        known = fields.get(fold_case(field.name))
        fields[fold_case(field.name)] = Field(known.name, join(known.type, field.type, floats)) if known else field
    return Struct(tuple(fields.values()))


def is_at_or_below(type_: Type, other: Type) -> bool:
    """Return whether `other` holds every value of `type_`; the order and spelling of fields make no difference.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> is_at_or_below(parse_type("DATE"), parse_type("TIMESTAMP"))
        True
        >>> is_at_or_below(parse_type("DATE"), parse_type("TIME"))
        False
    """
    try:
        return canonical(join(type_, other)) == canonical(other)
    except SchemaConflict:
        return False


def canonical(type_: Type) -> Type:
    """Return the type with its fields in lower case and alphabetical order, by which types are compared.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> str(canonical(parse_type("STRUCT<Zip INT64, city STRING>")))
        'STRUCT<city STRING, zip INT64>'
    """
    match type_:
        case Array(element):
            return Array(canonical(element))  # type: ignore[arg-type]  # an element is no array
        case Struct(fields):
            plain = (Field(fold_case(field.name), canonical(field.type)) for field in fields)
            return Struct(tuple(sorted(plain, key=lambda field: field.name)))
        case _:
            return type_


def unknown_types(type_: Type) -> frozenset[str]:
    """Return the names of the types that are not known, in a type and its parts.

    Examples:
        >>> from onefold.schema.types import parse_landed_type
        >>> sorted(unknown_types(parse_landed_type("ARRAY<STRUCT<a UUID>>")))
        ['UUID']
    """
    match type_:
        case Array(element):
            return unknown_types(element)
        case Struct(fields):
            return frozenset[str]().union(*(unknown_types(field.type) for field in fields))
        case Scalar(name) if name not in SCALARS:
            return frozenset({name})
        case _:
            return frozenset()


def classic_type(types: Iterable[Type]) -> Type:
    """Return the common type by the two rules of the published predecessor.

    DATETIME with TIMESTAMP gives TIMESTAMP; any other types that differ give STRING.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> str(classic_type(map(parse_type, ["INT64", "NUMERIC"])))
        'STRING'
    """
    distinct = list(dict.fromkeys(types))
    if len(distinct) == 1:
        return distinct[0]
    if any(unknown_types(type_) for type_ in distinct):
        return join_all(distinct)
    if set(distinct) == {Scalar("DATETIME"), Scalar("TIMESTAMP")}:
        return Scalar("TIMESTAMP")
    return STRING
