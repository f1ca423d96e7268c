"""Every type of the source, from the log and from a query: one structure, one version, the same values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal

import pytest
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on
from support.source_types import MYSQL_SAMPLES, SAMPLES, Sample

from onefold.landing.table import bigquery_type
from onefold.landing.version import version_of_structure
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.snapshot.select_list import read_selected, select_list

pytestmark = on(MariaDb, MySql)


def json_meant(texts: Iterable[str | None]) -> list[object]:
    """A number of JSON may be written in several ways: `1e300`, `1e+300`."""
    return [json.loads(text, parse_float=Decimal) if text else None for text in texts]


def check_a_type(source: SourceDatabase, sample: Sample) -> None:
    literals = ", ".join(f"({number}, {literal})" for number, (literal, _) in enumerate(sample.values))
    source.run(f"CREATE TABLE t (id INT PRIMARY KEY, v {sample.declared})", f"INSERT IGNORE INTO t VALUES {literals}")
    landed = [value for _, value in sample.values]
    meant = json_meant if sample.bigquery == "JSON" else list

    changes = source.changes()  # large rows come in several events
    change = changes[0]
    assert meant(row[1] for change in changes for row in change.after) == meant(landed)

    structure = structure_of(source.connection, TableName(source.name, "t"))
    assert structure == change.structure
    assert version_of_structure(structure) == version_of_structure(change.structure)
    selected = read_selected(structure, source.rows(f"SELECT {select_list(structure)} FROM t ORDER BY id"))
    assert meant(row[1] for row in selected.rows) == meant(landed)
    assert selected.losses == change.losses
    assert json.loads(json.dumps(landed)) == landed

    assert str(structure.columns[1].type) == sample.type
    assert str(bigquery_type(structure.columns[1].type)) == sample.bigquery


@on(MariaDb)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: str(sample)[:40])
def test_a_type_lands_the_same_from_the_log_and_from_a_query(source: SourceDatabase, sample: Sample) -> None:
    check_a_type(source, sample)


@on(MySql)
@pytest.mark.parametrize("sample", MYSQL_SAMPLES, ids=lambda sample: str(sample)[:40])
def test_a_type_of_mysql_lands_the_same_from_both(source: SourceDatabase, sample: Sample) -> None:
    source.run("SET SESSION sql_mode = 'TIME_TRUNCATE_FRACTIONAL'")  # as MariaDB does
    check_a_type(source, sample)


def test_all_types_in_one_table_have_one_version(source: SourceDatabase) -> None:
    samples = SAMPLES if source.on_mariadb else MYSQL_SAMPLES
    columns = [f"c{number} {sample.declared}" for number, sample in enumerate(samples) if "0000" not in sample.declared]
    source.run(
        f"CREATE TABLE t (id INT PRIMARY KEY, {', '.join(columns)}) ROW_FORMAT=DYNAMIC", "INSERT INTO t (id) VALUES (1)"
    )
    (change,) = source.changes()
    structure = structure_of(source.connection, TableName(source.name, "t"))
    assert structure == change.structure
    assert len(change.structure.columns) == len(columns) + 1
    assert change.after == ((1, *[None] * len(columns)),)


def test_invalid_dates_become_null_and_are_counted(source: SourceDatabase) -> None:
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, d DATE, dt DATETIME)",
        "INSERT INTO t VALUES (1, '0000-00-00', '2020-00-01'), (2, '2020-01-00', NULL), (3, '2020-01-01', NULL)",
        "UPDATE t SET d = '2020-01-02' WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
    )
    inserted, updated, deleted = source.changes()
    assert dict(inserted.losses) == {("d", "date"): 2, ("dt", "date"): 1}
    assert dict(updated.losses) == {("dt", "date"): 1}
    assert dict(deleted.losses) == {("d", "date"): 1}


def test_generated_columns_land_like_others(source: SourceDatabase) -> None:
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT AS (id + 1) VIRTUAL, s INT AS (id + 2) STORED, i INT INVISIBLE)",
        "INSERT INTO t (id, i) VALUES (1, 9)",
    )
    (change,) = source.changes()
    assert change.structure == structure_of(source.connection, TableName(source.name, "t"))
    assert change.after == ((1, 2, 3, 9),)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("PRIMARY KEY (b, a)", ("b", "a")),
        ("PRIMARY KEY (a)", ("a",)),
        ("PRIMARY KEY (c(3), a)", ("c", "a")),
        ("UNIQUE KEY (a), PRIMARY KEY (b)", ("b",)),
        ("UNIQUE KEY z (b, a), UNIQUE KEY y (c)", ("b", "a")),
        ("UNIQUE KEY (c), KEY (a)", ()),
        ("KEY (a)", ()),
    ],
)
def test_the_primary_key_is_the_same_from_both(source: SourceDatabase, key: str, names: tuple[str, ...]) -> None:
    source.run(f"CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, c VARCHAR(10), {key})", "INSERT INTO t VALUES (1, 2, 'x')")
    (change,) = source.changes()
    assert change.structure.primary_key == names
    assert structure_of(source.connection, TableName(source.name, "t")) == change.structure


def test_names_with_any_characters_are_read(source: SourceDatabase) -> None:
    source.run("CREATE TABLE `Straße 日` (`größe in €` INT, `a``b` INT)", "INSERT INTO `Straße 日` VALUES (1, 2)")
    (change,) = source.changes()
    assert change.structure.table == "Straße 日"
    assert [column.name for column in change.structure.columns] == ["größe in €", "a`b"]
    structure = structure_of(source.connection, TableName(source.name, "Straße 日"))
    assert structure == change.structure
    assert source.rows(f"SELECT {select_list(structure)} FROM `Straße 日`") == [(1, 2)]
