"""The order and the spelling of columns and fields: a schema that people read keeps both while its versions come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.types import Array, Field, Struct, Type


def keep_order(columns: Sequence[Column], former: Sequence[Column], fixed: Iterable[str] = ()) -> tuple[Column, ...]:
    """Return the columns in the order and the spelling of a former schema; what is new comes last, in its own order.

    The same holds for the fields of structs, at any depth and within arrays. Types do not change otherwise.

    Args:
        columns: the columns as they have to be.
        former: the columns as they were.
        fixed: names of columns whose fields keep the order and the spelling that they have in `columns`.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> old = [Column("Id", parse_type("INT64")), Column("s", parse_type("STRUCT<b DATE, A DATE>"))]
        >>> new = [Column("s", parse_type("STRUCT<a DATE, c DATE, b DATE>")), Column("x", parse_type("DATE")),
        ...        Column("id", parse_type("NUMERIC"))]
        >>> [f"{column.name} {column.type}" for column in keep_order(new, old)]
        ['Id NUMERIC', 's STRUCT<b DATE, A DATE, c DATE>', 'x DATE']
    """
    names = {fold_case(name) for name in fixed}
    new = {fold_case(column.name): column for column in columns}
    kept = [_like(new.pop(key), old, key in names) for old in former if (key := fold_case(old.name)) in new]
    return (*kept, *new.values())


def _like(column: Column, former: Column, fixed: bool) -> Column:
    return Column(former.name, column.type if fixed else _ordered(column.type, former.type))


def _ordered(type_: Type, former: Type) -> Type:
    old = former.element if isinstance(former, Array) else former
    if isinstance(type_, Array):
        return Array(_ordered(type_.element, old))  # type: ignore[arg-type]  # the element of an array is no array
    if isinstance(type_, Struct) and isinstance(old, Struct):
        return _ordered_struct(type_, old)
    return type_


def _ordered_struct(type_: Struct, former: Struct) -> Struct:
    new = {fold_case(field.name): field for field in type_.fields}
    pairs = [(old, new.pop(key)) for old in former.fields if (key := fold_case(old.name)) in new]
    kept = (Field(old.name, _ordered(field.type, old.type)) for old, field in pairs)
    return Struct((*kept, *new.values()))
