"""Any run shredded at any state of the registry loads at any later one: in any order, repeated, by two at once."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest
from support.event_loads import EventScene
from support.shredded_history import NAMES, History


def load(events: EventScene, chance: random.Random) -> None:
    """Load once, or by two at the same time; an error that may pass is left to the next load."""
    threads = [threading.Thread(target=events.load) for _ in range(chance.choice([1, 1, 2]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def play(events: EventScene, chance: random.Random) -> History:
    """Add schemas, shred and load in a random order; runs come to the folder late, and in any order."""
    history = History(chance)
    elsewhere = events.folder.parent / "elsewhere"
    waiting: list[str] = []
    events.folder.mkdir(exist_ok=True)
    for name in NAMES:
        history.add(name)
    for number in range(chance.randrange(6, 10)):
        run = f"2026-11-23-08-00-{number:02}"
        history.shred(elsewhere, run, {name: list(some) for name, some in history.versions.items()}, chance.randrange(1, 6))
        waiting.append(f"run={run}")
        if chance.random() < 0.7:
            history.add(chance.choice(NAMES))
        while waiting and chance.random() < 0.4:
            shutil.move(elsewhere / waiting[(place := chance.randrange(len(waiting)))], events.folder / waiting.pop(place))
        if chance.random() < 0.5:
            load(events, chance)
    for name in waiting:
        shutil.move(elsewhere / name, events.folder / name)
    load(events, chance)
    events.load()
    assert events.load() == []
    return history


def check(events: EventScene, history: History) -> None:
    """Compare the rows of every table with the JSON of the events."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name in NAMES:
        table = f"com_acme_{name}_1"
        if events.warehouse.find(table) is None:
            continue
        for row in events.dataset.client.list_rows(f"{events.dataset.name}.{table}"):
            values = dict(row.items())
            assert values["root_id"] not in found
            found[values["root_id"]] = (name, without_nulls(values))
    expected = {
        id_: (name, without_nulls(stored(data, history.versions[name][-1].json["properties"])) or {})
        for id_, (name, data) in history.events.items()
    }
    envelope = {"schema_vendor", "schema_name", "schema_format", "schema_version", "root_id", "root_tstamp"}
    envelope |= {"ref_root", "ref_tree", "ref_parent"}
    assert {
        id_: (name, {key: value for key, value in values.items() if key not in envelope})
        for id_, (name, values) in found.items()
    } == expected


def stored(data: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return data as a table of BigQuery holds it."""
    return {name: _stored(value, properties[name]) for name, value in data.items()}


def _stored(value: Any, schema: Mapping[str, Any]) -> Any:
    if value is None:
        return None
    if "properties" in schema:
        return stored(value, schema["properties"])
    if schema["type"] == "object":
        return json.dumps(value, separators=(",", ":"))
    if schema.get("format") == "date":
        return date.fromisoformat(value)
    return datetime.fromisoformat(value).astimezone(UTC) if schema.get("format") == "date-time" else value


def without_nulls(value: Any) -> Any:
    """Return a value without NULL, without empty arrays, which are the same in BigQuery, and without objects of nothing."""
    if isinstance(value, dict):
        inner = {name: without_nulls(one) for name, one in value.items()}
        return {name: one for name, one in inner.items() if one is not None} or None
    if isinstance(value, list):
        return [without_nulls(one) for one in value] or None
    return value


def test_rows_read_back_equal_the_json_whatever_the_order(events: EventScene, chance: random.Random) -> None:
    check(events, play(events, chance))


@pytest.mark.long
@pytest.mark.parametrize("number", range(5))
def test_rows_read_back_equal_the_json_in_many_histories(events: EventScene, chance: random.Random, number: int) -> None:
    check(events, play(events, random.Random(f"{chance.random()} {number}")))
