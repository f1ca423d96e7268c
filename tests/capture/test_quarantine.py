"""One table of three cannot be captured: the others arrive, restarts included, and its remedy makes it whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.capture import Bench, MemoryTables, bench_of, eventually, latest
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import TableFilter
from onefold.schema.columns import Column

GOOD = ("CREATE TABLE good (id INT PRIMARY KEY, n INT)", "CREATE TABLE other (id INT PRIMARY KEY, n INT)")
Lines = list[dict[str, Any]]


@dataclass
class Scene:
    """A source of three tables, of which `bad` cannot be captured at some time."""

    source: SourceDatabase
    bench: Bench
    capsys: pytest.CaptureFixture[str]
    number: int = 0

    def once(self, **options: Any) -> Lines:
        """Read up to the log's end, and give what was logged."""
        self.capsys.readouterr()
        self.bench.once(**options)
        return [json.loads(line) for line in self.capsys.readouterr().out.splitlines() if line.startswith("{")]

    def touch(self, *tables: str) -> None:
        """A row more in each table."""
        self.number += 1
        for table in tables:
            self.source.run(f"INSERT INTO `{table}` (id) VALUES ({100 + self.number})")

    def landed(self, table: str) -> dict[Any, dict[str, Any]]:
        """What people read of a table, by its base name."""
        return {key[2]: row for key, row in latest(self.bench.publisher.records()).items() if key[1] == table}

    def rows(self, table: str, *columns: str) -> dict[Any, dict[str, Any]]:
        """The source's own rows."""
        found = self.source.rows(f"SELECT {', '.join(columns)} FROM `{table}`")
        return {row[0]: dict(zip(columns, row, strict=True)) for row in found}

    def check_others(self) -> None:
        for table in ("good", "other"):
            assert self.landed(table) == self.rows(table, "id", "n")

    def quarantine(self) -> list[tuple[str, str]]:
        held = self.bench.checkpoint()["quarantine"]
        return [(one["table"], one["kind"]) for one in held if not one["until"]]

    def messages(self) -> list[dict[str, Any]]:
        found = self.bench.publisher.bodies("schema-changes")
        return [body for body in found if body["changes"][0]["kind"] == "table in quarantine"]


