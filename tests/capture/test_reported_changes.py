"""What capture tells of the statements of the log: tenant, statement without literals, and the time at the source."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.capture import CREATE, Bench, begin, bench_of, eventually
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

pytestmark = on(MariaDb, long=MySql)

ALTER = "ALTER TABLE t ADD zip VARCHAR(9) DEFAULT 'secret'"
MASKED = "ALTER TABLE t ADD zip VARCHAR(9) DEFAULT ?"


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


def tables(bench: Bench) -> list[dict[str, Any]]:
    """All tables that messages named, in the order in which they were published."""
    contents = [json.loads(message.data)["table"] for message in bench.publisher.topics.get("table-created", [])]
    return [one for content in contents for one in (content if isinstance(content, list) else [content])]


def changes(bench: Bench) -> list[dict[str, Any]]:
    return [one["change"] for one in tables(bench) if "change" in one]


def test_the_row_after_an_alter_tells_of_it_once(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE)
    start = begin(source)
    source.run("INSERT INTO t VALUES (1, 'a')")
    bench.once(start=start, snapshot=False)
    assert changes(bench) == []
    before = datetime.now(UTC)
    source.run(ALTER, "INSERT INTO t VALUES (2, 'b', 'x')", "INSERT INTO t VALUES (3, 'c', 'y')")
    bench.once()
    (change,) = changes(bench)
    assert (change["origin"], change["tenant"], change["statement"]) == ("capture", source.name, MASKED)
    changed_at = datetime.fromisoformat(change["changed_at"])
    assert before.replace(microsecond=0) <= changed_at <= datetime.now(UTC)
    assert "secret" not in json.dumps(tables(bench))
    first, second = tables(bench)
    assert first["version"] != second["version"]


def test_a_process_that_runs_knows_the_version_before(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE)
    with bench.running(start=begin(source)):
        source.run("INSERT INTO t VALUES (1, 'a')")
        eventually(lambda: len(tables(bench)) == 1)
        source.run(ALTER, "INSERT INTO t VALUES (2, 'b', 'x')")
        eventually(lambda: changes(bench))
    (change,) = changes(bench)
    assert change["version_before"] == tables(bench)[0]["version"]


def test_statements_before_a_row_are_told_together_and_an_index_is_none(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE)
    start = begin(source)
    source.run("INSERT INTO t VALUES (1, 'a')", "ALTER TABLE t ADD INDEX i (name)", "INSERT INTO t VALUES (2, 'b')")
    source.run(ALTER, "ALTER TABLE t DROP name", "INSERT INTO t VALUES (3, 'x')")
    bench.once(start=start, snapshot=False)
    (change,) = changes(bench)
    assert change["statement"] == f"{MASKED};\nALTER TABLE t DROP name"


def test_a_log_that_is_read_again_tells_the_same(bench: Bench, source: SourceDatabase, tmp_path: Path) -> None:
    source.run(CREATE)
    start = begin(source)
    source.run("INSERT INTO t VALUES (1, 'a')", ALTER, "INSERT INTO t VALUES (2, 'b', 'x')")
    bench.once(start=start, snapshot=False)
    again = bench_of(source, tmp_path / "again")
    again.once(start=start, snapshot=False)
    assert changes(bench) == changes(again)
    assert len(changes(bench)) == 1
