"""Runs of CSV files, loaded into Redshift by the loader's own use case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.redshift_runs import ENVELOPE
from support.redshift_scene import TABLE, RedshiftScene, Row, together
from support.redshift_server import SCHEMA
from support.schemas import fields, histories, versions
from support.seeding import examples
from support.shredded_runs import click_table
from support.sweeps import sweep

from onefold.events.load.report import RunReport
from onefold.events.registry.columns import table_of
from onefold.events.registry.ddl import named_types
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.shred.manifest import ShreddedTable

ID, ZIP, LONG = ("id", "INT"), ("zip", "VARCHAR(5)"), ("zip", "VARCHAR(50)")


def states(reports: Sequence[RunReport]) -> list[str]:
    return ["; ".join(map(str, report.errors)) or report.state for report in reports]


def test_a_run_creates_its_table_and_loads_its_rows_once(redshift_scene: RedshiftScene) -> None:
    redshift_scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1}, {"id_": "b"})
    assert states(redshift_scene.load()) == ["loaded"]
    assert redshift_scene.load() == []
    assert redshift_scene.rows("id") == [("a", 1), ("b", None)]


SYSTEM = ("cmax", "cmin", "ctid", "deletexid", "insertxid", "oid", "tableoid", "xmax", "xmin")


def test_properties_with_the_names_of_system_columns_are_loaded(redshift_scene: RedshiftScene) -> None:
    schema = fields(**dict.fromkeys((*SYSTEM, "OID"), "string"), nested=fields(oid="string"))
    columns = [(one.name, str(one.type)) for one in table_of(versions(schema)).columns]
    names = [name for name, _ in columns]
    assert not set(names) & set(SYSTEM)
    assert [name.rpartition("_")[0] for name in names if "." not in name] == sorted(["oid", *SYSTEM])
    redshift_scene.shred(0, "1-0-0", columns, {"id_": "a", **{name: name for name in names}})
    assert states(redshift_scene.load()) == ["loaded"]
    assert redshift_scene.rows(*names) == [("a", *names)]


def test_a_load_of_other_rows_than_the_manifest_lists_is_undone_and_the_other_tables_are_loaded(
    redshift_scene: RedshiftScene,
) -> None:
    short = replace(click_table("1-0-0", ()), columns=(*ENVELOPE, ID))
    other = replace(short, name="com_acme_other_1", folder="name=other")
    redshift_scene.write(0, [(short, [{"id_": "a"}]), (other, [{"id_": "b"}])])
    redshift_scene.change_manifest(0, lambda found: found["tables"][0]["files"][0].update(rows=5))
    redshift_scene.change_manifest(0, lambda found: found.update(events=6))
    (report,) = redshift_scene.load()
    assert [table.state for table in report.tables] == ["failed", "loaded"]
    assert "expected the 5 rows that the manifest" in str(report.tables[0].error)
    assert redshift_scene.rows() == []
    assert redshift_scene.rows(table="com_acme_other_1") == [("b",)]


def test_a_table_that_was_emptied_and_is_not_listed_any_more_gets_all_rows(redshift_scene: RedshiftScene) -> None:
    redshift_scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1})
    redshift_scene.load()
    with redshift_scene.server.connect() as connection:
        connection.execute(f'TRUNCATE {SCHEMA}."{TABLE}"'.encode())
        connection.execute(f'DELETE FROM {SCHEMA}."onefold_manifest"'.encode())
    assert states(redshift_scene.load()) == ["loaded"]
    assert redshift_scene.rows("id") == [("a", 1)]


def test_a_later_run_brings_its_columns_and_an_older_one_loads_after_it(redshift_scene: RedshiftScene) -> None:
    redshift_scene.shred(1, "1-0-1", [ID, ZIP], {"id_": "b", "id": 2, "zip": "B"})
    redshift_scene.load()
    redshift_scene.shred(2, "1-0-2", [ID, LONG, ("more", "DATE")], {"id_": "c", "zip": "C" * 50, "more": "2026-01-02"})
    redshift_scene.load()
    redshift_scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1})
    assert states(redshift_scene.load()) == ["loaded"]
    assert redshift_scene.columns() == [ID, LONG, ("more", "DATE")]
    assert [row[:3] for row in redshift_scene.rows("id", "zip", "more")] == [
        ("a", 1, None),
        ("b", 2, "B"),
        ("c", None, "C" * 50),
    ]


def test_a_schema_that_is_added_while_a_run_is_shredded_waits_for_its_own_run(redshift_scene: RedshiftScene) -> None:
    redshift_scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1})
    redshift_scene.load()  # 1-0-1 is in the registry by now, and in no manifest
    assert redshift_scene.columns() == [ID]
    redshift_scene.shred(1, "1-0-1", [ID, ZIP], {"id_": "b", "id": 2, "zip": "B"})
    redshift_scene.load()
    assert redshift_scene.columns() == [ID, ZIP]


@pytest.mark.parametrize(
    ("alteration", "named"),
    sweep(
        [
            ('ADD COLUMN "mine" INT ENCODE ZSTD', "mine"),
            ('DROP COLUMN "zip"', "zip"),
            ('RENAME COLUMN "zip" TO "mine"', "mine"),
        ]
    ),
)
def test_a_table_that_somebody_altered_is_an_error_and_the_others_go_on(
    redshift_scene: RedshiftScene, alteration: str, named: str
) -> None:
    other = replace(click_table("1-0-0", ()), name="com_acme_other_1", columns=(*ENVELOPE, ID), folder="name=other")
    redshift_scene.shred(0, "1-0-0", [ID, ZIP], {"id_": "a"})
    redshift_scene.load()
    with redshift_scene.server.connect() as connection:
        connection.execute(f'ALTER TABLE {SCHEMA}."{TABLE}" {alteration.replace(" ENCODE ZSTD", "")}'.encode())
    mine = replace(click_table("1-0-0", ()), columns=(*ENVELOPE, ID, ZIP))
    redshift_scene.write(1, [(mine, [{"id_": "b"}]), (other, [{"id_": "b", "id": 2}])])
    (report,) = redshift_scene.load()
    assert [table.state for table in report.tables] == ["failed", "loaded"]
    assert named in str(report.tables[0].error)
    assert redshift_scene.rows("id", table="com_acme_other_1") == [("b", 2)]


def test_a_column_made_longer_by_hand_stays_so(redshift_scene: RedshiftScene) -> None:
    redshift_scene.shred(0, "1-0-0", [ZIP], {"id_": "a", "zip": "A"})
    redshift_scene.server.run(
        f'CREATE TABLE "{SCHEMA}"."{TABLE}" (\n  '
        + ",\n  ".join(f'"{name}" {type_} ENCODE ZSTD' for name, type_ in (*ENVELOPE, ("zip", "VARCHAR(5000)")))
        + "\n)"
    )
    assert states(redshift_scene.load()) == ["loaded"]
    assert redshift_scene.columns() == [("zip", "VARCHAR(5000)")]


def test_rows_for_another_warehouse_are_refused(redshift_scene: RedshiftScene) -> None:
    table = click_table("1-0-0", [("id", "INT64")])
    redshift_scene.write(0, [(table, [{"id_": "a"}])], format="parquet")
    redshift_scene.shred(1, "1-0-0", [ID], {"id_": "b", "id": 2})
    first, second = states(redshift_scene.load())
    assert "has rows for bigquery, and dev.atomic is in redshift: shred with --warehouse redshift" in first
    assert second == "loaded"


def test_a_dry_run_writes_nothing(redshift_scene: RedshiftScene) -> None:
    redshift_scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1})
    (report,) = redshift_scene.loader().plan()
    assert [(table.action, table.state) for table in report.tables] == [("create", "to load")]
    assert not redshift_scene.server.query(f"SELECT 1 FROM svv_tables WHERE table_schema = '{SCHEMA}'")


# A history of the registry, shredded at several of its states, and loaded in any order.

_VALUES = {
    "SMALLINT": 32_767, "INT": -2_147_483_648, "BIGINT": 9_223_372_036_854_775_807, "BOOLEAN": True, "DATE": "2026-02-28",
    "TIMESTAMP": "2026-02-28 23:59:59.123456", "DOUBLE PRECISION": 0.1, "DECIMAL(36,2)": "12.30",
}  # fmt: skip
_TEXTS = ("", "a\tb", "ä\n€", 'q"', "x\\", "plain")


def _value(type_: str, draw: st.DrawFn) -> Any:
    if type_ in _VALUES:
        return draw(st.sampled_from([None, _VALUES[type_]]))
    kind, _, size = type_.rstrip(")").partition("(")
    if kind == "CHAR":
        return draw(st.sampled_from([None, "c" * int(size)]))
    return draw(st.sampled_from([None, *(text for text in _TEXTS if len(text.encode()) <= int(size))]))


@st.composite
def shredded_histories(draw: st.DrawFn) -> list[list[tuple[ShreddedTable, list[Row]]]]:
    """Return runs of a registry that grows between them, each with the tables and rows as they were at its start."""
    history = draw(histories())
    known = sorted(draw(st.lists(st.integers(1, len(history)), min_size=1, max_size=4)))
    return [_shredded(draw, history[:count], number) for number, count in enumerate(known)]


def _shredded(draw: st.DrawFn, history: list[JsonSchema], run: int) -> list[tuple[ShreddedTable, list[Row]]]:
    model = table_of(history)
    recovered = {one.version: one for one in model.recovered}
    tables: dict[str, tuple[ShreddedTable, list[Row]]] = {}
    for number, schema in enumerate(draw(st.lists(st.sampled_from(history), min_size=1, max_size=3))):
        of = recovered.get(schema.key.version, model)
        uri = model.uri if of is model else schema.key.uri
        columns = (*ENVELOPE, *named_types(of.columns))
        table = ShreddedTable(of.name, "com_acme_ad_click", "1", uri, columns, f"name={of.name}", ())
        rows = tables.setdefault(of.name, (table, []))[1]
        rows.append({"id_": f"{run}.{number}", **{name: _value(type_, draw) for name, type_ in columns[len(ENVELOPE) :]}})
    return list(tables.values())


@pytest.mark.long
@settings(
    max_examples=examples(6),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)
@given(runs=shredded_histories(), data=st.data())
def test_any_runs_load_in_any_order_by_any_number_of_loaders(
    redshift_scene: RedshiftScene, runs: list[list[tuple[ShreddedTable, list[Row]]]], data: st.DataObject
) -> None:
    redshift_scene.empty()
    order = data.draw(st.permutations(range(len(runs))))
    for second in order:
        redshift_scene.write(second, runs[second])
        loaders = data.draw(st.integers(0, 2))
        together(redshift_scene, loaders)
    together(redshift_scene, 1)
    assert redshift_scene.load() == []
    for name in {table.name for run in runs for table, _ in run}:
        rows = [row for run in runs for table, given_rows in run if table.name == name for row in given_rows]
        columns = [column for column, _ in redshift_scene.columns(name)]
        expected = sorted((row["id_"], *(_text(row.get(column)) for column in columns)) for row in rows)
        found = [(row[0], *map(_text, row[1:])) for row in redshift_scene.rows(*columns, table=name)]
        assert sorted(found) == expected


def _text(value: Any) -> str:
    return "NULL" if value is None else f"={value}"