@pytest.fixture
def scene(source: SourceDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Scene:
    source.run(*GOOD)
    return Scene(source, bench_of(source, tmp_path), capsys)


def critical(lines: Lines) -> Lines:
    return [line for line in lines if line["severity"] == "CRITICAL" and line["event"] == "quarantined"]


def statements(remedy: str) -> list[str]:
    """What a person types: each statement of a remedy, as it is written."""
    return [text.strip() for text in re.findall(r"run: ([^;]+)", remedy)]


def check_in_quarantine(scene: Scene, lines: Lines, table: str, kind: str) -> str:
    """One line and one message were sent; the others arrive, restarts included. Gives the remedy."""
    (line,) = critical(lines)
    (message,) = scene.messages()
    assert (line["table"], line["kind"], scene.quarantine()) == (table, kind, [(table, kind)])
    assert (message["reason"], message["remedy"]) == (line["reason"], line["remedy"])
    assert (message["severity"], message["database"]) == ("CRITICAL", scene.source.name)
    ended = next(one for one in lines if one["event"] == "captured")
    assert (ended["tables_in_quarantine"], ended["quarantine"]) == (1, [f"{scene.source.name}.{table}"])
    scene.check_others()
    return str(line["remedy"])


def check_restart(scene: Scene, table: str, before: int) -> None:
    """Nothing of the table is published by a process that starts again, and nobody is told twice."""
    scene.touch("good", "other")
    assert critical(scene.once()) == []
    scene.check_others()
    assert [record["metadata"]["table_name"] for record in scene.bench.publisher.records()].count(table) == before
    assert len(scene.messages()) == 1


def check_left(scene: Scene, lines: Lines, table: str) -> None:
    assert [line["table"] for line in lines if line["event"] == "quarantine_left"] == [table]
    assert [line["table"] for line in lines if line["event"] == "copied"] == [table]
    assert scene.quarantine() == []


STRUCTURES = [
    pytest.param(
        MariaDb, "CREATE TABLE bad (id INT PRIMARY KEY, a VARCHAR(99) COMPRESSED, b TEXT COMPRESSED)", "a", id="compressed"
    ),
    pytest.param(MariaDb, "CREATE TABLE bad (id INT PRIMARY KEY, a TEXT CHARACTER SET swe7)", "a", id="charset"),
    pytest.param(MySql, "CREATE TABLE bad (id INT PRIMARY KEY, a TEXT CHARACTER SET swe7)", "a", id="charset of MySQL"),
    pytest.param(MariaDb, "CREATE TABLE bad (id INT PRIMARY KEY, a INT) WITH SYSTEM VERSIONING", "a", id="versioning"),
    pytest.param(MariaDb, "CREATE TABLE bad (id INT PRIMARY KEY, a_b INT, `a b` INT, `a-b` INT)", "a_b", id="columns"),
    pytest.param(MySql, "CREATE TABLE bad (id INT PRIMARY KEY, a_b INT, `a b` INT)", "a_b", id="columns of MySQL"),
]


@pytest.mark.parametrize("when", ["at the start", "while it runs"])
@pytest.mark.parametrize(("server", "create", "column"), STRUCTURES, indirect=["server"])
def test_a_structure_that_cannot_be_captured(scene: Scene, create: str, column: str, when: str) -> None:
    if when == "at the start":
        scene.source.run(create)
    scene.once(snapshot=True)
    if when == "while it runs":
        scene.source.run(create)
    scene.touch("bad", "good", "other")
    lines = scene.once()
    if when == "at the start":  # the first start has told it
        assert critical(lines) == []
        scene.check_others()
        remedy = scene.messages()[0]["remedy"]
    else:
        remedy = check_in_quarantine(scene, lines, "bad", "structure")
    check_restart(scene, "bad", 0)
    scene.source.run(f"UPDATE bad SET {column} = 1")
    scene.source.run(*(statement.partition("; or leave")[0] for statement in statements(remedy)))
    scene.touch("bad", "good", "other")
    check_left(scene, scene.once(), "bad")
    scene.source.run("UPDATE bad SET id = id + 1000 WHERE id > 101")
    scene.once()
    names = [name for name, *_ in scene.source.rows("SHOW COLUMNS FROM bad")]
    assert scene.landed("bad") == scene.rows("bad", *names)
    scene.check_others()


@on(MySql)
def test_a_vector_is_left_out_as_the_remedy_says(scene: Scene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, v VECTOR(3))")
    lines = scene.once(snapshot=True)
    remedy = check_in_quarantine(scene, lines, "bad", "structure")
    scene.source.run("INSERT INTO bad VALUES (1, STRING_TO_VECTOR('[1,2,3]'))")
    check_restart(scene, "bad", 0)
    (pattern,) = re.findall(r"--exclude (\S+)\)", remedy)
    scene.bench.patterns = replace(scene.bench.patterns, exclude=(pattern,))
    scene.once()
    assert (scene.quarantine(), scene.landed("bad")) == ([], {})


@on(MariaDb, MySql)
def test_rows_that_lack_columns(scene: Scene) -> None:
    """The session is another one than that of the remedy, which connects again."""
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT, c INT DEFAULT 7)", "INSERT INTO bad VALUES (1, 1, 1)")
    scene.once(snapshot=True)
    scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE bad SET n = 2 WHERE id = 1")
    scene.source.run("SET SESSION binlog_row_image = 'FULL'")
    scene.touch("good", "other")
    lines = scene.once()
    assert "binlog_row_image = FULL" in check_in_quarantine(scene, lines, "bad", "rows")
    assert scene.landed("bad") == {1: {"id": 1, "n": 1, "c": 1}}
    scene.touch("bad")
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "n", "c")


