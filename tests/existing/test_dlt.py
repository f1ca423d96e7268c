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
    return recognised_by([{"schema_name": "shop", "schema": stored}])


def recognised_by(schemas: list[dict[str, Any]]) -> dict[str, Recognised]:
    notes: Any = read_schemas(schemas)
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
        "named": ("scd2", "history", ("id",)),
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


def test_columns_of_validity_with_names_of_their_own_tell_which_rows_are_valid() -> None:
    found = recognised(STORED)
    assert found["named"].active == "r.`valid_to` = TIMESTAMP '9999-12-31T00:00:00+00:00'"
    assert (found["named"].order_by, found["named"].metadata) == (("valid_from",), ("_dlt_id", "_dlt_load_id"))
    assert found["dimension"].active == "r.`_dlt_valid_to` IS NULL"


@pytest.mark.parametrize(
    "hint", [("x-valid-to", "x-no-hint"), ('"valid_to": {', '"gone": {'), ('"9999-12-31"', '"soon"')],
    ids=["no hint", "a hint on no column of the table", "a time that cannot be read"],
)  # fmt: skip
def test_scd2_without_known_columns_of_validity_is_a_guess_without_an_order(hint: tuple[str, str]) -> None:
    found = recognised(STORED.replace(*hint))["named"]
    assert (found.form, found.rows, found.confidence, found.active, found.order) == ("scd2", "history", "guess", "", ())


def written_as(disposition: str, inserted_at: int) -> dict[str, Any]:
    table = {"write_disposition": disposition, "columns": {"id": {"primary_key": True}}}
    return {"schema_name": disposition, "inserted_at": inserted_at, "schema": json.dumps({"tables": {"merged": table}})}


def test_of_the_schemas_of_a_renamed_pipeline_the_one_inserted_last_counts() -> None:
    schemas = [written_as("append", 2), written_as("merge", 1)]
    for one in (schemas, schemas[::-1]):
        assert (recognised_by(one)["merged"].form, recognised_by(one)["merged"].confidence) == ("append", "certain")


@pytest.mark.parametrize(
    ("hints", "rows"), [({}, "history"), ({"merge_key": True}, "current"), ({"primary_key": True}, "current")]
)
def test_a_merge_without_a_key_is_an_append_as_in_dlt(hints: dict[str, bool], rows: str) -> None:
    table = {"write_disposition": "merge", "columns": {"id": hints}}
    assert read_schemas([{"schema": json.dumps({"tables": {"merged": table}})}])["merged"].rows == rows


def test_schemas_of_one_time_that_contradict_each_other_are_no_certainty() -> None:
    assert recognised_by([written_as("append", 1), written_as("merge", 1)])["merged"].confidence == "guess"
    assert recognised_by([written_as("merge", 1), written_as("merge", 1)])["merged"].confidence == "certain"
