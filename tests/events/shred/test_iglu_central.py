"""A part of Iglu Central: imported as it is, and events of every version, shredded and read back equal to an oracle."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from support.iglu_central import documents, imported, models, needs_the_part, rules_of
from support.schema_data import data_of, wrong_data_of
from support.typed_rows import csv_differing, csv_unfit, parquet_fits, parquet_values, same_cell

from onefold.core.shred_options import FileFormat
from onefold.events.registry.ddl import TARGETS, build_table, create_statements
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.registry import Registry
from onefold.events.shred.bad_rows import BadRow
from onefold.events.shred.manifest import FORMATS
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.shredder import Shredded, Shredder

pytestmark = needs_the_part
START = datetime(2026, 11, 23, 8, tzinfo=UTC)
DATA = 9
"""The columns of the envelope come first."""
SAMPLE = 20


@cache
def planned(format_: FileFormat) -> ShredPlan:
    return plan_shred(Registry(models(), "Iglu Central"), format_, "self-describing", START)


def test_every_json_schema_is_imported_and_each_of_another_format_is_named() -> None:
    results = imported().results
    assert Counter(one.outcome for one in results) == {"added": 364, "left out": 13}
    others = {f"iglu:{path}" for path in documents() if "/jsonschema/" not in path}
    assert {one.name for one in results if one.outcome == "left out"} == others
    assert sum(1 for one in results if one.reasons and one.outcome == "added") == 11


@pytest.mark.parametrize("target", TARGETS)
def test_every_model_has_a_table(target: Any) -> None:
    tables = {model: build_table(schemas, target) for model, schemas in models().items()}
    for model, table in tables.items():
        created = [statement for statement in create_statements(table) if statement.startswith("CREATE TABLE")]
        assert len(created) == 1 + len(table.recovered), model
    assert len(tables) == 295


def shredded(shredder: Shredder, schema: JsonSchema, data: Any) -> Shredded:
    return shredder.shred(json.dumps({"schema": schema.key.uri, "data": data}))


def unfit_or_differing(
    format_: FileFormat, columns: Sequence[tuple[str, str]], rules: Mapping[str, Any], data: Any, row: Any
) -> Iterator[str]:
    """Yield the columns that cannot hold their values; where all can, those whose cells differ from them."""
    if format_ == "csv":
        yield from csv_unfit(columns, rules, data) if row is None else csv_differing(columns, rules, data, row)
        return
    typed = parquet_values(columns, rules, data)
    cells = [None] * len(columns) if row is None else row[DATA:]
    for (name, _), one, cell in zip(columns, typed, cells, strict=True):
        if not (parquet_fits(*one) if row is None else same_cell(*one, cell)):
            yield name


def check_versions(chance: random.Random, schemas: Sequence[JsonSchema], format_: FileFormat) -> Counter[str]:
    """Shred ordinary, extreme and wrong events of versions, and compare what becomes of them with the oracle."""
    plan = planned(format_)
    shredder, counts = Shredder(plan), Counter[str]()
    for schema in schemas:
        rules, place = rules_of(schema), plan.schemas[schema.key.uri].table
        assert place is not None
        columns = plan.tables[place].columns[DATA:]
        for data in (data_of(chance, rules), *(data_of(chance, rules, extreme=True) for _ in range(2))):
            found = shredded(shredder, schema, data)
            unfit = list(unfit_or_differing(format_, columns, rules, data, None))
            assert (found.bad.kind if found.bad else "row") == ("does_not_fit" if unfit else "row"), (schema.key, found.bad)
            counts[found.bad.kind if found.bad else "row"] += 1
            if not unfit:
                ((written, row),) = found.rows
                assert (written, list(unfit_or_differing(format_, columns, rules, data, row))) == (place, []), schema.key
        wrong = shredded(shredder, schema, wrong_data_of(chance, rules))
        assert isinstance(wrong.bad, BadRow), schema.key
        counts[wrong.bad.kind] += 1
    return counts


@pytest.mark.parametrize("format_", FORMATS)
def test_events_of_some_versions_are_read_back_equal(chance: random.Random, format_: FileFormat) -> None:
    counts = check_versions(chance, chance.sample(imported().added, SAMPLE), format_)
    assert counts["invalid"] == SAMPLE
    assert counts["row"] > SAMPLE


@pytest.mark.long
@pytest.mark.parametrize("format_", FORMATS)
def test_events_of_every_version_are_read_back_equal(chance: random.Random, format_: FileFormat) -> None:
    counts = check_versions(chance, imported().added, format_)
    assert counts["invalid"] == 364
    assert min(counts["row"] / 10, counts["does_not_fit"]) > 25
