"""A source of three tables, of which one cannot be captured, and checks of its quarantine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.capture import Bench, bench_of, latest
from support.source_database import SourceDatabase

from onefold.mysql.connection import connect, query

GOOD = ("CREATE TABLE good (id INT PRIMARY KEY, n INT)", "CREATE TABLE other (id INT PRIMARY KEY, n INT)")
Lines = list[dict[str, Any]]


@dataclass
class QuarantineScene:
    """A source of three tables, of which `bad` cannot be captured at some time."""

    source: SourceDatabase
    bench: Bench
    capsys: pytest.CaptureFixture[str]
    number: int = 0

    def once(self, **options: Any) -> Lines:
        """Read up to the end of the log, and return the lines of the log."""
        self.capsys.readouterr()
        self.bench.once(**options)
        return [json.loads(line) for line in self.capsys.readouterr().out.splitlines() if line.startswith("{")]

    def touch(self, *tables: str) -> None:
        """Insert a row into each table."""
        self.number += 1
        for table in tables:
            self.source.run(f"INSERT INTO `{table}` (id) VALUES ({100 + self.number})")

    def landed(self, table: str) -> dict[Any, dict[str, Any]]:
        """Return the latest rows of a table in BigQuery by key; `table` is its base name."""
        return {key[2]: row for key, row in latest(self.bench.publisher.records()).items() if key[1] == table}

    def rows(self, table: str, *columns: str) -> dict[Any, dict[str, Any]]:
        """Return the rows of a table at the source by key."""
        found = self.source.rows(f"SELECT {', '.join(columns)} FROM `{table}`")
        return {row[0]: dict(zip(columns, row, strict=True)) for row in found}

    def check_others(self) -> None:
        for table in ("good", "other"):
            assert self.landed(table) == self.rows(table, "id", "n")

    def quarantine(self) -> list[tuple[str, str]]:
        entries = self.bench.checkpoint()["quarantine"]
        return [(one["table"], one["kind"]) for one in entries if not one["until"]]

    def messages(self) -> list[dict[str, Any]]:
        found = self.bench.publisher.bodies("schema-changes")
        return [body for body in found if body["changes"][0]["kind"] == "table in quarantine"]


def critical(lines: Lines) -> Lines:
    return [line for line in lines if line["severity"] == "CRITICAL" and line["event"] == "quarantined"]


def statements(remedy: str) -> list[str]:
    """Return the statements that a remedy tells people to run."""
    return [text.strip() for text in re.findall(r"run: ([^;]+)", remedy)]


def check_in_quarantine(scene: QuarantineScene, lines: Lines, table: str, kind: str) -> str:
    """Check for one log line and one message, and that the other tables arrive. Return the remedy."""
    (line,) = critical(lines)
    (message,) = scene.messages()
    assert (line["table"], line["kind"], scene.quarantine()) == (table, kind, [(table, kind)])
    assert (message["reason"], message["remedy"]) == (line["reason"], line["remedy"])
    assert (message["severity"], message["database"]) == ("CRITICAL", scene.source.name)
    ended = next(one for one in lines if one["event"] == "captured")
    assert (ended["tables_in_quarantine"], ended["quarantine"]) == (1, [f"{scene.source.name}.{table}"])
    scene.check_others()
    return str(line["remedy"])


def check_restart(scene: QuarantineScene, table: str, before: int) -> None:
    """Check that a process that starts again publishes no rows of the table and no second message."""
    scene.touch("good", "other")
    assert critical(scene.once()) == []
    scene.check_others()
    assert [record["metadata"]["table_name"] for record in scene.bench.publisher.records()].count(table) == before
    assert len(scene.messages()) == 1


def check_left(scene: QuarantineScene, lines: Lines, table: str) -> None:
    """Check that a table has left quarantine and was copied."""
    assert [line["table"] for line in lines if line["event"] == "quarantine_left"] == [table]
    assert [line["table"] for line in lines if line["event"] == "copied"] == [table]
    assert scene.quarantine() == []


@pytest.fixture
def scene(source: SourceDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> QuarantineScene:
    source.run(*GOOD)
    return QuarantineScene(source, bench_of(source, tmp_path), capsys)


@pytest.fixture
def reader(scene: QuarantineScene) -> Iterator[Callable[..., None]]:
    """Let capture run as a user with few rights; returns a function that runs a statement as root."""
    server, name = scene.source.server, f"{scene.source.name}_reader"
    scene.source.run(
        f"CREATE USER {name}@'%' IDENTIFIED BY ''", f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {name}@'%'"
    )

    scene.bench.server = replace(server, user=name)
    for table in ("good", "other"):
        scene.source.run(f"GRANT SELECT ON {scene.source.name}.{table} TO {name}@'%'")

    def run(statement: str) -> None:
        with closing(connect(server.address)) as connection:
            query(connection, statement.format(name=f"{name}@'%'", db=scene.source.name))

    yield run
    scene.source.run(f"DROP USER {name}@'%'")


def alter_silently(source: SourceDatabase, statement: str) -> None:
    source.run("SET SESSION sql_log_bin = 0", statement, "SET SESSION sql_log_bin = 1")
