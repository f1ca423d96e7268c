"""The demo over a database of the user's own: a real server, and the command as a person runs it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from e2e.test_demo import COMMAND, children, environ, is_there, until
from support.cli import Run
from support.database_servers import READER
from support.source_database import SourceDatabase, end_of_log

from onefold.capture.checkpoint import Checkpoint, Progress
from onefold.capture.source import CapturedSource
from onefold.core.errors import InvalidInput, NotFound
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.source_url import parse_source
from onefold.mysql.table_filter import TableFilter
from onefold_lab.demo.capture_thread import InMemoryCheckpoint
from onefold_lab.demo.source import MAX_TABLES, choose, patterns_of, without
from onefold_lab.stand_ins.warehouse import emulator_client

pytestmark = pytest.mark.heavy

SECONDS = 300
ODD = (
    "CREATE TABLE odd (id BIGINT UNSIGNED PRIMARY KEY, bits BIT(9), price DECIMAL(12,2), ratio DOUBLE, low FLOAT, kind "
    "ENUM('a','b'), tags SET('x','y'), at DATETIME(3), seen TIMESTAMP(6) NULL, took TIME(2), born DATE, blob_ BLOB, "
    "fixed BINARY(3), doc JSON, spot POINT, name VARCHAR(30), `first name` TEXT, _landed_at INT, y YEAR)"
)
ROWS = (
    "INSERT INTO odd VALUES (18446744073709551615, b'100000001', -0.50, 0.1, 0.1, 'b', 'x,y', '2020-01-02 03:04:05.987', "
    "'2020-01-02 03:04:05.000001', '-838:59:59', '1000-01-01', x'00ff00', 'a', '{\"a\": [1, null]}', POINT(1, 2), "
    "'Zoë 日本 😀', '', 7, 1901), (2, 0, 12, -1e300, 3, 'a', '', '9999-12-31 23:59:59', NULL, '00:00:01.5', NULL, NULL, "
    "NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
)


def url(source: SourceDatabase, database: str = "") -> str:
    return f"mysql://{READER}@127.0.0.1:{source.server.port}/{database}"


def words(shown: str) -> str:
    """Without the colours, the borders of tables and the ends of lines."""
    return " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[│┃]", " ", shown).split())


def test_a_database_is_named_once() -> None:
    named = parse_source("mysql://reader@db/sh*p.x")
    patterns = patterns_of(named, (), ("*.secret",))
    found = [patterns.match(*name) for name in (("sh*p.x", "t"), ("shop.x", "t"), ("sh*p.x", "secret"))]
    assert found == [True, False, False]
    with pytest.raises(InvalidInput, match=r"name sh\*p\.x in only one of them"):
        patterns_of(named, ("shop",), ())


@pytest.mark.parametrize("options", [("--include", "shop"), ("--exclude", "shop"), ("--once",)])
def test_options_of_a_source_need_a_source(run: Run, options: tuple[str, ...]) -> None:
    done = run("demo", *options)
    assert (done.code, "need --source" in done.err) == (1, True)


def test_a_missing_password_is_an_error_without_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEFOLD_SOURCE_PASSWORD", raising=False)
    done = run("demo", "--source", "mysql://reader@127.0.0.1:9")
    assert (done.code, "set ONEFOLD_SOURCE_PASSWORD" in done.err) == (1, True)


def test_every_problem_of_the_source_is_reported_before_anything_is_started(
    source: SourceDatabase, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
    source.run("SET GLOBAL binlog_format = MIXED", "SET GLOBAL binlog_row_image = MINIMAL")
    try:
        done = run("demo", "--source", url(source, source.name), "--once")
    finally:
        source.run("SET GLOBAL binlog_format = ROW", "SET GLOBAL binlog_row_image = FULL")
    assert (done.code, done.err.count("SET GLOBAL"), "Starting" in done.out) == (1, 2, False)


def own(source: SourceDatabase, *exclude: str) -> CapturedSource:
    return CapturedSource(source.server.reader, TableFilter((f"{source.name}.*",), exclude), 1)


def test_tables_that_are_too_large_are_left_out_with_a_reason(source: SourceDatabase) -> None:
    source.run(
        "CREATE TABLE small (a INT PRIMARY KEY)", "CREATE TABLE bad (a TEXT COMPRESSED)",
        "INSERT INTO small VALUES (1), (2)",
        "CREATE TABLE long_ (a INT PRIMARY KEY) SELECT seq AS a FROM seq_1_to_10001",
    )  # fmt: skip
    chosen = choose(own(source), [TableName(source.name, "bad")])
    small = TableName(source.name, "small")
    assert (list(chosen.tables), dict(chosen.rows)) == ([small], {small: 2})
    reasons = {name.table: reason for name, reason in chosen.left_out.items()}
    assert reasons == {"long_": "more than 10,000 rows"}
    left = without(own(source), chosen.left_out).patterns
    assert [left.match(source.name, table) for table in ("small", "long_", "bad", "new")] == [True, False, True, True]


def test_of_many_tables_the_first_are_taken(source: SourceDatabase) -> None:
    source.run(*(f"CREATE TABLE t{number:02} (a INT PRIMARY KEY)" for number in range(MAX_TABLES + 1)))
    assert [name.table for name in choose(own(source)).left_out] == [f"t{MAX_TABLES}"]


def test_without_a_table_there_is_nothing_to_show(source: SourceDatabase) -> None:
    source.run("CREATE TABLE long_ (a INT PRIMARY KEY) SELECT seq AS a FROM seq_1_to_10001")
    with pytest.raises(NotFound, match=r"there is no table.*\n.*long_: more than 10,000 rows"):
        choose(own(source))


def test_a_database_that_does_not_exist_is_answered_with_those_that_do(source: SourceDatabase) -> None:
    source.run("CREATE TABLE small (a INT PRIMARY KEY)")
    wrong = CapturedSource(source.server.reader, TableFilter((f"{source.name}x.*",)), 1)
    with pytest.raises(NotFound, match=rf"no database is named {source.name}x; the user sees (.*, )?{source.name}(,|\n|$)"):
        choose(wrong)


@pytest.mark.long
def test_tables_of_every_type_are_copied_and_compared_and_nothing_is_written(source: SourceDatabase, tmp_path: Path) -> None:
    source.run(
        ODD, ROWS, "CREATE TABLE keyless (a INT)", "INSERT INTO keyless VALUES (1), (1)",
        "CREATE TABLE empty_ (a INT PRIMARY KEY)", "CREATE TABLE odder (a INT PRIMARY KEY, place TEXT)",
        "INSERT INTO odder VALUES (1, 'a name that the embedded BigQuery mistakes')",
        "CREATE TABLE dated (a INT PRIMARY KEY, d DATE)",
        "SET sql_mode = ''", "INSERT INTO dated VALUES (1, '0000-00-00'), (2, '2024-02-29')",
        "CREATE TABLE large (a INT PRIMARY KEY, t LONGTEXT)", "INSERT INTO large VALUES (1, REPEAT('x', 500000)), (2, '')",
    )  # fmt: skip
    before = end_of_log(source.connection)
    command = [*COMMAND, "--source", url(source, source.name)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environ(ONEFOLD_SOURCE_PASSWORD="", COLUMNS="120", ONEFOLD_VIEW_NAME="{table}_all"),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    shown = words(done.stdout)
    for table in ("keyless", "odder"):
        assert f"Not compared: {source.name}.{table}: " in shown
    assert shown.count("Not compared: ") == 2
    assert "binlog_row_metadata FULL. It can be captured." in shown
    for table, rows in {"odd": 2, "dated": 2, "large": 2}.items():
        assert f"{source.name}.{table} {rows} {rows} the same {rows}" in shown
    assert "there is no key in demo/" in shown
    assert f"{source.name}.empty_ 0 0 the same 0" in shown
    assert "the embedded BigQuery cannot run the view" in shown
    assert "dated.d: date: 1 value that BigQuery cannot hold" in shown
    assert '{"severity"' not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert end_of_log(source.connection) == before


@pytest.mark.long
def test_tables_that_cannot_be_captured_stop_no_other_table(source: SourceDatabase, tmp_path: Path) -> None:
    source.run(
        "CREATE TABLE `a-b` (id INT PRIMARY KEY, n INT)", "INSERT INTO `a-b` VALUES (1, 1), (2, 2)",
        "CREATE TABLE wide (id INT PRIMARY KEY, d DECIMAL(50, 20))", "INSERT INTO wide VALUES (1, 1.5)",
        "CREATE TABLE `größe` (id INT PRIMARY KEY)", "INSERT INTO `größe` VALUES (1)",
        "CREATE TABLE pressed (id INT PRIMARY KEY, a TEXT COMPRESSED)", "INSERT INTO pressed VALUES (1, 'x')",
        "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)",
    )  # fmt: skip
    done = subprocess.run(
        [*COMMAND, "--source", url(source, source.name), "--once"],
        cwd=tmp_path, env=environ(ONEFOLD_SOURCE_PASSWORD="", COLUMNS="160"), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    shown = words(done.stdout)
    assert f"Not compared: {source.name}.pressed: it is in quarantine" in shown
    assert shown.count("Not compared: ") == 1
    for table, rows in {"a-b": 2, "größe": 1, "wide": 1, "t": 1}.items():
        assert f"{source.name}.{table} {rows} {rows} the same {rows}" in shown
    assert f"In quarantine: {source.name}.pressed.a is COMPRESSED, which cannot be read; run: ALTER TABLE" in shown


@contextmanager
def following(source: SourceDatabase, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[str], str]]]:
    """Run the demo with a pseudo-terminal. Yields the process, and a function that waits for a text and returns the rest."""
    screen, writes = os.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--source", url(source), "--include", source.name],
        cwd=folder, env=environ(ONEFOLD_SOURCE_PASSWORD="", COLUMNS="120"), stdin=subprocess.DEVNULL, stdout=writes,
        stderr=writes, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    os.close(writes)
    shown = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):  # reading a pseudo-terminal fails when its writer has ended
            while data := os.read(screen, 65536):
                shown.extend(data)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def shows(text: str) -> str:
        def so_far() -> str:
            return words(shown.decode(errors="replace"))

        until(lambda: text in so_far() or not reader.is_alive(), SECONDS)
        assert text in so_far(), f"{text!r} is not in {so_far()}"
        return so_far().partition(text)[2]

    try:
        yield process, shows
    finally:
        for pid in [process.pid, *children(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        reader.join()
        os.close(screen)


@pytest.mark.long
def test_changes_are_followed_and_compared_until_ctrl_c(
    source: SourceDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    with following(source, tmp_path) as (process, shows):
        shows("Change something in your database now")
        shows("ONEFOLD_PROJECT=local")
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", shows("export BIGQUERY_EMULATOR_HOST=").split()[0])
        source.run("INSERT INTO t VALUES (3, 'c')", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (4, 'd')")
        shows(f"{source.name}.t 3 3 the same 5")
        source.run("ALTER TABLE t ADD COLUMN price DECIMAL(10,2) NOT NULL DEFAULT 1.5")
        shows(f"{source.name}.t is to be copied again: ALTER TABLE")
        shows("added price NUMERIC")
        shows(f"{source.name}.t 3 3 the same 8")
        source.run("TRUNCATE t", "CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1), (2)")
        shows(f"table truncated at the source: {source.name}.t")
        shows(f"{source.name}.u 2 2 the same 2")
        (landed,) = [one for one in emulator_client(None).list_tables("demo") if one.table_id.startswith("u_v_")]
        emulator_client(None).query(f"DELETE FROM demo.{landed.table_id} WHERE id = 1").result()
        source.run("INSERT INTO u VALUES (3)")
        shows(f"{source.name}.u 3 2 1 difference 2")
        started = children(process.pid)
        process.send_signal(signal.SIGINT)
        shows("Done: nothing was written to your database")
        assert (process.wait(SECONDS), len(started) >= 3) == (2, True)
        assert until(lambda: not any(is_there(pid) for pid in started))


def test_a_checkpoint_is_beyond_a_position_by_the_log_and_not_by_the_epoch() -> None:
    """Epochs of real captures are seconds since 1970, far above the epoch of a position of the server."""
    store = InMemoryCheckpoint()
    end = LogPosition(1, "bin.000002", 500)
    assert not store.is_beyond(end)
    for file, offset, beyond in (("bin.000001", 900, False), ("bin.000002", 499, False), ("bin.000002", 500, True)):
        store.save(Checkpoint("demo", "shop", 1_700_000_000, Progress(LogPosition(1_700_000_000, file, offset))))
        assert store.is_beyond(end) is beyond
