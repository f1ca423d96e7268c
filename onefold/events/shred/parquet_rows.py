"""Rows of the tables as Python values for Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from onefold.events.registry.bigquery_table import PropertySource
from onefold.events.registry.leaves import is_nested
from onefold.events.registry.subschemas import Json
from onefold.events.shred.compiled_row import ABSENT, RowColumn, compile_row, usual_value
from onefold.events.shred.parquet_values import parquet_converter
from onefold.events.shred.row_format import RowFormat
from onefold.events.shred.values import DoesNotFit, json_text, shown
from onefold.schema.types import STRING, Array, Struct, Type, parse_type

Convert = Callable[[Any], Any]
_NOTHING: dict[Any, Any] = {}


class ParquetRows:
    """The rows of one version of a schema: what its data has for each column of the table.

    A column that the version does not have is NULL, even where the data has a property of that name: the version does not
    say what it is.
    """

    def __init__(self, schema: Json, columns: Sequence[tuple[str, str]], sources: Sequence[PropertySource]) -> None:
        """Choose the conversion of each column.

        Args:
            schema: the version of the schema.
            columns: name and type of each column of the data.
            sources: the property of each column.
        """
        properties = schema["properties"] if is_nested(schema) else {}
        self._names = [name for name, _ in columns]
        self._columns = [
            _column(parse_type(type_), source, properties) for (_, type_), source in zip(columns, sources, strict=True)
        ]
        usual = [usual_value(type_, RowFormat("bigquery", "parquet"), plain=True) for _, type_ in columns]
        made = [RowColumn(0, *column, one) for column, one in zip(self._columns, usual, strict=True)]
        self.values = compile_row((), made, None)
        """Returns the values of valid data; raises DoesNotFit where a column cannot hold its value."""

    def problems(self, data: Any) -> Iterator[str]:
        """Yield why columns cannot hold their values."""
        get = (data if type(data) is dict else _NOTHING).get
        for column, (name, convert) in zip(self._names, self._columns, strict=True):
            value = get(name)
            if value is not None:
                try:
                    convert(value)
                except DoesNotFit as error:
                    yield from (f"{column}: {problem}" for problem in error.problems)


def _column(type_: Type, source: PropertySource, properties: Mapping[str, Json]) -> tuple[Any, Convert]:
    """Return the key and the conversion of a column or a field.

    Args:
        type_: its type.
        source: its property.
        properties: the properties of the object in the version of the data.
    """
    schema = properties.get(source.name)
    if schema is None:
        return ABSENT, json_text
    if isinstance(type_, Array):
        return source.name, _array(type_, source, schema)
    if isinstance(type_, Struct):
        return (source.name, _struct(type_, source, schema)) if is_nested(schema) else (ABSENT, json_text)
    convert = parquet_converter(str(type_))
    return source.name, _unless_object(convert) if source.others and is_nested(schema) else convert


def _unless_object(convert: Convert) -> Convert:
    return lambda value: None if type(value) is dict else convert(value)


def _struct(type_: Struct, source: PropertySource, schema: Json) -> Convert:
    """Return the conversion of an object; what is not an object has a column of its own."""
    properties = schema["properties"] if is_nested(schema) else {}
    fields = [
        (field.name, *_column(field.type, inner, properties))
        for field, inner in zip(type_.fields, source.fields, strict=True)
    ]

    def convert(value: Any) -> Any:
        if type(value) is not dict:
            return None
        get = value.get
        try:
            return {name: None if (inner := get(key)) is None else make(inner) for name, key, make in fields}
        except DoesNotFit:
            raise DoesNotFit(_field_problems(value, fields)) from None

    return convert


def _field_problems(value: Mapping[str, Any], fields: Sequence[tuple[str, Any, Convert]]) -> Iterator[str]:
    for name, key, make in fields:
        inner = value.get(key)
        if inner is not None:
            try:
                make(inner)
            except DoesNotFit as error:
                yield from (f"{name}: {problem}" for problem in error.problems)


def _array(type_: Array, source: PropertySource, schema: Json) -> Convert:
    """Return the conversion of an array, whose items are never None.

    Args:
        type_: the type of the column.
        source: the property of the column.
        schema: the schema of the array in the version of the data.
    """
    items = schema.get("items")
    if isinstance(type_.element, Struct):
        make = _struct(type_.element, source, items if isinstance(items, Mapping) else {})
    else:
        # JSON texts keep null, 1 and "1" apart; in plain texts, where versions before had texts only, they are alike.
        make = json_text if source.json else parquet_converter(str(type_.element))
    holds_null = type_.element == STRING

    def convert(value: Any) -> Any:
        if type(value) is not list:
            raise DoesNotFit(f"{shown(value)} is not an array")
        found = [make(item) if item is not None or holds_null else None for item in value]
        if None in found:
            raise DoesNotFit(f"the array has an item that {type_.element} does not hold: null, or another type")
        return found

    return convert
