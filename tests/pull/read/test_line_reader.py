"""The lines that the source writes against those that Python makes: the same values, the same counts."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
from support.database_servers import MariaDb, MySql
from support.pulls import PullScene, by, lines
from support.source_database import SourceDatabase, on
from support.source_types import MYSQL_SAMPLES, SAMPLES, Sample

from onefold.mysql.connection import connect, query
from onefold.mysql.table import GEOMETRIES
from onefold.pull.read.line_query import line_query
from onefold.pull.read.line_reader import LineReader
from onefold.pull.read.pulled import PulledFiles
from onefold.pull.read.python_reader import PythonReader
from onefold.settings.sources import TableLoad, WatermarkColumn

_MOST_VALUES = max(len(sample.values) for sample in (*SAMPLES, *MYSQL_SAMPLES))
Pulled = list[PulledFiles]
pytestmark = on(MariaDb, MySql)


def pulled_by(
    reader: type[LineReader | PythonReader], source: SourceDatabase, folder: Path, tables: Any
) -> list[PulledFiles]:
    scene = PullScene(source, folder / reader.__name__, tables, reader=reader)
    report = scene.pull("full").run()
    assert [table.reasons for table in report.tables] == [()] * len(report.tables)
    return sorted(scene.loads.pulled, key=lambda one: one.table.table)


def check(source: SourceDatabase, folder: Path, tables: Any) -> Pulled:
    """Both readers read the same, and count the same."""
    found, expected = (pulled_by(reader, source, folder, tables) for reader in (LineReader, PythonReader))
    assert found
    for by_lines, by_values in zip(found, expected, strict=True):
        assert by_id(by_lines) == by_id(by_values)
        assert of_pull(by_lines) == of_pull(by_values)
    return found


def by_id(pulled: PulledFiles) -> list[dict[str, Any]]:
    return sorted(map(without_pull, lines(pulled)), key=lambda line: str(line["id"]))


def without_pull(line: dict[str, Any]) -> dict[str, Any]:
    """A line without what each pull has of its own; a NULL in the metadata and a field that is not there land alike."""
    metadata = {name: value for name, value in line["datastream_metadata"].items() if value is not None}
    watermark, _, part, number = metadata["change_sequence_number"].split("/")
    own = {"uuid": None, "source_timestamp": None, "change_sequence_number": (watermark, part, number)}
    return {**line, "_landed_at": None, "_day": line["_day"], "datastream_metadata": {**metadata, **own}}


def of_pull(pulled: PulledFiles) -> tuple[Any, ...]:
    days = sorted((day, rows) for file in pulled.files for day, rows in file.days)
    counts = (pulled.rows_above, pulled.rows_without_watermark, pulled.losses, pulled.rows_at_source)
    return (days, *counts, pulled.greatest, pulled.least)


def _is_geometry(sample: Sample) -> bool:
    return sample.type.partition(" ")[0] in GEOMETRIES


def _needs_python(sample: Sample) -> bool:
    return _is_geometry(sample) or sample.declared.endswith(("ucs2", "utf32"))


def create_samples(source: SourceDatabase) -> None:
    if not source.on_mariadb:
        source.run("SET SESSION sql_mode = 'TIME_TRUNCATE_FRACTIONAL'")  # as MariaDB does
    # Only Python gives the text of a geometry, and text that may have half a surrogate pair.
    samples = sorted(SAMPLES if source.on_mariadb else MYSQL_SAMPLES, key=_needs_python)
    count = sum(not _needs_python(sample) for sample in samples)
    for number, some in enumerate((samples[: count // 2], samples[count // 2 : count], samples[count:])):
        columns = ", ".join(f"c{number} {sample.declared}" for number, sample in enumerate(some))
        rows = [[sample.values[row % len(sample.values)][0] for sample in some] for row in range(_MOST_VALUES)]
        literals = ", ".join(f"({number}, {', '.join(row)})" for number, row in enumerate(rows))
        source.run(
            f"CREATE TABLE t{number} (id INT PRIMARY KEY, {columns})", f"INSERT IGNORE INTO t{number} VALUES {literals}"
        )


@contextmanager
def longer_packets(source: SourceDatabase) -> Iterator[pymysql.Connection]:
    """A connection of a server whose rows may have 64 MB, as connections have that are opened meanwhile."""
    with connect(source.server.address) as connection:
        ((before,),) = query(connection, "SELECT @@GLOBAL.max_allowed_packet")
        query(connection, "SET GLOBAL max_allowed_packet = 67108864")
        with connect(source.server.address) as longer:
            longer.select_db(source.name)
            yield longer
        query(connection, f"SET GLOBAL max_allowed_packet = {before}")


def test_every_type_has_the_value_that_python_makes(source: SourceDatabase, tmp_path: Path) -> None:
    create_samples(source)
    plans = [one.plan for one in check(source, tmp_path, {"t*": TableLoad()})]
    assert [line_query(plan, plan.parts[0]) is not None for plan in plans] == [True, True, False]


@pytest.mark.parametrize("wide", [(), ("ucs2", "utf32")], ids=["by lines", "by values"])
def test_every_character_is_the_same_in_every_character_set(
    source: SourceDatabase, tmp_path: Path, wide: tuple[str, ...]
) -> None:
    texts = ["".join(map(chr, range(start, start + 64))) for start in (0, 64, 128, 0x370)]
    texts += ["\u2028\u2029\ufeff", "😀 / \\ \" '", "%s %b \x01 \x011\x01 \x02", ""]
    sets = ("utf8mb4", "utf8mb3", "latin1", "ascii", *wide, "utf16", "sjis", "gbk", "cp1251", "latin7")
    columns = ", ".join(f"{name} TEXT CHARACTER SET {name}, v_{name} VARCHAR(80) CHARACTER SET {name}" for name in sets)
    source.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    with connect(source.server.address) as connection:
        connection.select_db(source.name)
        for number, text in enumerate(texts):
            marks = ", ".join(["%s"] * 2 * len(sets))
            query(connection, f"INSERT IGNORE INTO t VALUES ({number}, {marks})", (text,) * 2 * len(sets))
    (found,) = check(source, tmp_path, {"t": TableLoad()})
    assert (line_query(found.plan, found.plan.parts[0]) is None) is bool(wide)
    assert [row["utf8mb4"] for row in by_id(found)] == texts


def test_half_a_surrogate_pair_lands_as_a_replacement_and_is_counted(source: SourceDatabase, tmp_path: Path) -> None:
    # In UTF-8 and UTF-32, only MariaDB stores it.
    utf32, utf8 = ("000000410000D800", "41EDA08042") if source.on_mariadb else ("00000041", "41")
    texts = ", ".join(f"{name} VARCHAR(9) CHARACTER SET {name}" for name in ("ucs2", "utf32", "utf8mb4"))
    source.run(
        f"CREATE TABLE t (id INT PRIMARY KEY, {texts})",
        f"INSERT INTO t VALUES (1, x'0041D8000042', x'{utf32}', x'{utf8}'), (2, 'é', 'é', 'é')",
        "CREATE TABLE by_lines (id INT PRIMARY KEY, utf8mb4 VARCHAR(9) CHARACTER SET utf8mb4)",
        "INSERT INTO by_lines SELECT id, utf8mb4 FROM t",
    )
    by_lines, found = check(source, tmp_path, {"t": TableLoad(), "by_lines": TableLoad()})
    bad = {"utf32": "A\ufffd", "utf8mb4": "A\ufffd\ufffd\ufffdB"} if source.on_mariadb else {}
    expected = {"ucs2": "A\ufffdB", "utf32": "A", "utf8mb4": "A", **bad}
    assert [{name: row[name] for name in expected} for row in by_id(found)] == [expected, dict.fromkeys(expected, "é")]
    assert [row["utf8mb4"] for row in by_id(by_lines)] == [expected["utf8mb4"], "é"]
    assert found.losses == {(name, "text"): 1 for name in ("ucs2", *bad)}
    assert by_lines.losses == ({("utf8mb4", "text"): 1} if bad else {})


def test_numbers_keep_every_digit_and_no_zero_before_them(source: SourceDatabase, tmp_path: Path) -> None:
    source.run(
        "CREATE TABLE t (id INT(9) ZEROFILL PRIMARY KEY, d DOUBLE ZEROFILL, e DOUBLE(20,3), f FLOAT, g DOUBLE, "
        "b BIGINT UNSIGNED ZEROFILL, n DECIMAL(20,5) ZEROFILL)",
        "INSERT INTO t VALUES (1, 1.5, 2.5, 0.1, 1e300, 18446744073709551615, 7.5), (2, 0, 1e6, 1e-38, 5e-324, 0, 0), "
        "(3, 1e15, 12345678.999, 16777217, 0.1, 1, 1), (4, 123456789012345680, -0.001, 3.4e38, 2e-1 + 1e-1, 2, 2), "
        "(5, NULL, NULL, NULL, 1.7976931348623157e308, NULL, NULL)",
    )
    (found,) = check(source, tmp_path, {"t": TableLoad()})
    assert [row["g"] for row in by_id(found)] == [1e300, 5e-324, 0.1, 0.30000000000000004, 1.7976931348623157e308]


def test_floating_point_numbers_of_every_size_are_exact(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, d DOUBLE, f FLOAT)")
    doubles = [struct.unpack("<d", random.randbytes(8))[0] for _ in range(500)]
    floats = [struct.unpack("<f", random.randbytes(4))[0] for _ in range(500)]
    finite = [(d, f) for d, f in zip(doubles, floats, strict=True) if math.isfinite(d) and math.isfinite(f)]
    finite += [(-0.0, -0.0), (-2.2250738585072014e-308, -1.1754943508222875e-38), (-5e-324, -1.401298464324817e-45)]
    rows = ", ".join(f"({number}, {d!r}, {f!r})" for number, (d, f) in enumerate(finite))
    source.run(f"INSERT INTO t VALUES {rows}")
    (found,) = check(source, tmp_path, {"t": TableLoad()})
    written = {row["id"]: (row["d"], row["f"]) for row in by_id(found)}
    assert [written[number] for number in range(len(finite))] == finite


def test_days_that_no_calendar_has_are_lost_and_counted(source: SourceDatabase, tmp_path: Path) -> None:
    days = [f"{year:04}-{month:02}-{day:02}" for year in (0, 1, 1900, 2000, 2023, 2024, 9999) for month in (0, 1, 2, 4, 12)
            for day in (0, 1, 28, 29, 30, 31)]  # fmt: skip
    source.run(
        "SET sql_mode = 'ALLOW_INVALID_DATES'",
        "CREATE TABLE t (id INT PRIMARY KEY, d DATE, t DATETIME(3), s TIMESTAMP(6) NULL)",
        *(f"INSERT INTO t VALUES ({number}, '{day}', '{day} 01:02:03.5', NULL)" for number, day in enumerate(days)),
        "INSERT INTO t VALUES (1000, NULL, NULL, '0000-00-00'), (1001, NULL, NULL, '2026-05-03 01:02:03.000004')",
    )
    (found,) = check(source, tmp_path, {"t": TableLoad()})
    assert found.losses["d", "date"] == found.losses["t", "date"] > len(days) / 2
    assert found.losses["s", "date"] == 1


def test_watermarks_days_and_counts_are_those_of_python(source: SourceDatabase, tmp_path: Path) -> None:
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
    tables = {name: by("at") for name in ("a", "b", "e", "f")} | {"c": by("id")}
    seconds = TableLoad("incremental", WatermarkColumn("s", unix_seconds=True))
    check(source, tmp_path, {**tables, "d": seconds})


@pytest.mark.parametrize("size", [200, 300, 70_000, 17_000_000])
def test_rows_of_every_length_are_whole(source: SourceDatabase, tmp_path: Path, size: int) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGBLOB)")
    source.run("INSERT INTO t VALUES (1, 'é', 'b'), (2, NULL, NULL), (3, '', '')")
    with longer_packets(source) as connection:
        query(connection, f"UPDATE t SET a = REPEAT('\"', {size}) WHERE id = 2")
        (found,) = check(source, tmp_path, {"t": TableLoad()})
    assert by_id(found)[1]["a"] == '"' * size


def test_a_row_that_is_longer_than_the_server_writes_is_read_by_values(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT)", "INSERT INTO t VALUES (1, 'a', 'b')")
    source.run("INSERT INTO t VALUES (2, REPEAT('\n', 6000000), REPEAT('x', 6000000))")
    (found,) = check(source, tmp_path, {"t": TableLoad()})
    assert [len(row["a"]) for row in by_id(found)] == [1, 6_000_000]


def test_an_error_of_the_server_is_raised(source: SourceDatabase, tmp_path: Path) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    scene = PullScene(source, tmp_path, {"t": TableLoad()})
    scene.pull("full").run()
    plan, to = scene.loads.pulled[0].plan, scene.pull("full").planner.to
    gone = replace(plan, structure=replace(plan.structure, table="gone"))
    with pytest.raises(pymysql.err.ProgrammingError, match="gone"):
        LineReader(scene.connect, to).read(gone, 0)
