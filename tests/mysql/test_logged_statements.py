"""Statements as real servers log them: what changes stored rows is seen, and what does not is passed over."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
from support.capture import Bench, bench_of, latest
from support.database_servers import MariaDb, MySql, new_server
from support.source_database import SourceDatabase, end_of_log, on

from onefold.capture.checkpoint import Progress
from onefold.mysql.binlog.events import LogPosition, RowsChanged, Statement
from onefold.mysql.connection import connect, query
from onefold.mysql.ddl.effects import TableEffect, effects
from onefold.mysql.table_filter import TableFilter

CREATE = "CREATE TABLE t (id INT PRIMARY KEY, n INT)"
ROWS = "INSERT INTO t VALUES (1, 1), (2, 2)"
STATEMENT_FORMAT = "SET SESSION binlog_format = 'STATEMENT'"
TRUSTED = "SET GLOBAL log_bin_trust_function_creators = 1"
FUNCTION = "CREATE FUNCTION f() RETURNS INT BEGIN UPDATE t SET n = n + 1; RETURN 1; END"
NO_BACKSLASHES = "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'"

# Each is run in a session of its own. A server that does not have a statement refuses it.
CHANGES = [
    ("SET STATEMENT lock_wait_timeout=5 FOR ALTER TABLE t ADD d INT NOT NULL DEFAULT 5",),
    ("SET STATEMENT lock_wait_timeout=5 FOR TRUNCATE t",),
    ("SET STATEMENT lock_wait_timeout=5 FOR ALTER TABLE t RENAME COLUMN n TO k",),
    (STATEMENT_FORMAT, "SET STATEMENT lock_wait_timeout=5 FOR UPDATE t SET n = 7"),
    (STATEMENT_FORMAT, "ANALYZE UPDATE t SET n = 7"),
    (STATEMENT_FORMAT, "ANALYZE FORMAT=JSON DELETE FROM t WHERE id = 1"),
    (STATEMENT_FORMAT, "ANALYZE INSERT INTO t VALUES (3, 3)"),
    (STATEMENT_FORMAT, "BEGIN NOT ATOMIC UPDATE t SET n = 8; END"),
    (STATEMENT_FORMAT, "EXECUTE IMMEDIATE 'UPDATE t SET n = 9'"),
    (STATEMENT_FORMAT, "PREPARE s FROM 'DELETE FROM t'", "EXECUTE s"),
    (STATEMENT_FORMAT, "WITH a AS (SELECT 1) DELETE FROM t WHERE id = 1"),
    (STATEMENT_FORMAT, "/*!50000 UPDATE t SET n=4*/"),
    (STATEMENT_FORMAT, "UPDATE LOW_PRIORITY /*M!100000 t */ /*!80000 t */ SET n=5"),
    (STATEMENT_FORMAT, "/*!80000 SET @a = */ UPDATE t SET n = 6"),
    (STATEMENT_FORMAT, "REPLACE t VALUES (1, 9)"),
    (STATEMENT_FORMAT, "DELETE t FROM t JOIN (SELECT 1) a"),
    (TRUSTED, FUNCTION, STATEMENT_FORMAT, "SET @a = f()"),
    (TRUSTED, FUNCTION, STATEMENT_FORMAT, "DO f()"),
    (TRUSTED, FUNCTION, STATEMENT_FORMAT, "SELECT f()"),
    ("CREATE PROCEDURE p() UPDATE t SET n = 3", STATEMENT_FORMAT, "CALL p()"),
    ("CREATE PROCEDURE p(k INT) UPDATE t SET n = k", STATEMENT_FORMAT, "CALL p(3)"),
    (NO_BACKSLASHES, "ALTER TABLE \"t\" COMMENT 'C:\\', ADD COLUMN d INT NOT NULL DEFAULT 3"),
    (NO_BACKSLASHES, 'ALTER TABLE "t" COMMENT \'C:\\\', RENAME COLUMN n TO "k\\"'),
    ("ALTER TABLE t COMMENT 'C:\\'', ', ADD COLUMN d INT NOT NULL DEFAULT 3",),
    ("CREATE TABLE u (id INT PRIMARY KEY, n INT)", "RENAME TABLE t TO old, u TO t"),
    ("CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, n INT)",),
    ("ALTER TABLE t ENGINE=BLACKHOLE",),
    ("ALTER TABLE t CONVERT TO CHARACTER SET latin1, ADD d INT DEFAULT 1",),
    ("ALTER TABLE t ADD COLUMN IF NOT EXISTS d INT DEFAULT 1",),
    ("DROP TABLE t",),
    ("ALTER TABLE t ADD COLUMN d INT DEFAULT NULLIF(5, 4)",),
    # The statement is read in the session's mode, and logged with its own.
    (
        "SET STATEMENT sql_mode='NO_BACKSLASH_ESCAPES' FOR "
        "ALTER TABLE t ADD c INT COMMENT '\\'', ADD d INT DEFAULT 5 COMMENT ''",
    ),
    (NO_BACKSLASHES, "SET STATEMENT sql_mode='' FOR ALTER TABLE t ADD c INT COMMENT 'C:\\', ADD d INT DEFAULT 5 COMMENT ''"),
    # The second byte of these characters is that of a backslash.
    ("SET NAMES sjis", "ALTER TABLE t ADD c INT COMMENT 'ソ', ADD d INT DEFAULT 5 COMMENT '表'".encode("cp932")),
    ("SET NAMES big5", "ALTER TABLE t ADD c INT COMMENT '功', ADD d INT DEFAULT 5 COMMENT '功'".encode("big5")),
    ("SET NAMES gbk", "ALTER TABLE t ADD c INT COMMENT '誠', ADD d INT DEFAULT 5 COMMENT '誠'".encode("gbk")),
    ("SET NAMES latin1", b"ALTER TABLE t\xa0ADD d INT DEFAULT 5"),
]
HARMLESS = [
    "ANALYZE TABLE t", "ANALYZE LOCAL TABLE t", "ANALYZE NO_WRITE_TO_BINLOG TABLE t", "OPTIMIZE TABLE t",
    "CHECK TABLE t", "CHECKSUM TABLE t", "FLUSH TABLES", "FLUSH LOGS", "FLUSH PRIVILEGES",
    "GRANT SELECT ON *.* TO g@localhost", "REVOKE SELECT ON *.* FROM g@localhost",
    "SET PASSWORD FOR g@localhost = PASSWORD('x')", "RENAME USER g@localhost TO h@localhost",
    "ALTER USER h@localhost IDENTIFIED BY 'DROP TABLE t'", "DROP USER h@localhost", "CREATE ROLE r",
    "SET DEFAULT ROLE NONE", "DROP ROLE r", "CREATE VIEW v AS SELECT * FROM t", "ALTER VIEW v AS SELECT id FROM t",
    "DROP VIEW v", "CREATE PROCEDURE q() DELETE FROM t", "ALTER PROCEDURE q COMMENT 'x'", "DROP PROCEDURE q",
    "CREATE EVENT e ON SCHEDULE AT '2038-01-01' DO DELETE FROM t", "ALTER EVENT e DISABLE", "DROP EVENT e",
    "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW SET @a = 1", "DROP TRIGGER g",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')", "ALTER SERVER s OPTIONS (HOST 'y')",
    "DROP SERVER s", "CREATE SEQUENCE z", "ALTER SEQUENCE z RESTART", "DROP SEQUENCE z",
    "CREATE DEFINER=CURRENT_USER SQL SECURITY INVOKER VIEW w AS SELECT 1", "CREATE INDEX i ON t (n)",
    "ALTER TABLE t RENAME INDEX i TO j", "ALTER TABLE t ADD c INT", "ALTER TABLE t COMMENT 'ADD d INT NOT NULL'",
    "ALTER TABLE t ENGINE=InnoDB COMMENT 'x' DEFAULT CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin",
    "ALTER TABLE t FORCE", "ALTER DATABASE CHARACTER SET utf8mb4", "CREATE TABLE k (id INT)",
    "CREATE TEMPORARY TABLE y SELECT 1", "LOCK TABLES t READ", "UNLOCK TABLES", "INSTALL SONAME 'nothing'",
    "SET STATEMENT lock_wait_timeout=5 FOR ANALYZE TABLE t",
    "SET STATEMENT lock_wait_timeout=5 FOR ALTER TABLE t ADD c2 INT",
    "CREATE SPATIAL REFERENCE SYSTEM 990000 NAME 'x' DEFINITION ''", "XA START 'a'", "XA END 'a'",
    "XA COMMIT 'a' ONE PHASE", "BEGIN", "COMMIT", "CREATE DATABASE nothing_in_it", "DROP VIEW w",
    "CREATE RESOURCE GROUP rg TYPE = USER", "DROP RESOURCE GROUP rg", "CREATE TABLESPACE tsp ADD DATAFILE 'tsp.ibd'",
    "DROP TABLESPACE tsp",
]  # fmt: skip


@on(MariaDb, MySql)
@pytest.mark.parametrize("some", CHANGES, ids=lambda some: str(some[-1])[:40])
def test_a_change_without_rows_in_the_log_is_seen(source: SourceDatabase, some: tuple[Any, ...]) -> None:
    source.run(CREATE, ROWS)
    begun = end_of_log(source.connection)
    ran = run(source, *some)
    differs = logged_rows(source) != source_rows(source)
    assert differs == ran or "BLACKHOLE" in some[-1]  # which a server may lack, and keeps its own engine then
    assert effects_of(source, begun) or not differs


@on(MariaDb, MySql)
@pytest.mark.parametrize("table", ["t€", "ไม้", "t\u00a0u", "te\u0301"])
def test_a_name_without_quotes_has_any_character_beyond_ascii(source: SourceDatabase, table: str) -> None:
    source.run(f"CREATE TABLE {table} (id INT PRIMARY KEY)", f"ALTER TABLE {table} ADD d INT NOT NULL DEFAULT 5")
    altered = [event for event in source.log() if isinstance(event, Statement)][-1]
    assert TableEffect("rows", source.name, table) in effects(altered.text, altered.database, altered.grammar)


@on(MariaDb, MySql)
@pytest.mark.parametrize(
    "statement", ["UPDATE v SET n = 7", "INSERT INTO v VALUES (3, 3)", "DELETE FROM v WHERE id = 1", "RENAME TABLE v TO w"]
)
def test_a_change_through_a_view_is_seen(source: SourceDatabase, tmp_path: Path, statement: str) -> None:
    bench = bench_of(source, tmp_path)
    source.run(CREATE, ROWS, "CREATE VIEW v AS SELECT * FROM t")
    before = len(bench.once(snapshot=True))
    source.run(STATEMENT_FORMAT, statement)
    records = bench.once()[before:]
    assert bool(records) == (not statement.startswith("RENAME"))
    copied = [record["data"] for record in records if record["metadata"]["ingestion_method"] == "SNAPSHOT"]
    assert [(row["id"], row["n"]) for row in copied] == (source.rows("SELECT * FROM t ORDER BY id") if records else [])


@on(MariaDb, MySql)
def test_statements_that_leave_stored_rows_alone_have_no_effects(source: SourceDatabase) -> None:
    source.run(CREATE, ROWS)
    begun = end_of_log(source.connection)
    ran = [statement for statement in HARMLESS if not failing(source, statement)]
    events = [event for event in source.log() if isinstance(event, Statement) and event.position.order >= begun.order]
    assert [event.text for event in events if wrong(event)] == []
    assert logged_rows(source) == source_rows(source)
    assert len(ran) > 40
    assert len(events) > 25


def wrong(event: Statement) -> bool:
    return any(one.kind != "created" for one in effects(event.text, event.database, event.grammar))


def failing(source: SourceDatabase, statement: Any) -> bool:
    try:
        source.run(statement)
    except pymysql.err.MySQLError:
        return True
    return False


def run(source: SourceDatabase, *statements: Any) -> bool:
    """Run in a session of its own; False where the server does not have one of the statements."""
    with closing(connect(source.server.address)) as connection:
        connection.select_db(source.name)
        return not any(failing(replace(source, connection=connection), statement) for statement in statements)


def effects_of(source: SourceDatabase, begun: LogPosition) -> set[str]:
    """What statements did to `t`, or to all tables."""
    events = [event for event in source.log() if isinstance(event, Statement) and event.position.order >= begun.order]
    found = [one for event in events for one in effects(event.text, event.database, event.grammar)]
    return {one.kind for one in found if one.database in (source.name, "") and one.table in ("t", None)}


def logged_rows(source: SourceDatabase) -> list[Any]:
    """The rows that the events of rows leave, whatever statements did. NULL is as good as no value."""
    rows: dict[Any, Any] = {}
    for event in source.log():
        if isinstance(event, RowsChanged) and event.structure.table == "t":
            names = [column.name for column in event.structure.columns]
            for row in event.before:
                rows.pop(row[0], None)
            rows.update({row[0]: named(names, row) for row in event.after})
    return sorted(rows.values())


def source_rows(source: SourceDatabase) -> list[Any]:
    if failing(source, "SELECT 1 FROM t"):
        return ["dropped"]
    names = [name for name, *_ in source.rows("SHOW COLUMNS FROM t")]
    return sorted(named(names, row) for row in source.rows("SELECT * FROM t"))


def named(names: Sequence[str], row: Sequence[Any]) -> Any:
    return [(name, value) for name, value in zip(names, row, strict=True) if value is not None]


def test_a_server_that_stores_names_in_lower_case_is_read_right(tmp_path: Path) -> None:
    """Statements have the names as the session wrote them."""
    with new_server(MariaDb, "--lower-case-table-names=1") as server, connect(server.address) as connection:
        query(connection, "CREATE DATABASE Upper")
        connection.select_db("UPPER")
        start = end_of_log(connection)
        for statement in (CREATE.replace(" t ", " T "), ROWS, "CREATE TABLE Gone (id INT PRIMARY KEY, n INT)"):
            query(connection, statement)
        bench = Bench(server, tmp_path, TableFilter(("upper",)))
        bench.once(start=Progress(start))
        for statement in ("ALTER TABLE UPPER.T ADD d INT NOT NULL DEFAULT 5", "DROP TABLE GONE"):
            query(connection, statement)
        records = bench.once()
        assert latest(records)[("upper", "t", 1)] == {"id": 1, "n": 1, "d": 5}
        (body,) = bench.publisher.bodies("schema-changes")
        assert (body["table"], body["database"], body["changes"][0]["kind"]) == ("gone", "upper", "table dropped")
        query(connection, "CREATE TABLE gone (id INT PRIMARY KEY, n INT)")
        bench.once()
        assert "gone" in [one["copy"]["table"] for one in bench.checkpoint()["sweeps"]]
