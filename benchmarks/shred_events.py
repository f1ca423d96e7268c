"""The events of the shredder's benchmark: 20 fields of every kind, one in a hundred of them invalid."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from onefold.adapters.folder_objects import FolderObjects
from onefold.events.registry.json_schema import parse_schema
from onefold.events.registry.open import open_registry_store
from onefold.settings.registry import RegistrySettings

_STRING, _INTEGER, _NUMBER, _BOOLEAN = ({"type": [name, "null"]} for name in ("string", "integer", "number", "boolean"))
_KINDS: tuple[tuple[dict[str, Any], str, pa.DataType], ...] = (
    ({"type": "string", "maxLength": 200}, "STRING", pa.string()),
    ({"type": "integer", "minimum": 0, "maximum": 2_000_000_000}, "BIGINT", pa.int64()),
    (_NUMBER, "DOUBLE", pa.float64()),
    (_BOOLEAN, "BOOLEAN", pa.bool_()),
    (_STRING, "STRING", pa.string()),
)
_FIELDS = {f"f{number:02}": _KINDS[number % len(_KINDS)] for number in range(20)}
SCHEMA = {
    "type": "object",
    "properties": {name: kind[0] for name, kind in _FIELDS.items()},
    "required": ["f00", "f01"],
    "additionalProperties": False,
}
SPARK_TYPES = {name: kind[1] for name, kind in _FIELDS.items()}
COLUMNS = {name: kind[2] for name, kind in _FIELDS.items()}
ENVELOPE = ("vendor", "name", "format", "version", "root_id", "root_tstamp", "ref_root", "ref_tree", "ref_parent")
_FILES = 4
_TEXTS = (
    "plain text of some words", "https://shop.example/products/1234?campaign=autumn", "grün und blau", "Mozilla/5.0 (X11)",
)  # fmt: skip
_QUOTED = 20
"""One in so many events has a text with a tab and quotes, which CSV has to quote."""


def make_registry(folder: Path) -> None:
    own = {"vendor": "com.acme", "name": "ad_click", "format": "jsonschema", "version": "1-0-0"}
    store = open_registry_store(str(folder), FolderObjects(folder), RegistrySettings())
    store.add(parse_schema({"self": own, **SCHEMA}))


def make_events(folder: Path, count: int) -> int:
    """Write the events into some files, and return how many of them are valid."""
    chance = random.Random(7)
    folder.mkdir(parents=True)
    bad = 0
    for file in range(_FILES):
        with (folder / f"events-{file}.json").open("w", encoding="utf-8") as lines:
            for number in range(file, count, _FILES):
                data = _data(number, chance)
                if number % _QUOTED == 0:
                    data["f04"] = 'a tab\t and "quotes"'
                if number % 100 == 99:
                    data["f01"], bad = -1, bad + 1
                event = {"schema": "iglu:com.acme/ad_click/jsonschema/1-0-0", "data": data}
                lines.write(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")
    return count - bad


def _data(number: int, chance: random.Random) -> dict[str, Any]:
    values = (
        lambda: f"{chance.choice(_TEXTS)} {number}",
        lambda: chance.randrange(2_000_000_000),
        lambda: chance.choice((None, chance.random() * 1_000)),
        lambda: chance.random() < 0.5,
        lambda: chance.choice((None, "short", "a longer text")),
    )
    return {name: values[place % len(values)]() for place, name in enumerate(_FIELDS)}
