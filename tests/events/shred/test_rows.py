"""Rows of random schemas and data, compared with the JSON by the oracle."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from support.shred_events import data_of, document, line, parsed, registry_of
from support.shred_oracle import csv_cells, fits, flat, same_csv, same_parquet, snake

from onefold.core.shred_options import FileFormat
from onefold.events.shred.plan import PlannedTable, plan_shred
from onefold.events.shred.shredder import Shredded, Shredder
from onefold.schema.types import Array, Struct, Type, parse_type

START = datetime(2026, 11, 23, 8, tzinfo=UTC)
DATA = 9
"""The columns of the envelope come first."""


EVENTS = 8
"""Events of each schema."""


def cases(
    chance: random.Random, format_: FileFormat, schemas: int
) -> Iterator[tuple[dict[str, Any], PlannedTable, Any, Shredded]]:
    """Yield a schema, its table, data, and what the data becomes."""
    for _ in range(schemas):
        source = document(chance)
        schema = parsed(source)
        plan = plan_shred(registry_of(schema), format_, "self-describing", START)
        shredder = Shredder(plan)
        for _ in range(EVENTS):
            data = data_of(chance, source)
            record = line(chance, {"schema": schema.key.uri, "data": data})
            yield source, plan.tables[1], data, shredder.shred(record)


def check_csv(chance: random.Random, schemas: int) -> tuple[int, int]:
    rows = bad = 0
    for source, table, data, found in cases(chance, "csv", schemas):
        columns = dict(table.columns[DATA:])
        expected = dict(flat(source, data))
        unfit = {name for name, value in expected.items() if not fits(columns[name], value)}
        if unfit:
            assert found.bad is not None
            assert found.bad.kind == "does_not_fit"
            assert {reason.split(": ")[1] for reason in found.bad.reasons} == unfit
            bad += 1
            continue
        ((place, row),) = found.rows
        assert (place, found.bad) == (1, None)
        cells = dict(zip(columns, csv_cells(str(row))[DATA:], strict=True))
        assert [name for name in columns if not same_csv(columns[name], expected.get(name), cells[name])] == []
        rows += 1
    return rows, bad


def check_parquet(chance: random.Random, schemas: int) -> tuple[int, int]:
    rows = bad = 0
    for source, table, data, found in cases(chance, "parquet", schemas):
        if all(_fits(type_, value) for type_, value in typed(table, source, data)):
            ((_, row),) = found.rows
            differing = [
                (type_, value, cell)
                for (type_, value), cell in zip(typed(table, source, data), row[DATA:], strict=True)
                if not _same(type_, value, cell)
            ]
            assert differing == []
            rows += 1
        else:
            assert found.bad is not None
            assert found.bad.kind == "does_not_fit"
            bad += 1
    return rows, bad


def typed(table: PlannedTable, source: dict[str, Any], data: Any) -> list[tuple[Type, Any]]:
    """Return type and value of each column: a field is known by its name, which is the property's in snake case."""
    return [(parse_type(type_), value_named(name, source, data)) for name, type_ in table.columns[DATA:]]


def value_named(name: str, source: dict[str, Any], data: Any) -> Any:
    (property_,) = (one for one in source["properties"] if snake(one) == name)
    inner, value = source["properties"][property_], data.get(property_) if isinstance(data, dict) else None
    if "properties" in inner and inner["type"] in ("object", ["object"], ["object", "null"]):
        return value if value is None else {one: value_named(snake(one), inner, value) for one in inner["properties"]}
    return value


def _fits(type_: Type, value: Any) -> bool:
    if isinstance(type_, Struct) and value is not None:
        return all(_fits(field.type, inner) for field, inner in zip(*_aligned(type_, value), strict=True))
    if isinstance(type_, Array) and value is not None:
        return all(item is not None and fits(str(type_.element), item) for item in value) or str(type_.element) == "STRING"
    return fits(str(type_), value)


def _same(type_: Type, value: Any, cell: Any) -> bool:
    if isinstance(type_, Struct) and value is not None and cell is not None:
        fields, values = _aligned(type_, value)
        return list(cell) == [field.name for field in fields] and all(
            _same(field.type, inner, cell[field.name]) for field, inner in zip(fields, values, strict=True)
        )
    if isinstance(type_, Array) and value is not None:
        # The arrays of these schemas may have null, and are arrays of JSON texts.
        return isinstance(cell, list) and [json.loads(one) for one in cell] == value
    return value is cell is None or same_parquet(str(type_), value, cell)


def _aligned(type_: Struct, value: dict[str, Any]) -> tuple[Any, list[Any]]:
    by_name = {snake(name): inner for name, inner in value.items()}
    return type_.fields, [by_name[field.name] for field in type_.fields]


def test_rows_of_csv_read_back_equal_the_json(chance: random.Random) -> None:
    rows, bad = check_csv(chance, 120)
    assert min(rows, bad) > 100


def test_rows_of_parquet_equal_the_json(chance: random.Random) -> None:
    rows, bad = check_parquet(chance, 120)
    assert min(rows, bad) > 50


@pytest.mark.long
def test_rows_of_many_schemas_read_back_equal_the_json(chance: random.Random) -> None:
    assert sum(check_csv(chance, 1_000)) == sum(check_parquet(chance, 1_000)) == 8_000
