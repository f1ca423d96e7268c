"""Tables that another loader made: what `onefold schema adopt` says of one is what the loader does with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cli import Run
from support.redshift_runs import ENVELOPE
from support.redshift_scene import TABLE, RedshiftScene
from support.redshift_server import SCHEMA
from support.registries import folder_store
from support.sweeps import sweep

from onefold.events.load.report import RunReport
from onefold.events.registry.json_schema import parse_schema
from onefold.schema.redshift_catalog import parse_type

Columns = list[tuple[str, str]]
ID, ZIP = ("id", "BIGINT"), ("zip", "VARCHAR(10)")
DOCUMENT = {
    "self": {"vendor": "com.acme", "name": "click", "format": "jsonschema", "version": "1-0-0"},
    "type": "object",
    "properties": {"id": {"type": "integer"}, "zip": {"type": "string", "maxLength": 10}},
}
_CATALOG = {
    "VARCHAR": "character varying",
    "CHAR": "character",
    "INT": "integer",
    "TIMESTAMP": "timestamp without time zone",
}


def make(scene: RedshiftScene, columns: Columns) -> None:
    lines = ",\n  ".join(f'"{name}" {type_} ENCODE ZSTD' for name, type_ in (*ENVELOPE, *columns))
    scene.server.run(f'CREATE TABLE "{SCHEMA}"."{TABLE}" (\n  {lines}\n)')


def adopted(run: Run, folder: Path, columns: Columns) -> set[str]:
    """Return the severities of the differences that the command lists."""
    folder_store(folder).add(parse_schema(DOCUMENT))
    rows = [
        {
            "table_name": TABLE, "column_name": name, "ordinal_position": place,
            "data_type": _CATALOG.get(parse_type(type_).name, type_.lower()),
            "character_maximum_length": parse_type(type_).length or None,
        }
        for place, (name, type_) in enumerate((*ENVELOPE, *columns), 1)
    ]  # fmt: skip
    (folder / "columns.json").write_text(json.dumps(rows))
    words = ("schema", "adopt", "com.acme/click/jsonschema/1", "--table", TABLE, "--columns", folder / "columns.json")
    return {one["severity"] for one in run(*words, "--registry", folder, "--json").results}


def load(scene: RedshiftScene, second: int) -> RunReport:
    scene.shred(second, "1-0-0", [ID, ZIP], {"id_": f"row-{second}", "id": 2**40, "zip": "0123456789"})
    (report,) = scene.load()
    return report


@pytest.mark.parametrize(
    ("columns", "named"),
    sweep(
        [
            ([("id", "INT"), ZIP], "column id: it is INT and cannot hold BIGINT"),
            ([ID, ("zip", "CHAR(5)")], "column zip: it is CHAR(5) and cannot hold VARCHAR(10)"),
            ([ZIP, ID], "column id: it is not at its place"),
            ([ZIP], "column id: BIGINT is missing, and a column can only be added behind all others"),
            ([("old", "DATE"), ID, ZIP], "column old: DATE is where another column belongs"),
        ]
    ),
)
def test_a_table_that_redshift_cannot_change_is_refused_by_both_and_stays(
    run: Run, tmp_path: Path, redshift_scene: RedshiftScene, columns: Columns, named: str
) -> None:
    make(redshift_scene, columns)
    assert "CRITICAL" in adopted(run, tmp_path, columns)
    (table,) = load(redshift_scene, 0).tables
    assert table.state == "failed"
    assert named in str(table.error)
    assert redshift_scene.columns() == columns
    assert not redshift_scene.warehouse.histories([TABLE])


@pytest.mark.parametrize(
    ("columns", "after"),
    sweep(
        [
            ([ID, ZIP], [ID, ZIP]),
            ([ID], [ID, ZIP]),
            ([ID, ("zip", "VARCHAR(5)")], [ID, ZIP]),
            ([("id", "VARCHAR(19)"), ("zip", "VARCHAR(5000)")], [("id", "VARCHAR(19)"), ("zip", "VARCHAR(5000)")]),
        ]
    ),
)
def test_a_table_that_is_taken_is_taken_by_every_run(
    run: Run, tmp_path: Path, redshift_scene: RedshiftScene, columns: Columns, after: Columns
) -> None:
    make(redshift_scene, columns)
    assert "CRITICAL" not in adopted(run, tmp_path, columns)
    for second in range(2):
        assert not load(redshift_scene, second).errors
    assert redshift_scene.columns() == after
    assert len(redshift_scene.rows("id")) == 2
