"""Random histories of a registry whose events are shredded at any state of it, by the real shredder into real files."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.shred_events import event
from support.shredded_runs import shredded_table, write_run

from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.registry import Registry
from onefold.events.shred.plan import PlannedTable, plan_shred
from onefold.events.shred.shredder import Shredder

NAMES = ("ad_click", "page")
_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_KINDS: tuple[dict[str, Any], ...] = (
    _TEXT, {"type": "integer"}, {"type": "boolean"}, {"type": "number"}, {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"}, {"type": "array", "items": {"type": "integer"}}, {"type": "object"},
)  # fmt: skip
_VALUES: dict[str, tuple[Any, ...]] = {
    "string": ("", "größe", "a\tb\n", "\\N"), "integer": (0, -7, 2**53), "boolean": (True, False), "number": (0.5, -1e300),
    "date": ("2026-11-23", "0001-01-01"), "date-time": ("2026-11-23T08:00:00.123456Z",), "array": ([], [1, 2]),
    "object": ({}, {"a": [1]}),
}  # fmt: skip


@dataclass
class History:
    """A registry that grows, and the data of every event by its id."""

    chance: random.Random
    versions: dict[str, list[JsonSchema]] = field(default_factory=dict)
    events: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """By the id of an event, the name of its schema and its data."""

    def add(self, name: str) -> None:
        """Add the next version of a schema, with properties that the version before does not have."""
        known = self.versions.setdefault(name, [])
        properties = _grown(self.chance, known[-1].json["properties"] if known else {}, 2)
        own = {"vendor": "com.acme", "name": name, "format": "jsonschema", "version": f"1-0-{len(known)}"}
        known.append(parse_schema(json.dumps({"self": own, "type": "object", "properties": properties})))

    def shred(self, folder: Path, run: str, registry: dict[str, list[JsonSchema]], count: int) -> None:
        """Write a run of events of any version that a state of the registry has."""
        models = {versions[0].key.model_key: tuple(versions) for versions in registry.values() if versions}
        plan = plan_shred(Registry(models, "memory"), "parquet", "self-describing")
        shredder = Shredder(plan)
        rows: dict[int, list[tuple[Any, ...]]] = {}
        for number in range(count):
            schema = self.chance.choice([one for versions in models.values() for one in versions])
            data = {
                name: _value(self.chance, one)
                for name, one in schema.json["properties"].items()
                if self.chance.random() < 0.8
            }
            id_ = f"{run}/{number}"
            found = shredder.shred(json.dumps(event(schema, data, id_)))
            assert found.bad is None, found.bad
            self.events[id_] = (schema.key.name, data)
            for place, row in found.rows:
                rows.setdefault(place, []).append(row)  # type: ignore[arg-type]
        tables = [
            (shredded_table(plan.tables[place]), [_named(plan.tables[place], row) for row in some])
            for place, some in rows.items()
        ]
        write_run(folder, run, tables)


def _grown(chance: random.Random, known: dict[str, Any], depth: int) -> dict[str, Any]:
    grown = {
        name: {**one, "properties": _grown(chance, one["properties"], depth - 1)} if "properties" in one else one
        for name, one in known.items()
    }
    for _ in range(chance.choice([0, 1, 1, 2]) if known else 2):
        name = f"p{len(grown)}"
        nested = depth and chance.random() < 0.3
        grown[name] = {"type": "object", "properties": _grown(chance, {}, depth - 1)} if nested else chance.choice(_KINDS)
    return grown


def _value(chance: random.Random, schema: dict[str, Any]) -> Any:
    if "properties" in schema:
        return {name: _value(chance, one) for name, one in schema["properties"].items() if chance.random() < 0.7}
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    return chance.choice(_VALUES[str(schema.get("format", kind))])


def _named(table: PlannedTable, row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip([name for name, _ in table.columns], row, strict=True))
