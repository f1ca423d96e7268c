"""Events, shredded by the real shredder at any state of the registry, loaded into Redshift, and read back as JSON."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.redshift_runs import ENVELOPE
from support.redshift_scene import RedshiftScene, together
from support.redshift_server import SCHEMA
from support.seeding import examples
from support.shred_events import data_of, document, parsed, registry_of
from support.shred_oracle import flat, same_csv
from support.shredded_runs import shredded_table

from onefold.events.registry.json_schema import JsonSchema
from onefold.events.shred.plan import PlannedTable, plan_shred
from onefold.events.shred.shredder import Shredder

START = datetime(2026, 11, 23, 8, tzinfo=UTC)
ROOT_ID = [name for name, _ in ENVELOPE].index("root_id")
Json = dict[str, Any]
Lines = list[tuple[PlannedTable, list[str]]]


def history_of(chance: random.Random) -> list[Json]:
    """Return versions of a schema: each has properties of another one added, or some replaced."""
    documents = [{**document(chance), "type": "object"}]
    for _ in range(chance.randrange(4)):
        last = copy.deepcopy(documents[-1])
        last["properties"] |= document(chance)["properties"]
        documents.append(last)
    return documents


def shredded(
    known: Sequence[JsonSchema], documents: Sequence[Json], chance: random.Random, expected: dict[str, Json]
) -> Lines:
    """Shred some events by the registry as it is known; `expected` gets each row's values by its identifier."""
    plan = plan_shred(registry_of(*known), "csv", "self-describing", START)
    shredder = Shredder(plan)
    lines: dict[int, list[str]] = {}
    for _ in range(chance.randrange(1, 6)):
        number = chance.randrange(len(known))
        data = data_of(chance, documents[number])
        record = json.dumps({"schema": known[number].key.uri, "data": data, "id": len(expected)})
        for place, line in shredder.shred(record).rows:
            assert isinstance(line, str)
            expected[line.split("\t")[ROOT_ID]] = dict(flat(documents[number], data))
            lines.setdefault(place, []).append(line + "\n")
    return [(plan.tables[place], found) for place, found in lines.items()]


def read_back(scene: RedshiftScene, table: str) -> list[tuple[str, list[tuple[str, str, str | None]]]]:
    """Return for each row its identifier, and name, type and cell of each column, with the stated escape undone."""
    columns = scene.columns(table)
    found = scene.server.query(
        f'SELECT TRIM(root_id){"".join(f", {_cell(name, type_)}" for name, type_ in columns)} FROM {SCHEMA}."{table}"'
    )
    return [(row[0], [(name, type_, cell) for (name, type_), cell in zip(columns, row[1:], strict=True)]) for row in found]


def _cell(name: str, type_: str) -> str:
    quoted = f'"{name}"'
    if type_ == "BOOLEAN":
        return f"CASE WHEN {quoted} THEN '1' ELSE CASE WHEN NOT {quoted} THEN '0' END END"
    if not type_.startswith(("VARCHAR", "CHAR")):
        return f"CAST({quoted} AS TEXT)"
    # The expression of the documentation.
    return rf"CASE WHEN {quoted} ~ '^\\\\+N$' THEN RIGHT({quoted}, LENGTH({quoted}) - 1) ELSE {quoted} END"


@settings(
    max_examples=examples(6),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(seed=st.integers(0, 2**32))
def test_rows_of_any_state_of_the_registry_are_read_back_as_the_events_have_them(
    redshift_scene: RedshiftScene, seed: int
) -> None:
    redshift_scene.empty()
    chance = random.Random(seed)
    documents = history_of(chance)
    schemas = [parsed(one, f"1-0-{number}") for number, one in enumerate(documents)]
    expected: dict[str, Json] = {}
    states = sorted(chance.choices(range(1, len(schemas) + 1), k=chance.randrange(1, 4)))
    runs = [shredded(schemas[:count], documents, chance, expected) for count in states]
    for second in chance.sample(range(len(runs)), len(runs)):
        redshift_scene.write_lines(second, [(shredded_table(table), lines) for table, lines in runs[second]])
        together(redshift_scene, chance.randrange(3))
    together(redshift_scene, 1)
    assert redshift_scene.load() == []
    rows = [row for name in {table.name for run in runs for table, _ in run} for row in read_back(redshift_scene, name)]
    assert sorted(id_ for id_, _ in rows) == sorted(expected)
    for id_, cells in rows:
        wrong = [cell for cell in cells if not same_csv(cell[1], expected[id_].get(cell[0]), cell[2])]
        assert not wrong, (wrong, expected[id_])
