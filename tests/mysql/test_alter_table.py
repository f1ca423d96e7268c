"""What ALTER TABLE does to stored rows and to columns, as far as its text says. In doubt, it changes rows."""

from __future__ import annotations

import pytest

from onefold.mysql.ddl.alterations import (
    Alteration,
    CharsetConverted,
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    IndexAltered,
)
from onefold.mysql.ddl.column_definition import ColumnDefinition
from onefold.mysql.ddl.effects import all_effects, effects


def kinds(text: str) -> list[str]:
    return [f"{effect.kind} {effect.database}.{effect.table or '*'}" for effect in effects(text, "shop")]


@pytest.mark.parametrize(
    "part",
    [
        "ADD COLUMN c INT",
        "ADD c INT NULL DEFAULT NULL AFTER a",
        "ADD COLUMN IF NOT EXISTS c VARCHAR(30) CHARACTER SET latin1 COMMENT 'not null default 5'",
        "ADD (c INT, d DECIMAL(10,2))",
        "ADD COLUMN `default` INT",
        "ADD INDEX i (a, b), ADD KEY (b)",
        "ADD FULLTEXT INDEX (a)",
        "ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE",
        "ADD CONSTRAINT c CHECK (a > 0)",
        "ADD PARTITION (PARTITION p1 VALUES LESS THAN (10))",
        "ALTER COLUMN a SET DEFAULT 5",
        "ALTER INDEX i INVISIBLE",
        "RENAME INDEX i TO j",
        "COMMENT 'x', AUTO_INCREMENT = 7",
        "ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
        "DEFAULT CHARSET = utf8mb4",
        "DISABLE KEYS",
        "ENGINE = MyISAM COMMENT 'x' DEFAULT CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin FORCE",
        "ORDER BY a",
        "DROP CHECK c",
        "DROP FOREIGN KEY fk",
        "FORCE, ALGORITHM=INPLACE, LOCK=NONE",
        "PARTITION BY HASH (id + 1) PARTITIONS 4",
        "AUTO_INCREMENT = 7 PARTITION BY LINEAR KEY (a, b)",
        "ENGINE=InnoDB PARTITION BY HASH(YEAR(a))",
        "REMOVE PARTITIONING",
    ],
)
def test_an_alter_that_leaves_rows_alone(part: str) -> None:
    assert kinds(f"ALTER TABLE t {part}") == []