@on(MariaDb, MySql)
def test_a_whole_row_brings_a_table_back_while_it_runs(scene: Scene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    with scene.bench.running(snapshot=True) as capture:
        eventually(lambda: scene.landed("bad"))
        capture._guard.quiet = 0
        scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE bad SET n = 2 WHERE id = 1")
        eventually(scene.messages)
        scene.source.run("SET SESSION binlog_row_image = 'FULL'", "INSERT INTO bad VALUES (2, 2)")
        eventually(lambda: scene.landed("bad") == scene.rows("bad", "id", "n"))
    assert scene.quarantine() == []


@on(MariaDb, MySql)
def test_a_log_that_keeps_lacking_columns_does_not_copy_the_table_time_and_again(scene: Scene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    with scene.bench.running(snapshot=True):
        eventually(lambda: scene.landed("bad"))
        for number in range(3):
            scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", f"UPDATE bad SET n = n + {number + 1}")
            scene.source.run("SET SESSION binlog_row_image = 'FULL'", f"INSERT INTO bad VALUES ({number + 2}, 0)")
        scene.touch("good")
        eventually(lambda: scene.landed("good"))
    assert (len(scene.messages()), scene.quarantine()) == (1, [("bad", "rows")])
    scene.once()
    assert (scene.quarantine(), scene.landed("bad")) == ([], scene.rows("bad", "id", "n"))


@dataclass
class Picky(MemoryTables):
    """A warehouse that refuses a type, as one does where it does not know it."""

    refused: str = "INTERVAL"

    def __init__(self) -> None:
        super().__init__()
        self.refused = "INTERVAL"

    def create_table(
        self,
        id_: TableId,
        columns: Sequence[Column],
        clustering: Sequence[str] = (),
        partition: str | None = None,
        primary_key: Sequence[str] = (),
    ) -> None:
        if any(str(column.type) == self.refused for column in columns):
            raise Rejected(f"{id_}: the type {self.refused} is not known")
        super().create_table(id_, columns, clustering, partition, primary_key)


@on(MariaDb, MySql)
@pytest.mark.parametrize("remedy", ["ALTER TABLE", "a later start"])
def test_a_type_that_the_warehouse_refuses(scene: Scene, remedy: str) -> None:
    picky = scene.bench.warehouse = Picky()
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, t TIME)")
    scene.once()
    scene.touch("bad", "good", "other")
    check_in_quarantine(scene, scene.once(), "bad", "warehouse")
    check_restart(scene, "bad", 0)
    if remedy == "ALTER TABLE":
        scene.source.run("ALTER TABLE bad MODIFY t VARCHAR(20)")
    else:
        picky.refused = ""
    scene.touch("bad")
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "t")


@pytest.fixture
def reader(scene: Scene) -> Iterator[Callable[..., None]]:
    """Capture runs as a user of few rights, on a server of its own names; gives what runs a statement as root."""
    server, name = scene.source.server, f"{scene.source.name}_reader"
    scene.source.run(
        f"CREATE USER {name}@'%' IDENTIFIED BY ''", f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {name}@'%'"
    )
    if scene.source.on_mariadb:
        scene.source.run(f"GRANT BINLOG MONITOR, REPLICATION SLAVE ADMIN ON *.* TO {name}@'%'")

    class As:
        """The server, as that user sees it."""

        address = replace(server.address, user=name)

    scene.bench.server = As()  # type: ignore[assignment]
    for table in ("good", "other"):
        scene.source.run(f"GRANT SELECT ON {scene.source.name}.{table} TO {name}@'%'")

    def run(statement: str) -> None:
        with closing(connect(server.address)) as connection:
            query(connection, statement.format(name=f"{name}@'%'", db=scene.source.name))

    yield run
    scene.source.run(f"DROP USER {name}@'%'")


@on(MariaDb, MySql)
@pytest.mark.parametrize("given", ["", "GRANT SELECT (id) ON {db}.bad TO {name}", "GRANT INSERT ON {db}.bad TO {name}"])
@pytest.mark.parametrize("named", [True, False], ids=["named by a pattern", "under a pattern"])
def test_a_right_that_is_missing(scene: Scene, reader: Callable[[str], None], given: str, named: bool) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    if named:
        scene.bench.patterns = TableFilter(tuple(f"{scene.source.name}.{table}" for table in ("good", "other", "bad")))
    if given:
        reader(given)
    first = scene.once(snapshot=True)
    told = bool(given) or named
    assert len(critical(first)) == told  # a table that nobody may see is found in the log
    scene.touch("bad", "good", "other")
    lines = scene.once()
    remedy = check_in_quarantine(scene, first if told else lines, "bad", "grant")
    user = f"'{scene.source.name}_reader'@'%'"
    assert statements(remedy) == [f"GRANT SELECT ON `{scene.source.name}`.`bad` TO {user}"]
    check_restart(scene, "bad", 0)
    reader(statements(remedy)[0])
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "n")


@on(MariaDb, MySql)
@pytest.mark.parametrize(
    "given", ["GRANT SELECT (id, n) ON {db}.bad TO {name}", "GRANT INSERT, SELECT (id, n) ON {db}.bad TO {name}"]
)
def test_a_right_on_an_invisible_column_that_is_missing(scene: Scene, reader: Callable[[str], None], given: str) -> None:
    """`SELECT *` of MySQL asks for no right on it, and a copy without it would outrank the whole rows of the log."""
    scene.source.run(
        "CREATE TABLE bad (id INT PRIMARY KEY, n INT, `s` INT DEFAULT 3 INVISIBLE)", "INSERT INTO bad (id) VALUES (1)"
    )
    reader(given)
    remedy = check_in_quarantine(scene, scene.once(snapshot=True), "bad", "grant")
    check_restart(scene, "bad", 0)
    reader(statements(remedy)[0])
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "n", "s")


