"""An oracle for rows of any schema, written from docs/reference/schema-columns.md and shredder.md, and from no code.

It says which values of an event the columns of its table hold, and whether the cells of a row are these values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from support.shred_oracle import csv_cells, fits, flat, same_csv, same_json, same_parquet, snake

from onefold.schema.types import Array, Struct, Type, parse_type

Columns = Sequence[tuple[str, str]]
"""Names and types of the columns of the data."""


def csv_unfit(columns: Columns, schema: Mapping[str, Any], data: Any) -> list[str]:
    """Return the names of the columns that cannot hold their values."""
    values = dict(flat(schema, data))
    return [name for name, type_ in columns if not fits(type_, values.get(name))]


def csv_differing(columns: Columns, schema: Mapping[str, Any], data: Any, line: str) -> list[str]:
    """Return the names of the columns whose cells in a line are not their values."""
    values, cells = dict(flat(schema, data)), csv_cells(line)[-len(columns) :] if columns else []
    assert len(values) == len({name for name, _ in columns} & values.keys())
    return [name for (name, type_), cell in zip(columns, cells, strict=True) if not same_csv(type_, values.get(name), cell)]


def parquet_values(columns: Columns, schema: Mapping[str, Any], data: Any) -> list[tuple[Type, Mapping[str, Any], Any]]:
    """Return type, rules and value of each column of BigQuery; None where the version has no such property."""
    by_name = {snake(name): (inner, name) for name, inner in schema.get("properties", {}).items()}
    assert len(by_name) == len(schema.get("properties", {}))
    found = []
    for column, type_ in columns:
        inner, name = by_name.get(column, ({}, ""))
        found.append((parse_type(type_), inner, data.get(name) if isinstance(data, dict) else None))
    return found


def parquet_fits(type_: Type, schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a column of BigQuery holds a value."""
    if value is None:
        return True
    if isinstance(type_, Struct):
        return isinstance(value, dict) and all(parquet_fits(*field) for field in _fields(type_, schema, value))
    if isinstance(type_, Array):
        items = schema.get("items", {})
        return isinstance(value, list) and all(
            (item is not None and parquet_fits(type_.element, items, item)) or str(type_.element) == "STRING"
            for item in value
        )
    return fits(str(type_), value)


def same_cell(type_: Type, schema: Mapping[str, Any], value: Any, cell: Any) -> bool:
    """Return whether a cell of Parquet is a value."""
    if isinstance(type_, Array) and value is None:
        return cell in (None, [])
    if value is None or cell is None:
        return value is cell
    if isinstance(type_, Struct):
        fields = list(_fields(type_, schema, value))
        return list(cell) == [field.name for field in type_.fields] and all(
            same_cell(*field, inner) for field, inner in zip(fields, cell.values(), strict=True)
        )
    if isinstance(type_, Array):
        items = schema.get("items", {})
        return len(cell) == len(value) and all(
            _same_item(type_.element, items, one, inner) for one, inner in zip(value, cell, strict=True)
        )
    return same_parquet(str(type_), value, cell)


def _same_item(element: Type, items: Mapping[str, Any], value: Any, cell: Any) -> bool:
    if str(element) != "STRING":
        return same_cell(element, items, value, cell)
    plain = isinstance(items, dict) and items.get("type") == "string"
    return bool(cell == value) if plain else same_json(json.loads(cell), value)


def _fields(type_: Struct, schema: Mapping[str, Any], value: Any) -> Iterator[tuple[Type, Mapping[str, Any], Any]]:
    columns = [(field.name, str(field.type)) for field in type_.fields]
    yield from parquet_values(columns, schema, value)
