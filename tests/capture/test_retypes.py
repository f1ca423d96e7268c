"""Which changes of a column's type leave every landed value right: the edges of each family of types."""

from __future__ import annotations

import pytest

from onefold.capture.retypes import keeps_values
from onefold.mysql.ddl.column_definition import column_definition
from onefold.mysql.ddl.tokens import words
from onefold.mysql.table import SourceColumn, SourceType


def column(type_: SourceType, charset: str | None = None, values: tuple[str, ...] = ()) -> SourceColumn:
    return SourceColumn("c", type_, charset, values)


INT, UNSIGNED = column(SourceType("int")), column(SourceType("int", unsigned=True))
DECIMAL = column(SourceType("decimal", 10, 2))
VARCHAR = column(SourceType("varchar", 120), "utf8mb4")
ENUM, SET = column(SourceType("enum", 1), "utf8mb4", ("a", "b")), column(SourceType("set", 1), "utf8mb4", ("a", "b"))
KEPT = [
    (INT, "INT"), (INT, "INT(5)"), (INT, "BIGINT"), (UNSIGNED, "BIGINT"), (UNSIGNED, "BIGINT UNSIGNED"),
    (INT, "INT NOT NULL"), (column(SourceType("double")), "DOUBLE"), (column(SourceType("float")), "FLOAT NOT NULL"),
    (INT, "DECIMAL(10)"), (INT, "DECIMAL(30, 20)"), (UNSIGNED, "DECIMAL(10) UNSIGNED"), (INT, "DECIMAL"),
    (DECIMAL, "DECIMAL(10, 2)"), (DECIMAL, "DECIMAL(12, 4)"), (DECIMAL, "NUMERIC(11, 2)"),
    (VARCHAR, "VARCHAR(30)"), (VARCHAR, "VARCHAR(31) CHARACTER SET utf8mb4"), (VARCHAR, "TEXT"), (VARCHAR, "TINYTEXT"),
    (VARCHAR, "VARCHAR(30) COLLATE utf8mb4_bin"), (VARCHAR, "VARCHAR(30) CHARACTER SET latin1"),
    (column(SourceType("varchar", 30), "latin1"), "VARCHAR(30) CHARACTER SET utf8mb4"),
    (column(SourceType("varchar", 30), "utf8"), "VARCHAR(10) CHARACTER SET utf8mb3"),
    (column(SourceType("varchar", 30), "greek"), "VARCHAR(30) CHARACTER SET greek"),
    (column(SourceType("char", 120), "utf8mb4"), "CHAR(30)"), (column(SourceType("text"), "latin1"), "LONGTEXT"),
    (column(SourceType("enum", 1), "utf8mb4", ("日",)), "ENUM('日', 'b') COLLATE utf8mb4_bin"),
    (column(SourceType("set", 1), "latin1", ("é",)), "SET('é') CHARACTER SET utf8mb4"),
    (ENUM, "ENUM('a', 'b')"), (ENUM, "ENUM('a', 'b', 'c')"), (SET, "SET('a', 'b', 'c')"),
    (column(SourceType("date")), "DATE"), (column(SourceType("date")), "DATETIME"),
    (column(SourceType("date")), "DATETIME(6)"),
    (column(SourceType("datetime", 3)), "DATETIME(3)"), (column(SourceType("time", 0)), "TIME"),
    (column(SourceType("time", 0)), "TIME(6)"), (column(SourceType("timestamp", 0)), "TIMESTAMP(3) NULL"),
    (column(SourceType("varbinary", 16)), "VARBINARY(16)"), (column(SourceType("varbinary", 255)), "TINYBLOB"),
    (column(SourceType("blob")), "MEDIUMBLOB"), (column(SourceType("binary", 16)), "BINARY(16)"),
    (column(SourceType("bit", 1)), "BIT"), (column(SourceType("bit", 9)), "BIT(64)"), (column(SourceType("json")), "JSON"),
]  # fmt: skip
LOST = [
    (INT, "MEDIUMINT"), (INT, "INT UNSIGNED"), (INT, "BIGINT UNSIGNED"), (UNSIGNED, "INT"), (INT, "FLOAT"), (INT, "DOUBLE"),
    (INT, "VARCHAR(20)"), (INT, "DECIMAL(10, 1)"), (INT, "DECIMAL(9)"), (INT, "DECIMAL(10) UNSIGNED"),
    (INT, "DECIMAL(60, 10)"), (INT, "BIT(64)"),
    (DECIMAL, "DECIMAL(10, 3)"), (DECIMAL, "DECIMAL(10, 1)"), (DECIMAL, "DECIMAL(12, 2) UNSIGNED"), (DECIMAL, "DECIMAL"),
    (DECIMAL, "DECIMAL(49, 2)"), (DECIMAL, "BIGINT"),
    (VARCHAR, "VARCHAR(29)"), (VARCHAR, "CHAR(30)"), (VARCHAR, "VARBINARY(120)"),
    (VARCHAR, "VARCHAR(30) CHARACTER SET greek"),
    (VARCHAR, "VARCHAR(30) CHARACTER SET binary"), (VARCHAR, "TEXT(10)"), (VARCHAR, "JSON"), (VARCHAR, "BLOB"),
    (column(SourceType("varchar", 30), "greek"), "VARCHAR(30)"),
    (column(SourceType("varchar", 30), "latin1"), "VARCHAR(29)"), (column(SourceType("double")), "DOUBLE(9, 2)"),
    (column(SourceType("varchar", 1024), "utf8mb4"), "TINYTEXT"), (column(SourceType("char", 40), "utf8mb4"), "CHAR(9)"),
    (column(SourceType("char", 40), "utf8mb4"), "VARCHAR(10)"), (column(SourceType("text"), "utf8mb4"), "VARCHAR(9999)"),
    (column(SourceType("text"), "utf8mb4"), "TINYTEXT"),
    (ENUM, "ENUM('b', 'a')"), (ENUM, "ENUM('a')"), (ENUM, "ENUM('a', 'B')"), (ENUM, "SET('a', 'b')"), (ENUM, "VARCHAR(9)"),
    (column(SourceType("enum", 1), "utf8mb4", ("日",)), "ENUM('日') CHARACTER SET latin1"),
    (column(SourceType("enum", 1), "utf8mb4", ("日",)), "ENUM('日', 'b')"),
    (SET, "SET('a', 'c', 'b')"), (SET, "ENUM('a', 'b')"), (INT, "ENUM('a')"),
    (column(SourceType("datetime", 3)), "DATETIME"), (column(SourceType("datetime", 0)), "DATE"),
    (column(SourceType("datetime", 0)), "TIMESTAMP NULL"), (column(SourceType("timestamp", 0)), "DATETIME"),
    (column(SourceType("timestamp", 0)), "TIMESTAMP"), (column(SourceType("timestamp", 0)), "TIMESTAMP(6) NOT NULL"),
    (column(SourceType("time", 6)), "TIME(5)"), (column(SourceType("year")), "YEAR NOT NULL"),
    (column(SourceType("varbinary", 16)), "VARBINARY(15)"), (column(SourceType("varbinary", 256)), "TINYBLOB"),
    (column(SourceType("binary", 16)), "BINARY(17)"), (column(SourceType("binary", 16)), "BINARY"),
    (column(SourceType("blob")), "TINYBLOB"), (column(SourceType("blob")), "TEXT"), (column(SourceType("bit", 9)), "BIT(8)"),
    (column(SourceType("float")), "DOUBLE"), (column(SourceType("double")), "DOUBLE UNSIGNED"),
    (column(SourceType("point")), "POINT"), (column(SourceType("json")), "TEXT"),
]  # fmt: skip


def keeps(old: SourceColumn, text: str, is_strict: bool = True) -> bool:
    new = column_definition(list(words(text)))
    assert new
    return keeps_values(old, new, is_strict)


@pytest.mark.parametrize(("old", "text"), KEPT)
def test_a_type_that_holds_every_former_value(old: SourceColumn, text: str) -> None:
    assert keeps(old, text)


@pytest.mark.parametrize(("old", "text"), LOST)
def test_a_type_that_may_not(old: SourceColumn, text: str) -> None:
    assert not keeps(old, text)


def test_without_strict_mode_nulls_and_characters_may_get_lost() -> None:
    assert keeps(INT, "BIGINT", is_strict=False)
    assert keeps(VARCHAR, "VARCHAR(40) CHARACTER SET utf8mb4", is_strict=False)
    assert not keeps(INT, "BIGINT NOT NULL", is_strict=False)
    assert not keeps(VARCHAR, "VARCHAR(40)", is_strict=False)
    assert not keeps(VARCHAR, "VARCHAR(40) CHARACTER SET latin1", is_strict=False)
