"""Rows of JSON, converted to the fields of a protocol buffer; `scalar_values` converts what they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from onefold.adapters.bigquery.scalar_values import SCALARS, Convert, InvalidValue
from onefold.core.errors import InvalidRecord
from onefold.core.text import shortened
from onefold.schema.types import Array, Range, Scalar, Struct, Type

_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class RowValues:
    """Converts rows of one table, or of one STRUCT, column by column."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        self._converts = {name: (field_name(name), converter(type_)) for name, type_ in types.items()}

    def convert(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a row as a protocol buffer has them, without those that are NULL.

        Raises:
            InvalidRecord: every column that the table does not have, or whose type cannot hold the value.
        """
        values, problems = {}, []
        for name, value in row.items():
            if name not in self._converts:
                problems.append(f"column {shortened(name)}: the table has no column of that name")
            elif value is not None:
                field, convert = self._converts[name]
                try:
                    values[field] = convert(value)
                except InvalidValue as error:
                    problems.append(f"column {name}: {error}")
        if problems:
            raise InvalidRecord(problems)
        return values


def field_name(column: str) -> str:
    """Return the name of a column's field in a protocol buffer: the column's own where that is allowed.

    Examples:
        >>> field_name("id"), field_name("größe")
        ('id', 'hex_6772c3b6c39f65')
    """
    return column if _FIELD.fullmatch(column) else f"hex_{column.encode().hex()}"


def converter(type_: Type) -> Convert:
    """Return the function that converts values of a type; it is never called with NULL."""
    match type_:
        case Scalar(name):
            return SCALARS[name]
        case Array(element):
            return _array(converter(element))
        case Struct(fields):
            return _struct(RowValues({field.name: field.type for field in fields}))
        case Range():
            return _range


def _array(convert: Convert) -> Convert:
    def convert_all(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise InvalidValue("expected a list")
        if None in value:
            raise InvalidValue("BigQuery's arrays hold no NULL")
        return [convert(element) for element in value]

    return convert_all


def _struct(values: RowValues) -> Convert:
    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidValue("expected an object")
        try:
            return values.convert(value)
        except InvalidRecord as error:
            raise InvalidValue("; ".join(error.problems)) from error

    return convert


def _range(_: Any) -> Any:
    raise InvalidValue("capture writes no ranges")