@on(MariaDb, MySql)
def test_a_right_that_is_given_while_it_runs(scene: Scene, reader: Callable[[str], None]) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    scene.touch("good")
    with scene.bench.running(snapshot=True):
        eventually(lambda: scene.landed("good"))
        scene.touch("bad")
        (message,) = eventually(scene.messages)
        reader(statements(message["remedy"])[0])
        eventually(lambda: scene.landed("bad") == scene.rows("bad", "id", "n"))


@on(MariaDb, MySql)
def test_a_right_that_is_taken_away_before_a_copy(scene: Scene, reader: Callable[[str], None]) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    reader("GRANT SELECT ON {db}.bad TO {name}")
    with scene.bench.running(snapshot=True):
        eventually(lambda: scene.landed("bad"))
        reader("REVOKE SELECT ON {db}.bad FROM {name}")
        reader("GRANT SELECT (id) ON {db}.bad TO {name}")
        scene.source.run("TRUNCATE bad")
        eventually(scene.messages)
    assert scene.quarantine() == [("bad", "grant")]
    scene.check_others()


@on(MariaDb, MySql)
def test_a_right_to_lock_that_is_missing(scene: Scene, reader: Callable[[str], None]) -> None:
    scene.source.run("CREATE TABLE bad (id INT, n INT) ENGINE = MyISAM", "INSERT INTO bad VALUES (1, 1)")
    reader("GRANT SELECT ON {db}.bad TO {name}")
    remedy = check_in_quarantine(scene, scene.once(snapshot=True), "bad", "copy")
    check_restart(scene, "bad", 0)
    reader(statements(remedy)[0])
    check_left(scene, scene.once(), "bad")
    found = [record["data"] for record in scene.bench.publisher.records() if record["metadata"]["table_name"] == "bad"]
    assert found == [{"id": 1, "n": 1}]


@on(MariaDb, MySql)
@pytest.mark.parametrize("first", ["a b", "a_b"])
def test_a_second_table_of_one_base_name(scene: Scene, first: str) -> None:
    """The one that was captured first keeps the name, and nothing of the second one lands."""
    second = {"a b": "a_b", "a_b": "a b"}[first]
    scene.source.run(f"CREATE TABLE `{first}` (id INT PRIMARY KEY, n INT)", f"INSERT INTO `{first}` VALUES (1, 1)")
    scene.once(snapshot=True)
    scene.source.run(f"CREATE TABLE `{second}` (id INT PRIMARY KEY, s TEXT)")
    scene.touch(first, second, "good", "other")
    lines = scene.once()
    remedy = check_in_quarantine(scene, lines, second, "name")
    assert all(repr(name) in critical(lines)[0]["reason"] for name in (first, second))
    check_restart(scene, "a_b", len(scene.landed("a_b")))
    scene.touch(first)
    scene.once(again=TableFilter((f"{scene.source.name}.*",)))
    assert scene.landed("a_b") == scene.rows(first, "id", "n")
    assert scene.quarantine() == [(second, "name")]
    (rename,) = statements(remedy)
    scene.source.run(rename.partition("; or")[0])
    scene.once()
    assert (scene.quarantine(), scene.landed("a_b_2")) == ([], scene.rows("a_b_2", "id", "s"))


@on(MariaDb, MySql)
def test_when_the_first_table_of_a_base_name_goes_the_second_is_copied(scene: Scene) -> None:
    scene.source.run("CREATE TABLE `a.b` (id INT PRIMARY KEY)", "CREATE TABLE `a b` (id INT PRIMARY KEY)")
    scene.touch("a.b", "a b")
    lines = scene.once(snapshot=True)
    assert [line["table"] for line in critical(lines)] == ["a.b"]
    assert scene.landed("a_b") == scene.rows("a b", "id")
    scene.source.run("DROP TABLE `a b`")
    scene.touch("a.b")
    lines = scene.once()
    check_left(scene, lines, "a.b")
    assert scene.rows("a.b", "id").items() <= scene.landed("a_b").items()


