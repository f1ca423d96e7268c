"""Tables that other tools made from published schemas: adopted, loaded from all versions and read back, or refused."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.adopted_tables import adopt, is_same, make_table, registry_with_adopted, shred_run, write_registry
from support.cli import Run
from support.iglu_central import rules_of
from support.redshift_scene import RedshiftScene
from support.redshift_server import SCHEMA
from support.schema_data import data_of
from support.shred_events import event
from support.shred_oracle import flat

from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.shred.plan import plan_shred
from onefold.events.shred.shredder import Shredder

PART = Path(__file__).parents[4] / "shared" / "data" / "iglu_central_part.json"
"""Schemas of a public registry and tables that its former tools made from them, beside the repository."""
Versions = list[JsonSchema]
TRIES = 50


def published() -> tuple[list[JsonSchema], dict[str, dict[str, Any]]]:
    found = json.loads(PART.read_text("utf-8"))
    schemas = [parse_schema(one) for key, one in found["schemas"].items() if key.split("/")[2] == "jsonschema"]
    tables = {name.rpartition(".")[2]: one for name, one in found["legacy_tables"].items()}
    return sorted(schemas, key=lambda one: one.key), tables


def versions_of(schemas: list[JsonSchema], table: str, source: str | None) -> Versions:
    by_table, by_path = {one.key.model_key.table: one for one in schemas}, {one.key.path: one for one in schemas}
    model = (by_table.get(table) or by_path[str(source)]).key.model_key
    return [one for one in schemas if one.key.model_key == model]


@pytest.mark.long
@pytest.mark.skipif(not PART.exists(), reason="the published schemas are not on this machine")
def test_each_published_table_is_adopted_and_gets_rows_of_every_version_or_is_refused_by_name(
    run: Run, tmp_path: Path, redshift_scene: RedshiftScene, chance: random.Random
) -> None:
    schemas, tables = published()
    write_registry(tmp_path, schemas)
    adopted: dict[str, Versions] = {}
    refused: dict[str, list[str]] = {}
    for name, one in tables.items():
        columns = [(column, type_) for column, type_, _ in one["columns"]]
        required = [column for column, _, is_required in one["columns"] if is_required]
        make_table(redshift_scene.server, name, columns, required)
        versions = versions_of(schemas, name, one["source"])
        code, differences = adopt(run, redshift_scene.server, tmp_path, versions, name)
        if code == 0:
            adopted[name] = versions
        else:
            refused[name] = [found["column"] for found in differences if found["severity"] == "CRITICAL"]
    assert all(refused.values())
    assert len(adopted) >= 0.95 * len(tables)
    _load_and_compare(redshift_scene, registry_with_adopted(tmp_path, schemas), adopted, chance)


def _load_and_compare(scene: RedshiftScene, registry: Any, adopted: dict[str, Versions], chance: random.Random) -> None:
    shredder = Shredder(plan_shred(registry, "csv", "self-describing", warehouse="redshift"))
    fitting = {one.key: _fitting(shredder, one, chance) for all_ in adopted.values() for one in all_}
    events = {f"{name} {one.key.version}": (one, fitting[one.key]) for name, all_ in adopted.items() for one in all_}
    ids = {id_: f"{number:036}" for number, id_ in enumerate(events)}
    bad = shred_run(scene, 0, registry, [event(one, data, ids[id_]) for id_, (one, data) in events.items()])
    assert bad == []
    (report,) = scene.load()
    assert [str(error) for error in report.errors] == []
    rows: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for name in adopted:
        for row in _stored(scene, name):
            rows[name][row["root_id"]] = row
    for id_, (one, data) in events.items():
        name = id_.split(" ")[0]
        row = rows[name][ids[id_]]
        mapped = registry.adopted["redshift", one.key.model_key].names
        for column, value in flat(one.json, data):
            stored = _unescaped(row[mapped.get(column, column)])
            assert is_same(value, stored), (name, column, value, stored)
    assert {len(found) for found in rows.values()} == {len(all_) for all_ in adopted.values()}


def _fitting(shredder: Shredder, schema: JsonSchema, chance: random.Random) -> Any:
    """Return data that the table holds: an integer or a text of any size may be one that no column does."""
    tries = (data_of(chance, rules_of(schema)) for _ in range(TRIES))
    return next(data for data in tries if shredder.shred(json.dumps(event(schema, data, "id"))).bad is None)


def _unescaped(stored: Any) -> Any:
    """Undo the escape that docs/reference/shredder.md states for texts which would be read as NULL."""
    return stored[1:] if isinstance(stored, str) and re.fullmatch(r"\\{2,}N", stored) else stored


def _stored(scene: RedshiftScene, name: str) -> Iterator[dict[str, Any]]:
    with scene.server.connect() as connection:
        cursor = connection.execute(f'SELECT * FROM {SCHEMA}."{name}"'.encode())
        names = [one.name for one in cursor.description or ()]
        yield from (dict(zip(names, row, strict=True)) for row in cursor.fetchall())
