"""Events of Iglu Central's schemas, shredded, loaded into BigQuery and Redshift, and read back equal to the oracle.

Only here are names, nesting and rules as hundreds of authors wrote them; `make test` takes some of the models.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from support.event_loads import EventScene, states
from support.iglu_central import models, needs_the_part, rules_of
from support.redshift_scene import RedshiftScene
from support.schema_data import data_of, wrong_data_of
from support.shred_events import event
from support.shred_oracle import EPOCH, flat, same_csv
from support.shredded_runs import shredded_table, write_run
from support.typed_rows import parquet_values, same_cell

from onefold.core.shred_options import FileFormat
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.registry import Registry
from onefold.events.registry.schema_key import ModelKey
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.shredder import Shredder

DATA = 9
"""The columns of the envelope come first."""
MODELS, ALL = 25, 295
MOST: dict[FileFormat, int] = {"csv": ALL, "parquet": 100}
"""How many models Redshift gets by files of a format: by Parquet only the types of values differ, and runs have others."""
ORDINARY = 20
"""How many ordinary events are tried for one that fits: an integer of any size may be one that no column holds."""

pytestmark = needs_the_part
Written = dict[int, list[Any]]
"""The rows of each table, by its place in the plan."""


def written(
    plan: ShredPlan, schemas: Iterable[JsonSchema], chance: random.Random
) -> tuple[Written, dict[str, tuple[JsonSchema, Any]]]:
    """Return the rows of events by table, and the schema and data of each event by its id.

    Each version has an ordinary event, an extreme one, which is left out where it does not fit, and a wrong one.
    """
    shredder, rows = Shredder(plan), Written()
    events: dict[str, tuple[JsonSchema, Any]] = {}

    def takes(schema: JsonSchema, data: Any) -> bool:
        id_ = f"event-{len(events)}"
        found = shredder.shred(json.dumps(event(schema, data, id_)))
        for place, row in found.rows:
            rows.setdefault(place, []).append(row)
            events[id_] = (schema, data)
        return found.bad is None

    for schema in schemas:
        rules = rules_of(schema)
        assert any(takes(schema, data_of(chance, rules)) for _ in range(ORDINARY)), schema.key
        takes(schema, data_of(chance, rules, extreme=True))
        assert not takes(schema, wrong_data_of(chance, rules)), schema.key
    return rows, events


def as_cell(value: Any) -> Any:
    """Return a value of BigQuery's client as Parquet has it: times are numbers."""
    if isinstance(value, dict):
        return {name: as_cell(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_cell(inner) for inner in value]
    if isinstance(value, datetime):
        return (value.astimezone(UTC).replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, date) else value


def as_text(value: Any, *, escaped: bool) -> str | None:
    """Return a value of Redshift as its cell in CSV, with the escape of `\\N` undone, which Parquet does not have."""
    if value is None or isinstance(value, bool):
        return None if value is None else str(int(value))
    if isinstance(value, datetime):
        return value.isoformat(" ")
    text = str(value)
    return text[1:] if escaped and text.endswith("N") and len(text) > 2 and set(text[:-1]) == {"\\"} else text


@pytest.fixture(params=[MODELS, pytest.param(ALL, marks=[pytest.mark.long, pytest.mark.heavy])])
def some(request: pytest.FixtureRequest, chance: random.Random) -> dict[ModelKey, tuple[JsonSchema, ...]]:
    """Some models with all of their versions, and all models."""
    return dict(chance.sample(sorted(models().items()), request.param))


def test_events_of_many_versions_are_loaded_into_bigquery_and_read_back_equal(
    events: EventScene, some: dict[ModelKey, tuple[JsonSchema, ...]], chance: random.Random
) -> None:
    plan = plan_shred(Registry(some, "Iglu Central"), "parquet", "self-describing")
    rows, made = written(plan, (schema for schemas in some.values() for schema in schemas), chance)
    names = {place: [name for name, _ in plan.tables[place].columns] for place in rows}
    tables = [
        (shredded_table(plan.tables[place]), [dict(zip(names[place], row, strict=True)) for row in found])
        for place, found in rows.items()
    ]
    write_run(events.folder, "2026-11-23-08-00-00", tables)
    assert states(events.load()) == ["loaded"]
    read = 0
    for place in rows:
        columns = plan.tables[place].columns[DATA:]
        for row in events.dataset.client.list_rows(f"{events.dataset.name}.{plan.tables[place].name}"):
            schema, data = made[row["root_id"]]
            typed = parquet_values(columns, rules_of(schema), data)
            cells = [as_cell(row[name]) for name, _ in columns]
            assert all(same_cell(*one, cell) for one, cell in zip(typed, cells, strict=True)), (schema.key, data, cells)
            read += 1
    assert read == len(made)
    assert {schema.key for schema, _ in made.values()} == {one.key for schemas in some.values() for one in schemas}


def told_apart(models: dict[ModelKey, tuple[JsonSchema, ...]]) -> dict[ModelKey, tuple[JsonSchema, ...]]:
    """Leave out models whose tables would have one name: PostgreSQL cuts names at 63 characters, and Redshift at 127."""
    plan = plan_shred(Registry(models, "Iglu Central"), "csv", "self-describing")
    cut = {schema: plan.tables[place].name[:63] for schema, one in plan.schemas.items() if (place := one.table) is not None}
    names = Counter(table.name[:63] for table in plan.tables)
    kept = {model: some for model, some in models.items() if all(names[cut[one.key.uri]] == 1 for one in some)}
    assert len(models) - len(kept) <= 4
    return kept


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_events_of_many_versions_are_loaded_into_redshift_and_read_back_equal(
    redshift_scene: RedshiftScene, some: dict[ModelKey, tuple[JsonSchema, ...]], chance: random.Random, format_: FileFormat
) -> None:
    some = told_apart(dict(islice(some.items(), MOST[format_])))
    plan = plan_shred(Registry(some, "Iglu Central"), format_, "self-describing", warehouse="redshift")
    rows, made = written(plan, (schema for schemas in some.values() for schema in schemas), chance)
    if format_ == "csv":
        tables = [(shredded_table(plan.tables[place]), [f"{row}\n" for row in found]) for place, found in rows.items()]
        redshift_scene.write_lines(0, tables)
    else:
        redshift_scene.write_values(0, [(shredded_table(plan.tables[place]), found) for place, found in rows.items()])
    assert states(redshift_scene.load()) == ["loaded"]
    read = 0
    for place in rows:
        columns = plan.tables[place].columns[DATA:]
        for id_, *values in redshift_scene.rows(*(name for name, _ in columns), table=plan.tables[place].name):
            schema, data = made[id_]
            wanted = dict(flat(rules_of(schema), data))
            differing = [
                (name, wanted.get(name), value)
                for (name, type_), value in zip(columns, values, strict=True)
                if not same_csv(type_, wanted.get(name), as_text(value, escaped=format_ == "csv"))
            ]
            assert differing == [], schema.key
            read += 1
    assert read == len(made)
    assert {schema.key for schema, _ in made.values()} == {one.key for schemas in some.values() for one in schemas}