def alter_silently(source: SourceDatabase, statement: str) -> None:
    source.run("SET SESSION sql_log_bin = 0", statement, "SET SESSION sql_log_bin = 1")


@on(MariaDb, MySql)
@pytest.mark.parametrize("again", [True, False], ids=["by the next process", "by the same process"])
def test_a_structure_that_changed_without_a_statement_is_copied(scene: Scene, again: bool) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    scene.once(snapshot=True)
    scene.touch("bad")
    if again:
        scene.once()
    alter_silently(scene.source, "ALTER TABLE bad ADD c INT NOT NULL DEFAULT 5")
    scene.touch("bad")
    lines = scene.once()
    assert [(line["table"], line["severity"]) for line in lines if line["event"] == "copy_wanted"] == [("bad", "WARNING")]
    assert scene.landed("bad") == scene.rows("bad", "id", "n", "c")
    scene.touch("bad")
    assert [line for line in scene.once() if line["event"] == "copy_wanted"] == []


@on(MariaDb, MySql)
@pytest.mark.parametrize(
    "statement",
    ["ANALYZE TABLE bad", "CREATE TABLE bad_ones (id INT PRIMARY KEY)", "CREATE TABLE IF NOT EXISTS bad (id INT)"],
)
def test_a_statement_that_alters_nothing_hides_no_change_without_a_statement(scene: Scene, statement: str) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    scene.once(snapshot=True)
    alter_silently(scene.source, "ALTER TABLE bad ADD c INT NOT NULL DEFAULT 5")
    scene.source.run(statement)
    scene.touch("bad")
    scene.once()
    assert scene.landed("bad") == scene.rows("bad", "id", "n", "c")


@on(MariaDb, MySql)
def test_a_structure_that_changed_by_a_statement_that_leaves_rows_alone_is_not_copied(scene: Scene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    scene.once(snapshot=True)
    scene.touch("bad")
    scene.source.run("ALTER TABLE bad ADD c INT")
    scene.touch("bad")
    lines = scene.once()
    assert [line["event"] for line in lines if line["event"] in ("copied", "copy_wanted")] == []


@on(MariaDb)
def test_a_table_that_is_in_order_by_now_is_copied_without_alarm(scene: Scene) -> None:
    """The log is behind: what cannot be read there is shown by the copy."""
    scene.once(snapshot=True)
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, a TEXT COMPRESSED)", "INSERT INTO bad VALUES (1, 'x')")
    scene.source.run("ALTER TABLE bad MODIFY a TEXT", "INSERT INTO bad VALUES (2, 'y')")
    lines = scene.once()
    assert (critical(lines), scene.messages()) == ([], [])
    assert scene.landed("bad") == scene.rows("bad", "id", "a")


@on(MariaDb)
def test_a_history_between_two_statements_never_lands(scene: Scene) -> None:
    scene.once(snapshot=True)
    scene.source.run(
        "CREATE TABLE bad (id INT PRIMARY KEY, a INT)", "ALTER TABLE bad ADD SYSTEM VERSIONING",
        "INSERT INTO bad VALUES (1, 1)", "UPDATE bad SET a = 2", "ALTER TABLE bad DROP SYSTEM VERSIONING",
        "UPDATE bad SET a = 3",
    )  # fmt: skip
    scene.once()
    assert scene.landed("bad") == {1: {"id": 1, "a": 3}}
    assert "row_start" not in str(scene.bench.publisher.records())


@on(MariaDb)
def test_a_table_in_quarantine_stays_there_in_a_new_epoch(scene: Scene) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, a TEXT COMPRESSED)", "INSERT INTO bad VALUES (1, 'x')")
    scene.once(snapshot=True)
    scene.touch("good", "other")
    lines = scene.once(epoch=2)
    assert (critical(lines), scene.quarantine(), scene.bench.checkpoint()["epoch"]) == ([], [("bad", "structure")], 2)
    scene.check_others()
    (statement,) = statements(scene.messages()[0]["remedy"])
    scene.source.run(statement)
    check_left(scene, scene.once(), "bad")
    assert scene.landed("bad") == scene.rows("bad", "id", "a")


