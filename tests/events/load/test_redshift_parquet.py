"""Runs of Parquet files, loaded into Redshift: what is in the tables afterwards is what CSV would have brought."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from support.adopted_tables import make_table, shred_run
from support.redshift_runs import ENVELOPE
from support.redshift_scene import RedshiftScene, table_of
from support.redshift_server import SCHEMA
from support.shred_events import data_of, document, event, parsed, registry_of
from support.shredded_runs import click_table

from onefold.core.shred_options import FileFormat
from onefold.events.load.report import RunReport
from onefold.events.registry.column_mapping import TableColumn
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.legacy_table import LegacyTable, adopt

TIME = datetime(2026, 11, 23, 7, 59, 59, 500_000, tzinfo=UTC)
FORMATS: tuple[FileFormat, ...] = ("csv", "parquet")
OWN = ("com.acme", "click", "jsonschema", "1-0-0")
ALL_TYPES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "small": {"type": "integer", "maximum": 100}, "whole": {"type": "integer", "maximum": 2**31 - 1},
        "big": {"type": "integer"}, "price": {"type": "number", "multipleOf": 0.01}, "ratio": {"type": "number"},
        "flag": {"type": "boolean"}, "day": {"type": "string", "format": "date"},
        "time": {"type": "string", "format": "date-time"}, "text": {"type": "string", "maxLength": 40},
        "key": {"type": "string", "format": "uuid"}, "many": {"type": "array"}, "inner": {"properties": {"a": {}}},
        "code": {"type": "string", "minLength": 2, "maxLength": 2}, "either": {"type": ["integer", "string"]},
    },
}  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {
        "small": -5, "whole": 2**31 - 1, "big": -(2**63), "price": 12345678901234.5, "ratio": 1e-7, "flag": True,
        "day": "0001-01-01", "time": "2026-11-23T08:00:00.000001+01:00", "text": 'ä€😀 "\t\\ \r\n', "code": "DE",
        "key": "c6ef3124-b53a-4b13-a233-0088f79dcbcb", "many": [1, "a", None], "inner": {"a": {"b": 1}}, "either": 7,
    },
    {"ratio": 3, "price": 0.1, "flag": False, "text": "", "day": "9999-12-31", "time": "1969-12-31T23:59:59Z"},
    {},
]  # fmt: skip


def states(reports: list[RunReport]) -> list[str]:
    return ["; ".join(map(str, report.errors)) or report.state for report in reports]


def row(id_: str, *values: Any) -> tuple[Any, ...]:
    return (*OWN, id_, TIME, "events", '["events","click"]', "events", *values)


def rows_by_format(scene: RedshiftScene, schema: JsonSchema, data: list[Any]) -> list[list[tuple[Any, ...]]]:
    """Load the same data from CSV and from Parquet into one table; return the rows of each, without the ids."""
    bad = []
    for second, format_ in enumerate(FORMATS):
        events = [event(schema, one, f"{format_}-{number:03}") for number, one in enumerate(data)]
        bad.append(len(shred_run(scene, second, registry_of(schema), events, format_)))
    assert bad[0] == bad[1] < len(data)
    assert states(scene.load()) == ["loaded", "loaded"]
    found = scene.rows(*(name for name, _ in scene.columns()))
    return [[tuple(map(_plain, row[1:])) for row in found if row[0].startswith(format_)] for format_ in FORMATS]


def _plain(value: Any) -> Any:
    """Return a value without the escape of texts that look like NULL, which files of CSV need."""
    escaped = isinstance(value, str) and len(value) > 2 and value.endswith("N") and set(value[:-1]) == {"\\"}
    return value[1:] if escaped else value


def test_values_of_every_type_are_those_that_csv_brings(redshift_scene: RedshiftScene) -> None:
    from_csv, from_parquet = rows_by_format(redshift_scene, parsed(ALL_TYPES, name="click"), ROWS)
    assert len(from_csv) == len(ROWS)
    assert from_parquet == from_csv
    assert {type_.partition("(")[0] for _, type_ in redshift_scene.columns()} == {
        "SMALLINT", "INT", "BIGINT", "DECIMAL", "DOUBLE PRECISION", "BOOLEAN", "DATE", "TIMESTAMP", "VARCHAR", "CHAR",
    }  # fmt: skip


def test_data_of_random_schemas_is_that_which_csv_brings(redshift_scene: RedshiftScene, chance: random.Random) -> None:
    for _ in range(5):
        source = {**document(chance), "type": "object"}
        # CSV needs a byte more for a text that looks like NULL, which its column may not have.
        data = [{}, *(one for one in (data_of(chance, source) for _ in range(8)) if '\\N"' not in json.dumps(one))]
        redshift_scene.empty()
        from_csv, from_parquet = rows_by_format(redshift_scene, parsed(source, name="click"), data)
        assert from_parquet == from_csv


def test_a_text_that_looks_like_null_is_as_it_is(redshift_scene: RedshiftScene) -> None:
    schema = parsed({"type": "object", "properties": {"text": {"type": "string", "maxLength": 2}}}, name="click")
    shred_run(
        redshift_scene, 0, registry_of(schema), [event(schema, {"text": "\\N"}, "a"), event(schema, {}, "b")], "parquet"
    )
    assert states(redshift_scene.load()) == ["loaded"]
    assert redshift_scene.rows("text") == [("a", "\\N"), ("b", None)]


@pytest.mark.parametrize("format_", FORMATS)
def test_an_adopted_table_gets_its_columns_by_their_names(redshift_scene: RedshiftScene, format_: FileFormat) -> None:
    properties = {
        "id": {"type": "integer"}, "at": {"type": "string", "format": "date-time"}, "price": {"type": "number"},
        "code": {"type": "string"},
    }  # fmt: skip
    schema = parsed({"type": "object", "properties": properties}, name="click")
    columns = [
        ("CODE", "VARCHAR(3)"), ("at", "TIMESTAMPTZ"), ("price", "REAL"), *ENVELOPE, ("id", "SMALLINT"),
        ("load_tstamp", "TIMESTAMP DEFAULT '2020-01-01'"),
    ]  # fmt: skip
    make_table(redshift_scene.server, "old_clicks", columns)
    listed = tuple(TableColumn(name, type_.partition(" DEFAULT")[0]) for name, type_ in columns)
    adopted = adopt([schema], "redshift", LegacyTable("atomic.old_clicks", listed, {})).table
    registry = replace(registry_of(schema), adopted={("redshift", schema.key.model_key): adopted})
    events = [
        {"id": 1, "at": "2026-11-23T08:00:00+02:00", "price": 0.5, "code": "ab"},
        {"id": 40_000},
        {"id": 2, "code": "long"},
    ]
    bad = shred_run(redshift_scene, 0, registry, [event(schema, one, str(n)) for n, one in enumerate(events)], format_)
    assert len(bad) == 2
    assert states(redshift_scene.load()) == ["loaded"]
    found = redshift_scene.server.query(
        f'SELECT "CODE", "at" AT TIME ZONE \'UTC\', price, id, load_tstamp FROM {SCHEMA}.old_clicks'
    )
    assert found == [("ab", datetime(2026, 11, 23, 6), 0.5, 1, datetime(2020, 1, 1))]


def test_a_later_run_brings_its_columns_and_an_older_one_loads_after_it(redshift_scene: RedshiftScene) -> None:
    redshift_scene.write_values(
        1, [(table_of(("id", "INT"), ("zip", "VARCHAR(50)"), ("more", "DATE")), [row("b", 2, "B" * 50, TIME.date())])]
    )
    redshift_scene.write_values(0, [(table_of(("id", "INT"), ("zip", "VARCHAR(5)")), [row("a", 1, "A")])])
    redshift_scene.shred(2, "1-0-0", [("id", "INT")], {"id_": "c", "id": 3})
    assert states(redshift_scene.load()) == ["loaded"] * 3
    assert [found[:3] for found in redshift_scene.rows("id", "zip", "more")] == [
        ("a", 1, "A"), ("b", 2, "B" * 50), ("c", 3, None),
    ]  # fmt: skip


def test_a_file_that_cannot_be_read_or_has_other_rows_leaves_the_other_tables_alone(redshift_scene: RedshiftScene) -> None:
    tables = {name: table_of(("id", "INT"), name=f"com_acme_{name}_1") for name in ("long", "other", "short")}
    redshift_scene.write_values(0, [(table, [row("a", 1)]) for table in tables.values()])

    def change(found: dict[str, Any]) -> None:
        found["tables"][0]["columns"][-1][1] = "BIGINT"
        found["tables"][2]["files"][0]["rows"] = 5
        found["events"] = 7

    redshift_scene.change_manifest(0, change)
    (report,) = redshift_scene.load()
    assert [one.state for one in report.tables] == ["failed", "loaded", "failed"]
    assert "column id: has an incompatible Parquet schema: bigint from int32" in str(report.tables[0].error)
    assert "expected the 5 rows that the manifest" in str(report.tables[2].error)
    found = [redshift_scene.rows(table=table.name) for table in tables.values()]
    assert found == [[], [("a",)], []]


def test_a_run_of_more_tables_than_a_transaction_holds_is_loaded(redshift_scene: RedshiftScene) -> None:
    tables = [table_of(("id", "INT"), name=f"com_acme_t{number}_1") for number in range(9)]
    redshift_scene.write_values(0, [(table, [row("a", number)]) for number, table in enumerate(tables)])
    assert states(redshift_scene.load()) == ["loaded"]
    assert [redshift_scene.rows("id", table=table.name) for table in tables] == [[("a", number)] for number in range(9)]
    assert sum(text.startswith("LOCK") for text in redshift_scene.server.log) == 2


def test_no_temporary_table_stays(redshift_scene: RedshiftScene) -> None:
    for second in range(2):
        redshift_scene.write_values(second, [(table_of(("id", "INT")), [row(f"a{second}", 1)])])
    assert states(redshift_scene.load()) == ["loaded", "loaded"]
    made, dropped = (
        sum(text.startswith(word) for text in redshift_scene.server.log) for word in ("CREATE TEMP", "DROP TABLE")
    )
    assert (made, dropped) == (2, 2)


def test_a_run_for_bigquery_is_refused(redshift_scene: RedshiftScene) -> None:
    redshift_scene.write_values(0, [(click_table("1-0-0", ()), [])], warehouse=None)
    assert "has rows for bigquery" in states(redshift_scene.load())[0]
