"""A server that cannot be captured is refused with all problems and the statements that fix them."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace

import pytest
from support.database_servers import DatabaseServer, MariaDb, MySql, new_server
from support.source_database import SourceDatabase, end_of_log, on

from onefold.capture.table_checks import check_tables
from onefold.core.errors import InvalidSettings
from onefold.mysql.catalog import BASE, ColumnRow, TableDescription, TableName
from onefold.mysql.checks import check_server, database_problems, setting_problems
from onefold.mysql.connection import connect, query, variables
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.mysql.table_filter import TableFilter

GOOD = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}


def test_a_server_with_the_right_settings_has_no_problems(source: SourceDatabase) -> None:
    assert list(setting_problems(GOOD)) == []
    source.run("CREATE TABLE t (id INT)")
    check_server(source.connection, TableFilter((source.name,)))


@pytest.mark.parametrize(
    ("name", "value", "statement"),
    [
        ("binlog_format", "MIXED", "SET PERSIST binlog_format = 'ROW'"),
        ("binlog_row_image", "MINIMAL", "SET PERSIST binlog_row_image = 'FULL'"),
        ("binlog_row_metadata", "MINIMAL", "SET PERSIST binlog_row_metadata = 'FULL'"),
        ("binlog_row_value_options", "PARTIAL_JSON", "SET PERSIST binlog_row_value_options = ''"),
        ("binlog_transaction_compression", "ON", "SET PERSIST binlog_transaction_compression = OFF"),
    ],
)
def test_each_problem_names_the_statement_that_fixes_it(name: str, value: str, statement: str) -> None:
    (problem,) = setting_problems({**GOOD, name: value})
    assert statement in problem


def test_a_server_without_a_log_or_too_old_is_refused() -> None:
    assert "log_bin = mysql-bin" in next(setting_problems({**GOOD, "log_bin": "OFF"}))
    old = {name: value for name, value in GOOD.items() if name != "binlog_row_metadata"}
    assert "MySQL 8.0.1 or later" in next(setting_problems(old))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (MariaDb, ["binlog-format=MIXED", "binlog-row-image=MINIMAL", "binlog-row-metadata=NO_LOG", "log-bin-compress=ON"]),
        (
            MySql,
            [
                "binlog-format=MIXED", "binlog-row-image=MINIMAL", "binlog-row-metadata=MINIMAL",
                "binlog-transaction-compression=ON", "binlog-row-value-options=PARTIAL_JSON",
            ],
        ),
    ],
)  # fmt: skip
def test_all_problems_of_a_server_come_at_once_and_their_statements_fix_them(
    kind: type[DatabaseServer], options: list[str]
) -> None:
    settings = [f"--{option}" for option in options]
    with new_server(kind, *settings) as server, closing(connect(server.address)) as connection:
        with pytest.raises(InvalidSettings) as raised:
            check_server(connection, TableFilter())
        assert len(raised.value.problems) == len(options)
        for statement in re.findall(r"SET (?:GLOBAL|PERSIST) [^;]+", str(raised.value)):
            query(connection, statement)
        assert list(setting_problems(variables(connection))) == []
        check_server(connection, TableFilter())
        assert end_of_log(connection).file.startswith("mysql-bin.")


@on(MySql)
def test_a_column_of_a_type_that_cannot_be_read_is_named(source: SourceDatabase) -> None:
    source.run("CREATE TABLE meanings (id INT PRIMARY KEY, meaning VECTOR(3))")
    (problem,) = check_tables(source.connection, TableFilter((source.name,))).problems
    assert problem.reason.startswith(f"{source.name}.meanings.meaning is a VECTOR")


@on(MariaDb, MySql)
@pytest.mark.parametrize("tls", [{}, {"ssl_disabled": True}], ids=["with TLS where there is", "without TLS"])
def test_a_password_opens_the_server(source: SourceDatabase, tls: dict[str, bool]) -> None:
    user = f"{source.name}_{len(tls)}"
    source.run(f"CREATE USER {user}@'%' IDENTIFIED BY 'é`%s :/@'")
    address = replace(source.server.address, user=user, password="é`%s :/@", tls=tls)
    with closing(connect(address)) as connection:
        assert query(connection, "SELECT 1") == [(1,)]


def test_tables_that_cannot_be_read_are_named_with_a_remedy(source: SourceDatabase) -> None:
    source.run(
        "CREATE TABLE pressed (a VARCHAR(100) CHARACTER SET latin1 COMPRESSED NOT NULL DEFAULT 'x', b BLOB COMPRESSED)",
        "CREATE TABLE strange (a VARCHAR(9) CHARACTER SET swe7)",
        "CREATE TABLE history (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
        "SET GLOBAL mysql56_temporal_format = OFF",
        "CREATE TABLE old (at DATETIME(3))",
        "SET GLOBAL mysql56_temporal_format = ON",
    )
    try:
        check_server(source.connection, TableFilter((source.name,)))
        problems = check_tables(source.connection, TableFilter((source.name,))).problems
        named = {reason.split()[0] for problem in problems for reason in problem.reason.split("; ")}
        assert {name.removeprefix(f"{source.name}.") for name in named} == {
            "history", "old.at", "pressed.a", "pressed.b", "strange.a",
        }  # fmt: skip
        remedies = "; ".join(problem.remedy for problem in problems if problem.table.table != "history")
        source.run(*re.findall(r"run: ([^;]+)", remedies))
        without = TableFilter((source.name,), (f"{source.name}.history",))
        assert check_tables(source.connection, without).problems == ()
        source.run("SET system_versioning_alter_history = KEEP", "ALTER TABLE history ADD c TEXT COMPRESSED")
        assert check_tables(source.connection, without).problems == ()
        ((_, shown),) = source.rows("SHOW CREATE TABLE pressed")
        assert "`a` varchar(100) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL DEFAULT 'x'" in shown
    finally:
        source.run("DROP TABLE pressed, history")


def test_a_replica_that_does_not_log_replicated_changes_is_refused() -> None:
    replica = {**GOOD, "read_only": "ON", "log_slave_updates": "OFF"}
    assert "log_slave_updates = ON" in next(setting_problems(replica))
    assert list(setting_problems({**replica, "log_slave_updates": "ON"})) == []
    assert list(setting_problems({**replica, "read_only": "OFF"})) == []


@pytest.mark.parametrize(
    ("only", "never", "left_out"),
    [("", "", []), ("crm,shop", "", ["log"]), ("", "log,other", ["log"]), ("crm", "crm", ["crm", "log", "shop"])],
)
def test_databases_that_are_not_logged_are_named(only: str, never: str, left_out: list[str]) -> None:
    problems = list(database_problems({"shop", "crm", "log"}, only, never))
    assert [problem.split(";")[0] for problem in problems] == [
        f"the log leaves out the database {name}" for name in left_out
    ]


def test_types_that_only_mysql_has_are_described() -> None:
    """MySQL 8 leaves out the width of integers, and has a name of its own for collections."""
    columns = [
        ("shop", "t", "id", "bigint", "bigint unsigned", None, 20, 0, None, None, "PRI"),
        ("shop", "t", "g", "geomcollection", "geomcollection", None, None, None, None, None, ""),
        ("shop", "t", "j", "json", "json", None, None, None, None, None, ""),
        ("shop", "t", "e", "enum", "enum('a','it''s')", 16, None, None, None, "utf8mb4", ""),
        ("shop", "t", "b", "bit", "bit(9)", None, 9, None, None, None, ""),
    ]
    described = TableDescription(TableName("shop", "t"), BASE, tuple(ColumnRow(*row) for row in columns), (("id",),))
    assert described.structure == Structure(
        "t",
        (
            SourceColumn("id", SourceType("bigint", unsigned=True)),
            SourceColumn("g", SourceType("geometrycollection")),
            SourceColumn("j", SourceType("json")),
            SourceColumn("e", SourceType("enum", 1), "utf8mb4", ("a", "it's")),
            SourceColumn("b", SourceType("bit", 9)),
        ),
        ("id",),
    )
