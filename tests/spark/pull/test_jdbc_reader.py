"""Spark's JDBC reader against PyMySQL's: the same rows, the same bytes, the same counts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.database_servers import MariaDb, MySql
from support.jdbc_driver import ROOT, driver_jar, run_python
from support.pull_job import PASSWORD, USER, create_user, submit_arguments
from support.pulls import START, PullScene, by, lines
from support.source_database import SourceDatabase, on
from support.source_types import MYSQL_SAMPLES, SAMPLES, Sample

from onefold.settings.sources import TableLoad, WatermarkColumn

_STEP = 40
pytestmark = on(MariaDb, long=MySql)


@pytest.fixture(scope="session")
def jar() -> Path:
    return driver_jar()


def jdbc_pull(
    jar: Path, source: SourceDatabase, folder: Path, tables: dict[str, Any], **conf: str
) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
    address = source.server.address
    create_user(source)
    wanted = {
        "host": "127.0.0.1", "port": address.port, "user": USER, "database": source.name, "folder": folder.as_uri(),
        "window": "full", "at": START.isoformat(), "tables": tables,
    }  # fmt: skip
    environ = {"PYSPARK_SUBMIT_ARGS": submit_arguments(jar, **conf), "PULL_PASSWORD": PASSWORD}
    done = run_python([str(ROOT / "tests" / "support" / "jdbc_pull.py"), json.dumps(wanted)], environ)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert [table["reasons"] for table in found["tables"]] == [[]] * len(tables)
    return found, done


def samples_of(source: SourceDatabase) -> list[Sample]:
    if source.on_mariadb:
        return list(SAMPLES)
    return list(MYSQL_SAMPLES)


def create_tables(source: SourceDatabase) -> dict[str, None]:
    if not source.on_mariadb:
        source.run("SET SESSION sql_mode = 'TIME_TRUNCATE_FRACTIONAL'")  # as MariaDB does
    samples = samples_of(source)
    tables: dict[str, None] = {}
    for first in range(0, len(samples), _STEP):
        some, name = samples[first : first + _STEP], f"t{first}"
        columns = ", ".join(f"c{number} {sample.declared}" for number, sample in enumerate(some))
        rows = [[sample.values[number % len(sample.values)][0] for sample in some] for number in range(8)]
        literals = ", ".join(f"({number}, {', '.join(row)})" for number, row in enumerate(rows))
        source.run(f"CREATE TABLE {name} (id INT PRIMARY KEY, {columns})", f"INSERT IGNORE INTO {name} VALUES {literals}")
        tables[name] = None
    return tables


def without_pull(line: dict[str, Any]) -> dict[str, Any]:
    """A line without what each pull has of its own."""
    metadata = line["datastream_metadata"]
    watermark, _, part, number = metadata["change_sequence_number"].split("/")
    own = {"uuid": None, "source_timestamp": None, "change_sequence_number": (watermark, part, number)}
    return {**line, "_landed_at": None, "_day": line["_day"], "datastream_metadata": {**metadata, **own}}


def by_id(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(map(without_pull, found), key=lambda line: line["id"])


def test_every_type_is_read_by_jdbc_as_by_pymysql(jar: Path, source: SourceDatabase, tmp_path: Path) -> None:
    tables = create_tables(source)
    found, _ = jdbc_pull(jar, source, tmp_path / "jdbc", tables)
    scene = PullScene(source, tmp_path / "python", {"t*": TableLoad()})
    scene.pull("full").run()
    assert len(scene.loads.pulled) == len(tables)
    for pulled in scene.loads.pulled:
        jdbc = found["pulled"][pulled.plan.structure.table]
        assert by_id(jdbc["lines"]) == by_id(lines(pulled))
        assert jdbc["losses"] == sorted([*loss, count] for loss, count in pulled.losses.items())


@pytest.mark.long
def test_watermarks_days_and_counts_are_those_of_pymysql(jar: Path, source: SourceDatabase, tmp_path: Path) -> None:
    source.run(
        "SET sql_mode = 'ALLOW_INVALID_DATES'",
        "CREATE TABLE a (id INT PRIMARY KEY, at DATETIME(6) NULL)",
        "INSERT INTO a VALUES (1, NULL), (2, '0000-00-00'), (3, '2020-00-10'), (4, '2020-02-30 01:02:03'), "
        "(5, '2099-01-01'), (6, '1000-01-01'), (7, '2026-05-03 10:00:00.123456'), (8, '2020-03-00'), "
        "(9, '9999-12-31 23:59:59.999999')",
        "CREATE TABLE b (id INT PRIMARY KEY, at TIMESTAMP(3) NULL)",
        "INSERT INTO b VALUES (1, NULL), (2, '0000-00-00'), (3, '2026-05-03 10:00:00.123')",
        "CREATE TABLE c (id BIGINT UNSIGNED PRIMARY KEY)",
        "INSERT INTO c VALUES (0), (7), (9223372036854775807), (9223372036854775808), (18446744073709551615)",
        "CREATE TABLE d (id BIGINT PRIMARY KEY, s BIGINT NULL)",
        "INSERT INTO d VALUES (1, -9223372036854775808), (2, -1), (3, NULL), (4, 1777802400), (5, 9223372036854775807)",
        "CREATE TABLE e (id INT PRIMARY KEY, `at` DATE NULL)",
        "INSERT INTO e VALUES (1, '2020-02-30'), (2, '0001-01-01'), (3, '9999-12-31'), (4, NULL)",
        "CREATE TABLE f (id INT PRIMARY KEY, at DATETIME)",
    )
    marks = {"a": "at", "b": "at", "c": "id", "d": "s", "e": "at", "f": "at"}
    tables = {name: {"column": column, "unix_seconds": name == "d"} for name, column in marks.items()}
    found, _ = jdbc_pull(jar, source, tmp_path / "jdbc", tables)
    seconds = TableLoad("incremental", WatermarkColumn("s", unix_seconds=True))
    scene = PullScene(
        source, tmp_path / "p", {name: seconds if name == "d" else by(column) for name, column in marks.items()}
    )
    scene.pull("full", at=START).run()
    assert len(scene.loads.pulled) == len(found["pulled"]) == len(marks)
    for pulled in scene.loads.pulled:
        jdbc = found["pulled"][pulled.plan.structure.table]
        assert by_id(jdbc["lines"]) == by_id(lines(pulled))
        counts = (pulled.rows_above, pulled.rows_without_watermark)
        assert (jdbc["above"], jdbc["missing"]) == counts
        assert jdbc["days"] == sorted([day.isoformat(), rows] for file in pulled.files for day, rows in file.days)