@on(MariaDb)
def test_a_log_that_stays_unreadable_behind_a_copy_is_told(scene: Scene) -> None:
    """The table is in order, and the server no longer names its columns in the log."""
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)")
    with scene.bench.running(snapshot=True):
        eventually(lambda: scene.landed("bad"))
        scene.source.run("SET GLOBAL binlog_row_metadata = NO_LOG")
        try:
            for number in range(2, 6):
                scene.source.run("FLUSH TABLES", f"INSERT INTO bad VALUES ({number}, 1)")
                eventually(lambda: scene.messages() or len(scene.landed("bad")) == number)  # noqa: B023
        finally:
            scene.source.run("SET GLOBAL binlog_row_metadata = FULL")
        (message,) = scene.messages()
        assert "binlog_row_metadata" in message["reason"]
        scene.source.run("FLUSH TABLES", "INSERT INTO bad VALUES (9, 9)")
        eventually(lambda: scene.landed("bad") == scene.rows("bad", "id", "n"))


@on(MariaDb, MySql)
def test_children_of_a_parent_whose_rows_cannot_be_read_are_copied(scene: Scene) -> None:
    scene.source.run(
        "CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES bad (id) ON DELETE SET NULL)",
        "INSERT INTO child VALUES (1, 1)",
    )  # fmt: skip
    scene.once(snapshot=True)
    scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", "DELETE FROM bad", "SET SESSION binlog_row_image = 'FULL'")
    scene.once()
    if (
        not scene.source.on_mariadb
    ):  # it logs what follows, with rows that lack columns, too: the next start brings both back
        assert scene.quarantine() == [("bad", "rows"), ("child", "rows")]
        scene.once()
    assert scene.landed("child") == {1: {"id": 1, "p": None}}


@on(MariaDb)
@pytest.mark.parametrize("end", ["ROLLBACK", "COMMIT"])
def test_only_a_commit_puts_a_table_into_quarantine(scene: Scene, end: str) -> None:
    """The temporary table makes the server log what is rolled back."""
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT, c INT DEFAULT 7)", "INSERT INTO bad VALUES (1, 1, 1)")
    scene.once(snapshot=True)
    scene.source.run(
        "SET SESSION binlog_row_image = 'MINIMAL'", "BEGIN", "UPDATE bad SET n = 2", "UPDATE good SET n = 2",
        "CREATE TEMPORARY TABLE x (a INT)", end, "DROP TEMPORARY TABLE x", "SET SESSION binlog_row_image = 'FULL'",
    )  # fmt: skip
    scene.touch("good", "other")
    scene.once()
    assert scene.quarantine() == ([("bad", "rows")] if end == "COMMIT" else [])
    scene.check_others()
    assert scene.landed("bad") == {1: {"id": 1, "n": 1, "c": 1}}


@on(MariaDb, MySql)
@pytest.mark.parametrize("read_between", [True, False], ids=["prepared in one start", "prepared and ended in one start"])
@pytest.mark.parametrize("end", ["ROLLBACK", "COMMIT"])
def test_only_the_commit_of_an_xa_transaction_puts_a_table_into_quarantine(
    scene: Scene, end: str, read_between: bool
) -> None:
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT, c INT DEFAULT 7)", "INSERT INTO bad VALUES (1, 1, 1)")
    scene.once(snapshot=True)
    xid = f"'{scene.source.name}'"
    scene.source.prepare(xid, "SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE bad SET n = 2")
    if read_between:
        scene.once()
        assert scene.quarantine() == []
    scene.source.run(f"XA {end} {xid}")
    scene.touch("good", "other")
    scene.once()
    assert scene.quarantine() == ([("bad", "rows")] if end == "COMMIT" else [])
    scene.check_others()


@on(MariaDb)
def test_a_copy_behind_quarantine_does_not_hide_what_was_prepared_before(scene: Scene) -> None:
    """The copy cannot show these rows, and they are before the place from which on rows count again. With MySQL it waits."""
    scene.source.run("CREATE TABLE bad (id INT PRIMARY KEY, n INT)", "INSERT INTO bad VALUES (1, 1), (2, 2)")
    scene.once(snapshot=True)
    scene.source.run("SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE bad SET n = 3 WHERE id = 2")
    scene.source.run("SET SESSION binlog_row_image = 'FULL'")
    xid = f"'{scene.source.name}'"
    scene.source.prepare(xid, "SET SESSION binlog_row_image = 'FULL'", "UPDATE bad SET n = 4 WHERE id = 1")
    scene.once()
    assert scene.quarantine() == [("bad", "rows")]
    scene.once()
    assert scene.quarantine() == []
    scene.source.run(f"XA COMMIT {xid}")
    scene.once()
    assert scene.landed("bad") == scene.rows("bad", "id", "n") == {1: {"id": 1, "n": 4}, 2: {"id": 2, "n": 3}}
