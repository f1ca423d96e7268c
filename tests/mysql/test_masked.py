"""Statements without their literals: what people wrote into defaults, lists and comments leaves no source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.mysql.ddl.masked import masked
from onefold.mysql.ddl.tokens import ANSI_QUOTES, NO_BACKSLASH_ESCAPES, PLAIN, Grammar

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER TABLE t ADD c INT", "ALTER TABLE t ADD c INT"),
        ("ALTER TABLE t ADD c VARCHAR(30) DEFAULT 'Ada'", "ALTER TABLE t ADD c VARCHAR(30) DEFAULT ?"),
        ("ALTER TABLE t ADD c DECIMAL (10, 2) DEFAULT -1.5", "ALTER TABLE t ADD c DECIMAL (10, 2) DEFAULT -?.?"),
        ("ALTER TABLE t MODIFY c ENUM('a', 'b''c')", "ALTER TABLE t MODIFY c ENUM(?, ?)"),
        ("ALTER TABLE `a b`.`t` DROP `c``d`", "ALTER TABLE `a b`.`t` DROP `c``d`"),
        ("ALTER TABLE t ADD c INT /* for Ada */ DEFAULT 5 # Ada", "ALTER TABLE t ADD c INT DEFAULT ?"),
        ("ALTER TABLE t ADD c INT -- Ada\n, ADD d INT", "ALTER TABLE t ADD c INT , ADD d INT"),
        ("/*!50100 ALTER TABLE t ADD c INT DEFAULT 7 */", "ALTER TABLE t ADD c INT DEFAULT ?"),
        ("ALTER TABLE t ADD c BLOB DEFAULT x'41', ADD d BIT(3) DEFAULT 0b1",
         "ALTER TABLE t ADD c BLOB DEFAULT x?, ADD d BIT(3) DEFAULT ?"),
        ("ALTER TABLE t ADD CHECK (age > 18)", "ALTER TABLE t ADD CHECK (age > ?)"),
        ("ALTER TABLE t ADD c CHAR(3) DEFAULT (CHAR(65,66)), MODIFY COLUMN `d e` YEAR (4)",
         "ALTER TABLE t ADD c CHAR(3) DEFAULT (CHAR(?,?)), MODIFY COLUMN `d e` YEAR (4)"),
        ("ALTER TABLE t ADD COLUMN IF NOT EXISTS c INT(11) AS (YEAR(20010203) + TIME(1)) STORED",
         "ALTER TABLE t ADD COLUMN IF NOT EXISTS c INT(11) AS (YEAR(?) + TIME(?)) STORED"),
        ("ALTER TABLE t CHANGE c time TIME(3), CHANGE COLUMN IF EXISTS d `e` VARCHAR(9)",
         "ALTER TABLE t CHANGE c time TIME(3), CHANGE COLUMN IF EXISTS d `e` VARCHAR(9)"),
        ("UPDATE t SET c = CHAR(65,66), d = TIMESTAMP(20010203)", "UPDATE t SET c = CHAR(?,?), d = TIMESTAMP(?)"),
        ("ALTER TABLE t ADD CHECK (c IN (d, CHAR(65)) OR NOT YEAR(2001))",
         "ALTER TABLE t ADD CHECK (c IN (d, CHAR(?)) OR NOT YEAR(?))"),
        ("ALTER TABLE t ADD c TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6)",
         "ALTER TABLE t ADD c TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(?)"),
        ("ALTER TABLE t ADD c INT COMMENT \"Ada\"", "ALTER TABLE t ADD c INT COMMENT ?"),
    ],
)  # fmt: skip
def test_each_literal_is_a_question_mark(statement: str, expected: str) -> None:
    assert masked(statement) == expected


def test_what_is_a_name_and_what_a_text_follows_from_the_session() -> None:
    statement = f'ALTER TABLE "t" ADD c VARCHAR(9) DEFAULT "{SECRET}"'
    assert SECRET not in masked(statement)
    assert '"t"' in masked(statement, Grammar(ANSI_QUOTES))
    backslash = rf"ALTER TABLE t ADD c VARCHAR(9) DEFAULT '\', ADD d INT COMMENT '{SECRET}'"
    assert SECRET not in masked(backslash, Grammar(NO_BACKSLASH_ESCAPES))


QUOTED = st.text(st.characters(exclude_characters="\\", exclude_categories=["Cs"]), max_size=20).map(
    lambda text: (text + SECRET).replace("'", "''")
)


@given(QUOTED, st.sampled_from([PLAIN, Grammar(NO_BACKSLASH_ESCAPES), Grammar(ANSI_QUOTES)]))
def test_no_text_leaves_the_statement(text: str, grammar: Grammar) -> None:
    found = masked(f"ALTER TABLE t ADD c VARCHAR(30) DEFAULT '{text}' COMMENT '{text}'", grammar)
    assert found == "ALTER TABLE t ADD c VARCHAR(30) DEFAULT ? COMMENT ?"


CALLS = st.sampled_from(["CHAR", "char", "YEAR", "TIME", "TIMESTAMP", "DECIMAL", "BIT", "f"])
EXPRESSIONS = st.recursive(
    st.just("0815"),
    lambda inner: (
        st.builds("{}({})".format, CALLS, st.lists(inner, min_size=1, max_size=3).map(", ".join))
        | st.builds("{} {} {}".format, inner, st.sampled_from(["+", "AND", "LIKE", "DIV"]), inner)
        | st.builds("{}{}".format, st.sampled_from(["NOT ", "-", "c = ", "BINARY "]), inner)
    ),
    max_leaves=4,
)


@given(EXPRESSIONS, st.sampled_from(["ADD c CHAR(31) DEFAULT ({})", "ADD c YEAR(31) AS ({}) STORED", "ADD CHECK ({})"]))
def test_no_number_of_an_expression_leaves_the_statement_and_the_size_of_the_column_does(text: str, form: str) -> None:
    found = masked(f"ALTER TABLE t {form.format(text)}")
    assert "0815" not in found
    assert ("(31)" in found) == ("(31)" in form)
