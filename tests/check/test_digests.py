"""Digests of chunks on real servers and the embedded BigQuery: equal ones for equal rows of every type, else other ones."""

from __future__ import annotations

import pytest
from support.check_scene import CheckScene
from support.checked_table import OLD, fill
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import numbers, on
from support.sweeps import sweep

from onefold.check.chunk import first_chunk

pytestmark = on(MariaDb, long=MySql)
ROWS = 12
COLUMNS = {
    "n": ("BIGINT", "seq - 4", "n + 1"),
    "wide": ("BIGINT UNSIGNED", "18446744073709551615 - seq", "wide - 1"),
    "zeros": ("INT(6) ZEROFILL", "seq", "zeros + 1"),
    "flag": ("BOOLEAN", "seq % 2", "1 - flag"),
    "bits": ("BIT(9)", "seq", "bits + 1"),
    "price": ("DECIMAL(20,6)", "(seq - 4) * 100.5", "price + NUMERIC '0.000001'"),
    "exact": ("DECIMAL(38,30)", "seq / 8", "CAST('0.625000000000000000000000000001' AS BIGNUMERIC)"),
    "rate": ("DOUBLE", "(seq - 4) / 3e0", "rate + 0.0000000001"),
    "single": ("FLOAT", "seq / 7", "single + 0.0001"),
    "word": ("VARCHAR(40) CHARACTER SET utf8mb4", "CONCAT('Zo\u00eb \U0001f600 ', seq, ' ')", "TRIM(word)"),
    "latin": ("VARCHAR(40) CHARACTER SET latin1", "CONCAT('\u00e9', seq)", "CONCAT('e\u0301', latin)"),
    "fixed": ("CHAR(9) CHARACTER SET utf8mb4", "CONCAT(seq, ' ')", "CONCAT(fixed, ' ')"),
    "kind": ("ENUM('a','\u00f6')", "1 + seq % 2", "IF(kind = 'a', '\u00f6', 'a')"),
    "raw": ("VARBINARY(20)", "LEFT(UNHEX(SHA2(seq, 256)), 16)", "b'other'"),
    "padded": ("BINARY(4)", "seq", "b'5 '"),
    "day": ("DATE", "'0001-01-01' + INTERVAL seq DAY", "DATE_ADD(day, INTERVAL 1 DAY)"),
    "clock": (
        "DATETIME(6)",
        "'9999-12-31 00:00:00.000001' - INTERVAL seq SECOND",
        "DATETIME_ADD(clock, INTERVAL 1 MICROSECOND)",
    ),
    "instant": (
        "TIMESTAMP(3) NULL",
        "'2038-01-01 00:00:00.001' - INTERVAL seq DAY",
        "TIMESTAMP_ADD(instant, INTERVAL 1 MICROSECOND)",
    ),
}
"""By name: the declaration, an expression of the source's values, and one of BigQuery that makes another value of one."""


@pytest.fixture
def typed(scene: CheckScene) -> CheckScene:
    """A table with a column of each type, in whose first row all but the key and the watermark is NULL."""
    declared = ", ".join(f"{name} {type_}" for name, (type_, *_) in COLUMNS.items())
    values = ", ".join(f"IF(seq = 1, NULL, {value})" for _, value, _ in COLUMNS.values())
    scene.source.run(
        f"CREATE TABLE typed (id INT PRIMARY KEY, {declared}, at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, KEY (at))",
        f"INSERT INTO typed SELECT seq, {values}, {OLD} FROM {numbers(1, ROWS)}",
    )
    scene.tables = {"typed": by("at")}
    scene.pull()
    return scene


def rows_if_same(scene: CheckScene, table: str, **changes: object) -> int | None:
    checks = scene.checks(tables=(table,), **{"padding_minutes": 0, **changes})
    with scene.connect() as connection:
        found = checks.inspector.inspect(connection, table)
    return checks.digests.rows_if_same(found, first_chunk(found))


def test_equal_rows_of_every_type_with_a_common_text_have_equal_digests(typed: CheckScene) -> None:
    assert rows_if_same(typed, "typed") == ROWS
    assert typed.check_one("typed").outcome == "same"
    assert not list(typed.folder.glob("json/*/*/typed/dq/**/*.json")), "no row was read"


