"""Tables that another loader made: adopted by the command, filled by the shredder and the loader."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.adopted_tables import (
    Columns,
    adopt,
    is_same,
    make_table,
    registry_with_adopted,
    shred_run,
    with_envelope,
    write_registry,
)
from support.cli import Run
from support.redshift_runs import ENVELOPE
from support.redshift_scene import TABLE, RedshiftScene, together
from support.schemas import fields
from support.seeding import examples
from support.shred_events import event, parsed
from support.shredded_runs import click_table
from support.sweeps import sweep

from onefold.events.load.report import RunReport
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.shred.csv_values import NULL, csv_converter
from onefold.events.shred.values import DoesNotFit
from onefold.schema.redshift_fit import held_type

ID, ZIP = ("id", "BIGINT"), ("zip", "VARCHAR(10)")
SHORT = {"type": "string", "maxLength": 10}


def click(version: str, **properties: Any) -> JsonSchema:
    return parsed(fields(id="integer", zip=SHORT, **properties), version, name="click")


FIRST, LATER = click("1-0-0"), click("1-0-1", userName=SHORT)


class Adopted:
    """A table that was adopted for some versions, and the runs that are shredded for it."""

    def __init__(self, run: Run, folder: Path, scene: RedshiftScene) -> None:
        self.run, self.folder, self.scene = run, folder, scene

    def adopt(self, *versions: JsonSchema, more: tuple[object, ...] = ()) -> tuple[int, dict[str, str]]:
        shutil.rmtree(self.folder / "schemas", ignore_errors=True)
        write_registry(self.folder, versions)
        code, found = adopt(self.run, self.scene.server, self.folder, versions, TABLE, *more)
        return code, {one["column"]: one["severity"] for one in found}

    def shred(self, second: int, *versions: JsonSchema, **data: Any) -> list[str]:
        registry = registry_with_adopted(self.folder, versions)
        return shred_run(self.scene, second, registry, [event(versions[-1], data, f"row-{second}")])

    def load(self) -> list[RunReport]:
        return self.scene.load()

    def alter(self, *statements: str) -> None:
        with self.scene.server.connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())


@pytest.fixture
def adopted(run: Run, tmp_path: Path, redshift_scene: RedshiftScene) -> Adopted:
    return Adopted(run, tmp_path, redshift_scene)


def problems(reports: list[RunReport]) -> str:
    return "; ".join(str(error) for report in reports for error in report.errors)


@pytest.mark.parametrize(
    ("columns", "column"),
    sweep(
        [
            ([("id", "DATE"), ZIP], "id"),
            ([ID, ("zip", "BOOLEAN")], "zip"),
            ([ID, ZIP], "root_tstamp"),
        ]
    ),
)
def test_a_table_whose_columns_hold_other_things_is_refused_and_nothing_is_recorded(
    adopted: Adopted, columns: Columns, column: str
) -> None:
    make_table(adopted.scene.server, TABLE, [one for one in with_envelope(*columns) if one[0] != column or one in columns])
    code, severities = adopted.adopt(FIRST)
    assert (code, severities[column]) == (2, "CRITICAL")
    assert not registry_with_adopted(adopted.folder, [FIRST]).adopted


def test_rows_go_to_columns_by_their_names_and_what_nobody_has_gets_its_default(adopted: Adopted) -> None:
    table: Columns = [
        ("zip", "VARCHAR(10)"), *reversed(ENVELOPE), ("load_tstamp", "TIMESTAMP DEFAULT '2026-01-02'"), ("mine", "DATE"),
        ("ID", "DECIMAL(18,2)"),
    ]  # fmt: skip
    make_table(adopted.scene.server, TABLE, table, required=["load_tstamp"])
    assert adopted.adopt(FIRST) == (0, {"load_tstamp": "INFO", "mine": "INFO", "ID": "WARNING"})
    assert adopted.shred(0, FIRST, id=2**40, zip="0123456789") == []
    assert problems(adopted.load()) == ""
    ((*row, time, mine),) = adopted.scene.rows("ID", "zip", "load_tstamp", "mine")
    assert (row, str(time), mine) == (["row-0", 2**40, "0123456789"], "2026-01-02 00:00:00", None)


def test_a_later_version_adds_its_columns_at_the_end_and_an_older_run_loads_after_it(adopted: Adopted) -> None:
    make_table(adopted.scene.server, TABLE, with_envelope(("old", "DATE"), ZIP, ID))
    assert adopted.adopt(FIRST)[0] == 0
    adopted.shred(1, FIRST, id=1)
    adopted.shred(2, FIRST, LATER, id=2, userName="b")
    assert problems(adopted.load()) == ""
    assert adopted.scene.columns() == [("old", "DATE"), ZIP, ID, ("user_name", "VARCHAR(10)")]
    adopted.shred(0, FIRST, id=0)
    assert problems(adopted.load()) == ""
    assert adopted.scene.rows("id", "user_name") == [("row-0", 0, None), ("row-1", 1, None), ("row-2", 2, "b")]


def test_a_value_that_a_narrower_column_does_not_hold_is_a_bad_row_with_its_name(adopted: Adopted) -> None:
    make_table(adopted.scene.server, TABLE, with_envelope(("id", "SMALLINT"), ("zip", "VARCHAR(5)")), required=["zip"])
    assert adopted.adopt(FIRST) == (0, {"id": "WARNING", "zip": "WARNING"})
    assert "id: 32768 is beyond SMALLINT" in adopted.shred(0, FIRST, id=32_768, zip="a")[0]
    assert "zip: 012345 has 6 bytes" in adopted.shred(1, FIRST, id=1, zip="012345")[0].replace('"', "")
    assert "zip: the column is NOT NULL" in adopted.shred(2, FIRST, id=1)[0]
    assert adopted.shred(3, FIRST, id=32_767, zip="01234") == []
    assert problems(adopted.load()) == ""
    assert adopted.scene.rows("id", "zip") == [("row-3", 32_767, "01234")]
    assert adopted.scene.columns() == [("id", "SMALLINT"), ("zip", "VARCHAR(5)")]


def test_a_value_that_does_not_fit_goes_to_the_recovery_table_where_that_is_set(adopted: Adopted) -> None:
    make_table(adopted.scene.server, TABLE, with_envelope(("id", "SMALLINT"), ZIP))
    assert adopted.adopt(FIRST, more=("--misfits", "recovery_table"))[0] == 0
    assert adopted.shred(0, FIRST, id=1, zip="a") + adopted.shred(1, FIRST, id=2**40, zip="b") == []
    assert problems(adopted.load()) == ""
    assert adopted.scene.rows("id") == [("row-0", 1)]
    (name,) = [
        one
        for (one,) in adopted.scene.server.query("SELECT table_name FROM svv_tables WHERE table_schema = 'atomic'")
        if "_1_0_0_recovered_" in one
    ]
    assert adopted.scene.rows("id", "zip", table=name) == [("row-1", 2**40, "b")]


def reshaped(order: str) -> list[str]:
    """Return the statements of a deep copy: the columns of the table in another order."""
    names = ", ".join([*(f'"{name}"' for name, _ in ENVELOPE), order])
    return [
        f'CREATE TABLE "atomic"."copied" AS SELECT {names} FROM "atomic"."{TABLE}"',
        f'DROP TABLE "atomic"."{TABLE}"',
        f'ALTER TABLE "atomic"."copied" RENAME TO "{TABLE}"',
    ]


@pytest.mark.parametrize(
    "statements",
    [
        [f'ALTER TABLE "atomic"."{TABLE}" ADD COLUMN "mine" INT'],
        [f'ALTER TABLE "atomic"."{TABLE}" ALTER COLUMN "zip" TYPE VARCHAR(40)'],
        [f'ALTER TABLE "atomic"."{TABLE}" DROP COLUMN "other"'],
        reshaped("id, other, zip"),
    ],
    ids=["added", "made longer", "a column that no row has was dropped", "copied in another order"],
)
def test_a_run_loads_into_a_table_that_still_has_its_columns_before_and_after_it_is_adopted_again(
    adopted: Adopted, statements: list[str]
) -> None:
    make_table(adopted.scene.server, TABLE, with_envelope(("zip", "VARCHAR(4)"), ID, ("other", "INT")))
    adopted.adopt(FIRST)
    adopted.shred(0, FIRST, id=0, zip="0000")
    adopted.load()
    adopted.shred(1, FIRST, id=1, zip="1111")
    adopted.alter(*statements)
    adopted.shred(2, FIRST, id=2, zip="2222")
    before = [name for name, _ in adopted.scene.columns()]
    assert problems(adopted.load()) == ""
    adopted.shred(3, FIRST, id=3, zip="3333")
    adopted.adopt(FIRST)
    adopted.shred(4, FIRST, id=4, zip="4444")
    assert problems(adopted.load()) == ""
    assert adopted.scene.rows("id", "zip") == [(f"row-{one}", one, 4 * str(one)) for one in range(5)]
    assert [name for name, _ in adopted.scene.columns()] == before


@pytest.mark.parametrize("statement", ['RENAME COLUMN "id" TO "ident"', 'DROP COLUMN "id"'])
def test_a_column_that_rows_go_to_and_that_is_gone_stops_the_run_until_the_table_is_adopted_again(
    adopted: Adopted, statement: str
) -> None:
    make_table(adopted.scene.server, TABLE, with_envelope(ID, ZIP))
    adopted.adopt(FIRST)
    adopted.shred(0, FIRST, id=0)
    adopted.load()
    adopted.alter(f'ALTER TABLE "atomic"."{TABLE}" {statement}')
    adopted.shred(1, FIRST, id=1)
    refused = problems(adopted.load())
    assert "its column id BIGINT is missing" in refused
    assert "`onefold schema adopt --record` and shred the inputs of the run again" in refused
    adopted.adopt(FIRST)
    adopted.shred(2, FIRST, id=2)
    adopted.load()
    assert adopted.scene.rows("id") == [("row-0", None), ("row-2", 2)]


def test_an_adopted_table_that_does_not_exist_is_not_created(adopted: Adopted) -> None:
    make_table(adopted.scene.server, TABLE, with_envelope(ZIP, ID))
    adopted.adopt(FIRST)
    adopted.scene.server.run(f'DROP TABLE "atomic"."{TABLE}"')
    adopted.shred(0, FIRST, id=1)
    assert f"{TABLE} was adopted, and does not exist" in problems(adopted.load())


def test_a_table_that_was_not_adopted_is_taken_only_where_its_columns_are_a_state_of_the_run(adopted: Adopted) -> None:
    make_table(adopted.scene.server, TABLE, with_envelope(ZIP, ID))
    adopted.scene.shred(0, "1-0-0", [ID, ZIP], {"id_": "a", "id": 1})
    assert "`onefold schema adopt` maps columns by their names" in problems(adopted.load())
    assert adopted.scene.columns() == [ZIP, ID]


VALUES: dict[str, list[Any]] = {
    "SMALLINT": [-32_768, 32_767], "INT": [-(2**31), 2**31 - 1], "BIGINT": [-(2**63), 2**63 - 1], "BOOLEAN": [True, False],
    "DECIMAL(36,2)": [-0.01, 10**30], "DOUBLE PRECISION": [0.1, 2**60, 5], "DATE": ["2026-02-28", "9999-12-31"],
    "TIMESTAMP": ["2026-11-23T08:00:00.123456Z", "2026-11-23T08:00:00Z"],
    "VARCHAR(4096)": ["", "größe\t😀", "x" * 36], "CHAR(36)": ["c" * 36, "d"],
}  # fmt: skip
TABLE_TYPES = (
    *VALUES, "REAL", "TIMESTAMPTZ", "DECIMAL(18,2)", "DECIMAL(5,0)", "VARCHAR(13)", "VARCHAR(256)", "CHAR(3)", "VARCHAR(20)",
)  # fmt: skip


def test_every_value_that_a_column_takes_is_read_back_equal_from_it(redshift_scene: RedshiftScene) -> None:
    pairs = [(existing, values) for existing in TABLE_TYPES for values in VALUES if held_type(existing, values) != "none"]
    columns = [(f"c{number}", existing) for number, (existing, _) in enumerate(pairs)]
    rows = [[_fitting(*pair, number) for pair in pairs] for number in range(4)]
    make_table(redshift_scene.server, TABLE, with_envelope(*columns))
    lines = ["\t".join([*_ENVELOPE_OF_ROW, *(field for field, _ in row)]) + "\n" for row in rows]
    table = replace(click_table("1-0-0", ()), columns=(*ENVELOPE, *columns))
    redshift_scene.write_lines(0, [(table, lines)])
    assert problems(redshift_scene.load()) == ""
    names = ", ".join(name for name, _ in columns)
    for row, stored in zip(rows, redshift_scene.server.query(f'SELECT {names} FROM "atomic"."{TABLE}"'), strict=True):
        for pair, (_, value), found in zip(pairs, row, stored, strict=True):
            assert is_same(value, found), (pair, value, found)


_ENVELOPE_OF_ROW = ("a", "b", "c", "1-0-0", "e", "2026-11-23 08:00:00", "events", "[]", "events")


def _fitting(existing: str, values: str, number: int) -> tuple[str, Any]:
    """Return the field of a value, and the value; NULL where the column does not take it."""
    value = VALUES[values][number % len(VALUES[values])]
    try:
        return csv_converter(existing)(value), value
    except DoesNotFit:
        return NULL, None


@pytest.mark.long
@settings(
    max_examples=examples(4),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(data=st.data())
def test_any_runs_of_an_adopted_table_load_in_any_order_by_any_number_of_loaders(
    adopted: Adopted, data: st.DataObject
) -> None:
    adopted.scene.empty()
    versions = [FIRST, *(click(f"1-0-{number}", **_properties(number)) for number in range(1, 4))]
    table = data.draw(st.permutations([*with_envelope(ZIP, ID), ("P1", "VARCHAR(300)"), ("nobody", "INT")]))
    make_table(adopted.scene.server, TABLE, table)
    assert adopted.adopt(*versions[: data.draw(st.integers(1, 4))])[0] == 0
    expected = {}
    for second in data.draw(st.permutations(range(4))):
        known = versions[: second + 1]
        expected[f"row-{second}"] = {"id": second, **{f"p{number}": f"v{second}" for number in range(1, second + 1)}}
        assert adopted.shred(second, *known, **expected[f"row-{second}"]) == []
        together(adopted.scene, data.draw(st.integers(0, 2)))
    together(adopted.scene, 1)
    assert adopted.load() == []
    names = ("id", "P1", "p2", "p3")
    assert adopted.scene.rows(*names) == [
        (id_, row["id"], row.get("p1"), row.get("p2"), row.get("p3")) for id_, row in sorted(expected.items())
    ]


def _properties(number: int) -> dict[str, Any]:
    return {f"p{one}": SHORT for one in range(1, number + 1)}
