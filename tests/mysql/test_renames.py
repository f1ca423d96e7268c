"""The names that statements take from columns and tables."""

from __future__ import annotations

import pytest

from onefold.mysql.ddl.renames import ColumnGone, ColumnRenamed, NameChange, TableGone, TableRenamed, name_changes
from onefold.mysql.ddl.tokens import PLAIN, Grammar
from onefold.mysql.ghost_tables import originals


def shown(change: NameChange) -> str:
    table = ".".join(change.table)
    match change:
        case ColumnRenamed():
            return f"{table}: {change.name} > {change.new_name}"
        case ColumnGone():
            return f"{table}: no {change.name}"
        case TableRenamed():
            return f"{table} > {'.'.join(change.new)}"
        case TableGone():
            return f"no {table}"


def changes_of(text: str, grammar: Grammar = PLAIN) -> list[str]:
    return [shown(one) for one in name_changes(text, "shop", grammar)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ALTER TABLE t CHANGE card credit INT", ["shop.t: card > credit"]),
        ("ALTER TABLE t CHANGE COLUMN IF EXISTS `a b` `c``d` INT NOT NULL DEFAULT 0", ["shop.t: a b > c`d"]),
        ("ALTER TABLE x.t RENAME COLUMN card TO credit, DROP INDEX i", ["x.t: card > credit"]),
        ("ALTER TABLE t RENAME COLUMN IF EXISTS card TO credit", ["shop.t: card > credit"]),
        ("ALTER TABLE t CHANGE card CARD INT, MODIFY a INT, RENAME INDEX i TO j, RENAME KEY i TO j", []),
        ("ALTER TABLE t DROP card, DROP COLUMN IF EXISTS `pin` RESTRICT", ["shop.t: no card", "shop.t: no pin"]),
        ("ALTER TABLE t DROP INDEX card, DROP PRIMARY KEY, DROP FOREIGN KEY f, DROP CONSTRAINT c", []),
        ("ALTER TABLE t ADD x INT NOT NULL DEFAULT 3, DROP card, FORCE", ["shop.t: no card"]),
        ("ALTER TABLE t ADD COLUMN x INT AS (a + 1) STORED, CHANGE a b INT", ["shop.t: a > b"]),
        ("ALTER IGNORE TABLE t WAIT 5 CHANGE a b INT, RENAME TO x.u", ["shop.t: a > b", "shop.t > x.u"]),
        ("RENAME TABLE t TO _t_old, _t_new TO t", ["shop.t > shop._t_old", "shop._t_new > shop.t"]),
        ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE x.u", ["shop.t > x.u", "x.u > shop.t"]),
        ("DROP TABLE IF EXISTS t, x.u", ["no shop.t", "no x.u"]),
        ("DROP TEMPORARY TABLE t", []),
        ("SET STATEMENT max_statement_time = 3 FOR ALTER TABLE t CHANGE a b INT", ["shop.t: a > b"]),
        ("ALTER TABLE t /*!50000 CHANGE a b INT, */ DROP c", ["shop.t: a > b", "shop.t: no c"]),
        ("ALTER TABLE t /*!99999 DROP a, */ CHANGE c d INT", ["shop.t: c > d"]),
        ("INSERT INTO t VALUES ('ALTER TABLE t CHANGE a b INT')", []),
        ("ALTER DATABASE d CHARACTER SET utf8mb4", []),
        ("ALTER TABLE", []),
    ],
)
def test_statement_takes_names_from_columns_and_tables(text: str, found: list[str]) -> None:
    assert changes_of(text) == found


def test_names_of_tables_are_in_lower_case_where_the_server_stores_them_so() -> None:
    lower = Grammar(lower_names=True)
    assert changes_of("ALTER TABLE T CHANGE A B INT", lower) == ["shop.t: A > B"]
    assert changes_of("RENAME TABLE T TO U", lower) == ["shop.t > shop.u"]
    assert changes_of("DROP TABLE T", lower) == ["no shop.t"]


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("_cust_gho", ("cust",)), ("_cust_ghc", ("cust",)), ("_cust_del", ("cust",)), ("_cust_new", ("cust",)),
        ("_cust_old", ("cust",)), ("___a_b_old", ("__a_b", "_a_b", "a_b")), ("cust_new", ()), ("_cust", ()), ("_new", ()),
        ("__new", ()), ("_cust_20261123101500_del", ("cust_20261123101500", "cust")), ("_cust_news", ()),
    ],
)  # fmt: skip
def test_ghost_table_names_the_tables_that_it_may_stand_for(table: str, found: tuple[str, ...]) -> None:
    assert originals(table) == found