@pytest.mark.parametrize("columns", sweep({"four": (("price", "rate", "latin", "clock"),), "all": (tuple(COLUMNS),)}))
def test_one_other_value_of_any_type_is_told_by_the_digest(typed: CheckScene, columns: tuple[str, ...]) -> None:
    (id_,) = typed.versions("typed")
    kept = id_.sibling("kept")
    typed.warehouse.execute(f"CREATE TABLE {kept.quoted} AS SELECT * FROM {id_.quoted}")
    unseen = []
    for name in columns:
        other = COLUMNS[name][-1]
        typed.spoil(f"UPDATE {{}} SET {name} = {other} WHERE id = 5", "typed")
        unseen += [name] if rows_if_same(typed, "typed") is not None else []
        typed.spoil(
            f"UPDATE {{}} SET {name} = (SELECT k.{name} FROM {kept.quoted} AS k WHERE k.id = 5) WHERE id = 5", "typed"
        )
    assert not unseen
    assert rows_if_same(typed, "typed") == ROWS


@pytest.mark.parametrize("value", ["NULL", "''", "'N'"])
def test_null_and_a_text_that_looks_like_it_are_told_apart(typed: CheckScene, value: str) -> None:
    others = {"NULL", "''", "'N'"} - {value}
    typed.source.run(f"UPDATE typed SET word = {value}, at = at WHERE id = 3")
    typed.spoil(f"UPDATE {{}} SET word = {value} WHERE id = 3", "typed")
    assert rows_if_same(typed, "typed") == ROWS
    for other in others:
        typed.spoil(f"UPDATE {{}} SET word = {other} WHERE id = 3", "typed")
        assert rows_if_same(typed, "typed") is None


def test_a_missing_row_a_repeated_one_and_one_too_many_are_told(typed: CheckScene) -> None:
    (id_,) = typed.versions("typed")
    typed.spoil("DELETE FROM {} WHERE id = 2", "typed")
    assert rows_if_same(typed, "typed") is None
    typed.source.run("DELETE FROM typed WHERE id = 2")
    assert rows_if_same(typed, "typed") == ROWS - 1
    typed.source.run("DELETE FROM typed WHERE id = 3")
    assert rows_if_same(typed, "typed") is None
    assert typed.warehouse.fetch(f"SELECT COUNT(*) AS n FROM {id_.quoted}") == [{"n": ROWS - 1}]


def test_rows_within_the_padding_are_left_out_on_both_sides(typed: CheckScene) -> None:
    typed.source.run("INSERT INTO typed (id, n, at) VALUES (1001, 1, CURRENT_TIMESTAMP - INTERVAL 5 MINUTE)")
    assert rows_if_same(typed, "typed", padding_minutes=60) == ROWS + 1
    assert rows_if_same(typed, "typed") is None
    typed.source.run("UPDATE typed SET word = 'later', at = CURRENT_TIMESTAMP WHERE id = 5")
    assert rows_if_same(typed, "typed", padding_minutes=60) is None, "the view has the row as it was before"


def test_numbers_without_a_common_text_and_types_without_one_are_read(scene: CheckScene) -> None:
    fill(scene, 5)
    scene.source.run(
        f"CREATE TABLE small (id INT PRIMARY KEY, rate DOUBLE, at TIMESTAMP NOT NULL DEFAULT {OLD}, KEY (at))",
        "INSERT INTO small (id, rate) VALUES (1, 0.1e0), (2, 1e-12), (3, -1.5e33), (4, 0), (5, -0e0)",
    )
    scene.tables["small"] = by("at")
    scene.pull()
    assert rows_if_same(scene, "t") is None, "an INTERVAL has no text that both sides write alike"
    assert scene.check_one("t").outcome == "same"
    assert rows_if_same(scene, "small") == 5
    scene.source.run("INSERT INTO small (id, rate) VALUES (6, 1.25e-14), (7, 1e300)")
    scene.pull()
    assert rows_if_same(scene, "small") is None
    assert scene.check_one("small").outcome == "same"


def test_text_that_the_server_cuts_is_read(scene: CheckScene) -> None:
    """A text that ended where half a surrogate pair is would have the digest of what is left of it."""
    scene.source.run(
        f"CREATE TABLE wide (id INT PRIMARY KEY, word TEXT CHARACTER SET ucs2, "
        f"at TIMESTAMP NOT NULL DEFAULT {OLD}, KEY (at))",
        "INSERT INTO wide (id, word) VALUES (1, x'0041D8000042'), (2, 'A')",
    )
    scene.tables = {"wide": by("at")}
    scene.pull()
    assert rows_if_same(scene, "wide") is None
    assert scene.check_one("wide").outcome == "same"
    scene.spoil("UPDATE {} SET word = 'A' WHERE id = 1", "wide")
    assert scene.check_one("wide").outcome == "different"