@pytest.mark.parametrize(
    "part",
    [
        "ADD COLUMN c INT DEFAULT 5",
        "ADD c INT NOT NULL",
        "ADD c TIMESTAMP",
        "ADD c INT AS (a + 1)",
        "ADD c INT GENERATED ALWAYS AS (a) STORED",
        "ADD c INT AUTO_INCREMENT UNIQUE",
        "ADD (c INT, d INT DEFAULT 1)",
        "ADD INDEX (a), ADD COLUMN c INT NOT NULL",
        "ADD PRIMARY KEY (a)",
        "ADD CONSTRAINT PRIMARY KEY (a)",
        "ADD SYSTEM VERSIONING",
        "CHANGE a b INT",
        "CHANGE a A INT",
        "MODIFY a INT AS (b)",
        "MODIFY a INT PRIMARY KEY",
        "MODIFY a INT CHECK (a > 0)",
        "MODIFY a ENUM(_latin1'x')",
        "MODIFY a SOMETHING NEW",
        "MODIFY a",
        "CONVERT TO CHARACTER SET DEFAULT",
        "DROP INDEX `PRIMARY`",
        "DROP PERIOD FOR SYSTEM_TIME",
        "DROP SYSTEM VERSIONING",
        "RENAME COLUMN a TO b",
        "DROP PRIMARY KEY",
        "DROP PARTITION p1",
        "TRUNCATE PARTITION p1",
        "COALESCE PARTITION 2",
        "DISCARD TABLESPACE",
        "SOMETHING NEW",
        "ENGINE=BLACKHOLE",
        "COMMENT='x' ENGINE = FEDERATED",
        "CONNECTION='mysql://other/t'",
        "COMMENT 'x' FILE_NAME='y'",
        "COMMENT 'C:\\\\', ADD COLUMN d INT NOT NULL",
        "PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (9))",
        "PARTITION BY SYSTEM_TIME LIMIT 9",
        "PARTITION BY HASH",
        "PARTITION BY HASH (a) PARTITIONS",
        "PARTITION BY HASH (a) PARTITIONS 2 SUBPARTITION BY KEY (a)",
        "PARTITION BY HASH (a) (PARTITION p0 ENGINE = BLACKHOLE)",
        "PARTITION BY KEY ALGORITHM = 1 (a)",
        "DEFAULT",
        "COMMENT",
    ],
)
def test_an_alter_that_may_change_rows_or_their_key(part: str) -> None:
    assert kinds(f"ALTER TABLE t {part}") == ["rows shop.t"]


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("ADD UNIQUE (a)", IndexAltered()),
        ("ADD UNIQUE INDEX u (a)", IndexAltered()),
        ("ADD CONSTRAINT u UNIQUE (a)", IndexAltered()),
        ("DROP INDEX i", IndexAltered()),
        ("DROP KEY IF EXISTS `i`", IndexAltered()),
        ("DROP CONSTRAINT c", IndexAltered()),
        ("DROP COLUMN a", ColumnDropped("a")),
        ("DROP a RESTRICT", ColumnDropped("a")),
        ("DROP COLUMN IF EXISTS `partition`", ColumnDropped("partition")),
        ("CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", CharsetConverted("utf8mb4")),
        ("CONVERT TO CHARSET latin1", CharsetConverted("latin1")),
        ("MODIFY a BIGINT", ColumnModified("a", ColumnDefinition("bigint"))),
        (
            "MODIFY COLUMN a INTEGER(9) UNSIGNED NULL",
            ColumnModified("a", ColumnDefinition("int", (9,), (), True, nullable=True)),
        ),
        ("CHANGE a a DECIMAL(10, 2) DEFAULT -1.5 FIRST", ColumnModified("a", ColumnDefinition("decimal", (10, 2)))),
        (
            "MODIFY a VARCHAR(30) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL DEFAULT 'x' COMMENT 'not null' AFTER `b`",
            ColumnModified("a", ColumnDefinition("varchar", (30,), charset="latin1", not_null=True)),
        ),
        ("MODIFY a TEXT COLLATE utf8mb4_bin", ColumnModified("a", ColumnDefinition("text", charset="utf8mb4"))),
        (
            "MODIFY a ENUM('x ', 'it''s', 'a,b') DEFAULT 'x'",
            ColumnModified("a", ColumnDefinition("enum", values=("x", "it's", "a,b"))),
        ),
        (
            "MODIFY a DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)",
            ColumnModified("a", ColumnDefinition("datetime", (6,))),
        ),
        ("MODIFY a BIT(3) DEFAULT b'0'", ColumnModified("a", ColumnDefinition("bit", (3,)))),
        ("MODIFY a INT DEFAULT (1 + f(2)) COMMENT 'x'", ColumnModified("a", ColumnDefinition("int"))),
        ("MODIFY a BIGINT AUTO_INCREMENT", ColumnModified("a", ColumnDefinition("bigint", auto_increment=True))),
    ],
)
def test_an_alter_whose_effect_depends_on_the_structure_before(part: str, found: Alteration) -> None:
    (effect,) = effects(f"ALTER TABLE t {part}", "shop")
    assert (effect.kind, effect.table, effect.alterations) == ("altered", "t", (found,))
    assert kinds(f"ALTER IGNORE TABLE t {part}") == ["rows shop.t"], "values are cut off, and rows dropped"
    assert kinds(f"SET STATEMENT sql_mode = '' FOR ALTER TABLE t {part}") == ["rows shop.t"]


def test_several_parts_of_an_alter_count_together() -> None:
    (effect,) = effects("ALTER TABLE t DROP a, ADD (b INT, c TEXT), ADD INDEX (b)", "shop")
    assert effect.alterations == (ColumnDropped("a"), ColumnAdded("b"), ColumnAdded("c"))
    assert kinds("ALTER TABLE t DROP a, ADD b INT NOT NULL") == ["rows shop.t"]
    (effect,) = all_effects("ALTER TABLE t ADD COLUMN IF NOT EXISTS b INT", "shop")
    assert (effect.kind, effect.alterations) == ("structure", (ColumnAdded("b"),))


def test_a_rename_has_both_names() -> None:
    (renamed, _) = effects("ALTER TABLE a.t RENAME TO u", "shop")
    assert (renamed.new_name, renamed.is_replaced) == (("a", "u"), False)
    (old, new, *_) = effects("RENAME TABLE t TO _t_old, _t_new TO t", "shop")
    assert (old.new_name, old.is_replaced) == (("shop", "_t_old"), True)
    assert (new.new_name, new.is_replaced) == (("shop", "t"), False)
