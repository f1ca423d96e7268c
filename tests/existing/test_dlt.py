"""Tables that dlt itself has written: tests/support/record_dlt.py recorded them, with the schema that dlt stores."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from support.existing_tables import schema

from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable, Recognised, TableNote
from onefold.existing.tools.dlt import read_schemas

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "dlt_tables.json").read_text())
STORED = json.dumps(RECORDED["schema"])
COMPRESSED = base64.b64encode(zlib.compress(STORED.encode())).decode()


def recognised(stored: str) -> dict[str, Recognised]:
    notes: Any = read_schemas([{"schema_name": "shop", "schema": stored}])
    names = frozenset(RECORDED["tables"])
    return {
        name: recognise(
            ExistingTable(name, schema(columns), siblings=names, notes={"_dlt_version": notes.get(name, TableNote())})
        )
        for name, columns in RECORDED["tables"].items()
    }


@pytest.mark.parametrize("stored", [STORED, COMPRESSED], ids=["as text", "compressed"])
def test_each_way_in_which_dlt_writes_is_recognised_with_its_key(stored: str) -> None:
    found = recognised(stored)
    assert {name: (one.form, one.rows, one.key) for name, one in found.items() if one.rows != "own"} == {
        "appended": ("append", "history", ("id",)),
        "appended__tags": ("list", "current", ("_dlt_id",)),
        "dimension": ("scd2", "history", ("id",)),
        "merged": ("merge or replace", "current", ("id",)),
        "replaced": ("merge or replace", "current", ("id",)),
    }
    assert {one.confidence for one in found.values()} == {"certain"}
    assert {name for name, one in found.items() if one.rows == "own"} == {
        "_dlt_loads",
        "_dlt_pipeline_state",
        "_dlt_version",
    }


def test_values_of_another_type_are_in_variants() -> None:
    assert recognised(STORED)["appended"].variants == {"score": ("score__v_double", "score__v_text")}
