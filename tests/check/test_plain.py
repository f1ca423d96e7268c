"""Checks of plain change tables: rows that Datastream writes, in its types, compared with their source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.check_scene import CLUSTER, CheckScene
from support.cli import Run
from support.database_servers import MariaDb
from support.source_database import SourceDatabase, on

from onefold.changelog.metadata import METADATA
from onefold.check.counts import RowCounts
from onefold.check.log import CHECK_TABLE
from onefold.check.report import TableCheck
from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT
from onefold.core.names import TableId
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.views.plain import with_plain_tables
from onefold.views.refresh_current import refresh_current

pytestmark = on(MariaDb)
COLUMNS = {"id": "INT64", "name": "STRING", "price": "STRING", "photo": "STRING", "at": "DATETIME"}
CLEAR = ColumnPolicies((PolicyRule("*", "*", Action.CLEAR),))


class PlainScene(CheckScene):
    """A table of the source, which a stream writes into a dataset that is its own."""

    def land(self, *rows: dict[str, Any], table: str = "t", columns: dict[str, str] | None = None) -> None:
        """Land changes, and write the current view."""
        if table in self.names(self.emulated.name):
            assert self.emulated.client.insert_rows_json(str(self.plain(table)), list(rows)) == []
        else:
            land_changes(self.emulated, table, columns or COLUMNS, rows)
        self.show(table)

    def show(self, table: str) -> None:
        settings = with_plain_tables(self.warehouse, self.emulated.name, self.settings)
        refresh_current(self.warehouse, self.plain(table), (), settings)

    def plain(self, table: str) -> TableId:
        return TableId(self.warehouse.project, self.emulated.name, table)

    def names(self, dataset: str) -> set[str]:
        return {one.table_id for one in self.emulated.client.list_tables(dataset)}

    @property
    def own(self) -> str:
        return f"{self.emulated.name}__onefold"

    @property
    def settings(self) -> Settings:
        keys = {name: TableRules(keys=("id",)) for name in ("t", f"{self.source.name}_t")}
        return replace(super().settings, tables=keys)

    def compared(self, table: str = "t", **changes: Any) -> TableCheck:
        options = {"captured": self.emulated.name, "settle_seconds": 0, "whole": True, "rows": 3, **changes}
        (found,) = self.check(tables=(table,), **options).tables
        return found


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> PlainScene:
    """Four rows that are the same on both sides, and one that was deleted on both."""
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4, price DECIMAL(8,2), photo BLOB, "
        "at DATETIME)",
        "INSERT INTO t VALUES (1, 'Zo\u00eb', 1.50, 'x', '2026-05-01 10:00:00'), (2, 'b', 2, NULL, NULL), "
        "(3, NULL, NULL, '', NULL), (4, 'd', 4, NULL, NULL)",
    )
    found = PlainScene(source, dataset, tmp_path, {}, CLEAR)
    dataset.client.create_dataset(found.own)
    return found


def changes() -> list[dict[str, Any]]:
    return [
        change("INSERT", "1", id=1, name="Zo\u00eb", price="1.5", photo="78", at="2026-05-01 10:00:00"),
        change("INSERT", "2", id=2, name="older"),
        change("INSERT", "5", id=9, name="gone"),
        change("DELETE", "6", id=9),
        change("INSERT", "7", id=3),
        change("UPDATE-INSERT", "3", id=2, name="b", price="2.00"),
        change("INSERT", "8", id=4, name="d", price="4"),
    ]


def test_a_table_that_equals_its_source_is_the_same_and_its_log_is_in_a_dataset_of_our_own(scene: PlainScene) -> None:
    scene.land(*changes())
    found = scene.compared()
    assert (found.outcome, found.counts) == ("same", RowCounts("now", 4, 4)), found.text
    assert found.text == (
        "t: same; 4 rows in 2 chunks compared; MySQL has 4 rows now, BigQuery 4; columns were left out: photo (STRING here, "
        "BYTES there)"
    )
    assert scene.names(scene.emulated.name) == {"t"}
    assert scene.names(scene.own) == {"t_current", CHECK_TABLE}
    assert [path for path in scene.folder.rglob("*") if path.is_file()] == [], "no value is written to a file"


def test_the_next_check_goes_on_with_the_next_chunk(scene: PlainScene) -> None:
    scene.land(*changes())
    chunks = [scene.compared(whole=False).chunks[0] for _ in range(3)]
    assert [(one.rows, one.chunk.low) for one in chunks] == [(3, None), (1, 4), (3, None)]


def spoil(scene: PlainScene) -> None:
    """A value, a row that is missing, and one that was deleted at the source alone."""
    scene.source.run("UPDATE t SET price = 2.01 WHERE id = 2", "DELETE FROM t WHERE id = 3")
    scene.source.run("INSERT INTO t (id, name) VALUES (7, 'n'), (8, 'm')")


def test_what_differs_is_found_with_the_values_of_both_sides(scene: PlainScene) -> None:
    scene.land(*changes())
    spoil(scene)
    found = scene.compared()
    assert (found.outcome, found.by_kind) == ("different", {DIFFERENT: 1, ONLY_LEFT: 2, ONLY_RIGHT: 1})
    assert (found.counts, found.counts_differ) == (RowCounts("now", 5, 4), True)
    assert sorted(found.findings) == [
        '`price` does not match between MySQL (val="2.01") and BigQuery (val="2.00"), in the row id="2"',
        'the row id="3" of BigQuery is missing in MySQL',
        'the row id="7" of MySQL is missing in BigQuery',
        'the row id="8" of MySQL is missing in BigQuery',
    ]
    scene.policies = ColumnPolicies()
    assert not any(value in "".join(scene.compared().findings) for value in ("2.01", '"3"', '"7"'))


def test_changes_that_land_before_the_second_read_are_no_difference(scene: PlainScene) -> None:
    scene.land(*changes())
    scene.source.run("UPDATE t SET name = 'late' WHERE id = 4", "INSERT INTO t (id) VALUES (5)")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True, settle_seconds=9)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        scene.land(change("UPDATE-INSERT", "9", id=4, name="late", price="4"), change("INSERT", "10", id=5))

    (found,) = replace(checks, sleep=sleep).run().tables
    assert (found.outcome, waited) == ("same", [9.0]), found.text


def test_numbers_of_rows_that_change_while_they_are_counted_are_a_note(scene: PlainScene) -> None:
    scene.land(*changes())
    scene.source.run("INSERT INTO t (id) VALUES (5)")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), settle_seconds=0, rows=3)
    # The first chunk has no row that differs: what waits are the counts.
    found = replace(checks, sleep=lambda _: scene.source.run("INSERT INTO t (id) VALUES (6)")).run().tables[0]
    assert (found.outcome, found.counts) == ("same", RowCounts("now", 6, 4))
    assert "the numbers of rows changed while they were counted" in found.notes


def test_a_table_of_the_merge_mode_is_compared_as_it_is(scene: PlainScene) -> None:
    merged = {"id": "INT64", "name": "STRING", METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"}
    rows = [f"{id_}, {name}, ('u', 1)" for id_, name in ((1, "'Zo\u00eb'"), (2, "'b'"), (3, "NULL"), (4, "'other'"))]
    scene.emulated.land("t", merged, *rows)
    scene.show("t")
    found = scene.compared()
    assert (found.by_kind, found.counts) == ({DIFFERENT: 1}, RowCounts("now", 4, 4)), found.text
    assert "left out: price (not in the table), photo (not in the table), at (not in the table)" in found.text


def test_a_table_in_a_dataset_of_all_schemas_has_the_schema_before_its_name(scene: PlainScene) -> None:
    table = f"{scene.source.name}_t"
    scene.land(*changes(), table=table)
    found = scene.compared()
    assert (found.table, found.outcome) == ("t", "same"), found.text
    assert scene.names(scene.own) == {f"{table}_current", CHECK_TABLE}


@pytest.mark.parametrize(
    ("types", "rows", "said"),
    [
        (COLUMNS, [], "there is no view"),
        (
            {"id": "BYTES"},
            [change("INSERT", "1", id="MQ==")],
            "its key id cannot be compared; left out are id (BYTES here, INT64 there)",
        ),
    ],
)
def test_a_table_that_cannot_be_compared_says_why(
    scene: PlainScene, types: dict[str, str], rows: Sequence[dict[str, Any]], said: str
) -> None:
    if rows:
        scene.land(*rows, columns=types)
    else:
        land_changes(scene.emulated, "t", types, rows)
    found = scene.compared()
    assert (found.outcome, said in found.text) == ("failed", True), found.text


def test_a_key_that_cannot_be_divided_is_one_chunk_of_some_size(scene: PlainScene) -> None:
    scene.source.run("ALTER TABLE t DROP PRIMARY KEY")
    scene.land(*changes())
    assert scene.compared(rows=1).outcome == "same"
    scene.source.run("INSERT INTO t (id) VALUES (5)")
    found = scene.compared(rows=1)
    assert (found.outcome, "at most 4 rows are compared, and it has more" in found.text) == ("failed", True), found.text


def test_the_command_prints_and_exits_as_for_all_tables(
    scene: PlainScene, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.land(*changes())
    address = scene.source.server.address
    source = {
        "host": "127.0.0.1", "port": address.port, "user": address.user, "password": "env:SOURCE_PASSWORD",
        "tls": {"mode": "off"}, "databases": [scene.source.name],
    }  # fmt: skip
    config = tmp_path / "onefold.yaml"
    rules = {"tables": {"t": {"keys": ["id"]}}, "policies": {"*": {"*": "clear"}}}
    config.write_text(json.dumps({"sources": {CLUSTER: source}, **rules}))
    monkeypatch.setenv("SOURCE_PASSWORD", address.password)
    monkeypatch.setenv("ONEFOLD_PULLED_FILES", tmp_path.as_uri())
    monkeypatch.delenv("ONEFOLD_PLAIN_DATASET")
    named = (f"{scene.source.name}.t", "--captured", scene.emulated.name, "--settle-seconds", 0)
    words = ("--config", config, "check", "--source", CLUSTER, *named)
    assert run(*words).code == 0
    spoil(scene)
    done = run(*words)
    assert done.code == 2
    first, *found, last = done.out.splitlines()
    assert first.startswith("t: different; 5 rows in 1 chunk compared; missing in BigQuery: 2; missing in MySQL: 1; values")
    assert (sum(line.startswith("  ") for line in found), last) == (
        4,
        f"{scene.emulated.name}: 0 same, 0 fixed, 1 different, 0 skipped, 0 failed",
    )
