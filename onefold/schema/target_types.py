"""Target types that the settings name by path, `price` or `address.zip`, and numbers that they read as times."""

from __future__ import annotations

from collections.abc import Callable

from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Array, Field, Scalar, Struct, Type, element_of
from onefold.schema.unix_time import UnixTime

NUMBERS = frozenset(map(Scalar, ("INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64")))
"""The types that a unit, such as unix_millis, can be given for."""

_Change = Callable[[Type], Type]


def landed_type(column: Column, rules: TableRules) -> Type:
    """Return the type as which the values of a landed column are read: numbers that the settings give a unit are times.

    Examples:
        >>> rules = TableRules(units=(("born", "unix_millis"),))
        >>> str(landed_type(Column("Born", Scalar("INT64")), rules)), str(landed_type(Column("id", Scalar("INT64")), rules))
        ('INT64 as unix_millis', 'INT64')
    """
    found = column.type
    for path, unit in rules.units:
        found = _changed(column.name, found, path, lambda type_, unit=unit: _as_time(type_, unit))  # type: ignore[misc]
    return found


def with_nested_targets(column: Column, rules: TableRules) -> Column:
    """Return a column of a view, its fields in the target types that the settings name by path.

    Examples:
        >>> rules = TableRules(types=(("address.zip", Scalar("STRING")),))
        >>> column = Column("address", Struct((Field("Zip", Scalar("INT64")),)))
        >>> str(with_nested_targets(column, rules).type)
        'STRUCT<Zip STRING>'
    """
    found = column.type
    for path, target in rules.types:
        if "." in path:
            found = _changed(column.name, found, path, lambda _, target=target: target)  # type: ignore[misc]
    return Column(column.name, found)


def type_at(column: Column, path: str) -> Type | None:
    """Return the type of a column, or of a field in it, by its path; None where there is none.

    Examples:
        >>> str(type_at(Column("items", Array(Struct((Field("price", Scalar("FLOAT64")),)))), "items.price"))
        'FLOAT64'
    """
    first, *fields = path.split(".")
    if fold_case(first) != fold_case(column.name):
        return None
    found = column.type
    for name in fields:
        element = element_of(found)
        field = element.get(name) if isinstance(element, Struct) else None
        if field is None:
            return None
        found = field.type
    return found


def _changed(name: str, type_: Type, path: str, change: _Change) -> Type:
    first, _, rest = path.partition(".")
    if fold_case(name) != fold_case(first):
        return type_
    return _changed_within(type_, rest, change) if rest else change(type_)


def _changed_within(type_: Type, path: str, change: _Change) -> Type:
    match type_:
        case Array(element):
            return Array(_changed_within(element, path, change))  # type: ignore[arg-type]  # an element is no array
        case Struct(fields):
            return Struct(tuple(Field(field.name, _changed(field.name, field.type, path, change)) for field in fields))
        case _:
            return type_


def _as_time(type_: Type, unit: str) -> Type:
    if isinstance(type_, Array):
        return Array(_as_time(type_.element, unit))  # type: ignore[arg-type]
    return UnixTime(type_.name, unit) if isinstance(type_, Scalar) and type_ in NUMBERS else type_
