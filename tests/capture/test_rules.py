"""Rules of columns in a running capture: they hold for copies and the log, and a change of them copies the tables again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.capture import Bench, begin, bench_of, eventually, latest
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

from onefold.capture.preflight import preflight
from onefold.core.errors import InvalidInput
from onefold.core.hash_key import HashKey
from onefold.landing.row_writer import LandingRules
from onefold.settings.captures import ColumnRules

pytestmark = on(MariaDb, long=MySql)

KEY = HashKey(b"thirty-two bytes of a secret key")
CREATE = "CREATE TABLE t (id INT PRIMARY KEY, mail VARCHAR(60), born DATE, pin INT)"
RULES = LandingRules((ColumnRules("t", drop=("pin",), mask=("born",), hash=("mail",)),), KEY)
ADA, GRACE = "(1, 'ada@example.com', '1815-12-10', 4711)", "(2, 'grace@example.com', '1906-12-09', 4712)"
SECRETS = (b"ada@example.com", b"grace@example.com", b"1815-12-10", b"1906-12-09", b"4711", b"4712")


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


def landed(id_: int, mail: str, key: HashKey = KEY) -> dict[str, Any]:
    return {"id": id_, "mail": key.hash(mail.encode()), "born": None}


def versions(records: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(record["metadata"]["table_version"] for record in records))


def output(bench: Bench) -> bytes:
    """All that capture has written: messages, and the files of checkpoint and large rows."""
    files = [path.read_bytes() for path in bench.folder.rglob("*") if path.is_file()]
    return b"\n".join([*files, *(message.data for topic in bench.publisher.topics.values() for message in topic)])


def test_copies_the_log_and_deletions_never_show_a_value(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    source.run(CREATE, f"INSERT INTO t VALUES {ADA}")
    bench.once(snapshot=True, rules=RULES)
    source.run(f"INSERT INTO t VALUES {GRACE}", "UPDATE t SET pin = 4712 WHERE id = 1", "DELETE FROM t WHERE id = 2")
    records = bench.once(rules=RULES)
    assert [(one["metadata"]["change_type"], one["data"]) for one in records] == [
        ("INSERT", landed(1, "ada@example.com")),
        ("INSERT", landed(2, "grace@example.com")),
        ("UPDATE-INSERT", landed(1, "ada@example.com")),
        ("DELETE", landed(2, "grace@example.com")),
    ]
    written = output(bench) + capsys.readouterr().out.encode()
    parts = [KEY.secret, KEY.secret.hex().encode(), *(pad.encode() for pad in KEY.pads)]
    assert not [part for part in (*SECRETS, *parts) if part in written]


def test_rows_too_large_for_a_message_never_show_a_value(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(f"{CREATE[:-1]}, note TEXT)", "INSERT INTO t VALUES (1, 'ada@example.com', NULL, 4711, REPEAT('x', 5000))")
    bench.capture(limit=2_000, start=start, once=True, rules=RULES).run()
    assert len(list((bench.folder / "large").rglob("*.json"))) == 1
    assert not [part for part in SECRETS if part in output(bench)]


def test_changed_rules_give_a_new_version_and_copy_the_tables_that_they_concern(
    bench: Bench, source: SourceDatabase
) -> None:
    start = begin(source)
    source.run(CREATE, f"INSERT INTO t VALUES {ADA}", "CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    clear = bench.once(start=start)
    ruled = bench.once(rules=RULES)[len(clear) :]
    assert [(one["metadata"]["ingestion_method"], one["data"]) for one in ruled] == [
        ("SNAPSHOT", landed(1, "ada@example.com"))
    ]
    assert len(versions([*clear[:1], *ruled])) == 2
    assert latest([*clear, *ruled])[(source.name, "t", 1)] == landed(1, "ada@example.com")
    assert bench.once(rules=RULES) == [*clear, *ruled], "the same rules copy nothing"
    back = bench.once(accept_fewer_rules=True)[len(clear) + len(ruled) :]
    assert [one["data"]["pin"] for one in back] == [4711]
    assert versions(back) == versions(clear[:1])


def test_another_key_copies_hashed_tables(bench: Bench, source: SourceDatabase) -> None:
    other = HashKey(b"another secret key of 32 bytes..")
    source.run(CREATE, f"INSERT INTO t VALUES {ADA}", "CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    before = bench.once(snapshot=True, rules=RULES)
    again = bench.once(rules=LandingRules(RULES.rules, other))[len(before) :]
    assert [one["data"] for one in again] == [landed(1, "ada@example.com", other)]


def test_copy_ranks_above_rows_that_a_killed_process_published_under_former_rules(
    bench: Bench, source: SourceDatabase
) -> None:
    """Its messages had left after the last checkpoint: the log is read from there again, and ranks as before."""
    source.run(CREATE)
    bench.once(snapshot=True)
    checkpoint = bench.folder / "checkpoint" / "checkpoint.json"
    saved = checkpoint.read_bytes()
    source.run(f"INSERT INTO t VALUES {ADA}")
    bench.once()
    checkpoint.write_bytes(saved)
    assert latest(bench.once(rules=RULES)) == {(source.name, "t", 1): landed(1, "ada@example.com")}
    copied = [one for one in bench.publisher.records() if one["metadata"]["ingestion_method"] == "SNAPSHOT"]
    newest = max(copied, key=lambda one: str(one["metadata"]["change_sequence_number"]))
    logged = [one for one in bench.publisher.records() if one["metadata"]["ingestion_method"] == "BINLOG"]
    assert all(one["metadata"]["change_sequence_number"] < newest["metadata"]["change_sequence_number"] for one in logged)


def test_new_rules_that_cannot_be_applied_end_the_start_before_anything_is_written(
    bench: Bench, source: SourceDatabase
) -> None:
    source.run(CREATE, "CREATE TABLE u (id INT PRIMARY KEY, x INT)")
    rules = LandingRules((ColumnRules("*", drop=("ID",)),))
    with pytest.raises(InvalidInput) as refused:
        bench.once(snapshot=True, rules=rules)
    assert [f"{source.name}.{name}: `drop` names id" in str(refused.value) for name in ("t", "u")] == [True, True]
    assert (bench.publisher.topics, bench.warehouse.tables) == ({}, {})
    report = preflight(*_checked(bench, rules))
    assert [(one.table.table, one.kind) for one in report.quarantine] == [("t", "structure"), ("u", "structure")]


def _checked(bench: Bench, rules: LandingRules) -> Any:
    process = bench.capture(rules=rules)
    return process.source, (), process.store, process.warehouse, process.options


def test_table_whose_key_a_known_rule_names_later_goes_into_quarantine_alone(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "CREATE TABLE u (id INT PRIMARY KEY, pin INT NOT NULL)")
    rules = LandingRules((ColumnRules("*", drop=("pin",), hash=("mail",)),), KEY)
    bench.once(snapshot=True, rules=rules)
    source.run("ALTER TABLE u DROP PRIMARY KEY, ADD PRIMARY KEY (id, pin)", "INSERT INTO u VALUES (1, 4711)")
    source.run(f"INSERT INTO t VALUES {ADA}")
    records = bench.once(rules=rules)
    assert [one["metadata"]["table_name"] for one in records] == ["t"]
    (entry,) = bench.checkpoint()["quarantine"]
    assert (entry["table"], entry["kind"], "names pin, a column of the key" in entry["reason"]) == ("u", "structure", True)
    assert b"4711" not in output(bench).replace(ADA.encode(), b"")
    before = len(bench.once(rules=LandingRules(rules.rules, HashKey(b"another secret key of 32 bytes.."))))
    fewer = LandingRules((ColumnRules("t", drop=("pin",)),))
    again = bench.once(rules=fewer, accept_fewer_rules=True)[before:]
    assert {"id": 1, "pin": 4711} in [one["data"] for one in again], "out of quarantine, with a copy"


def test_changes_that_stream_meanwhile_land_under_the_rules(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE)
    with bench.running(snapshot=True, rules=RULES):
        eventually(lambda: bench.warehouse.tables)
        source.run(f"INSERT INTO t VALUES {ADA}, {GRACE}", "UPDATE t SET id = 3 WHERE id = 1")
        eventually(lambda: len(latest(bench.publisher.records())) == 2 and bench.publisher.count() >= 4)
    assert [latest(bench.publisher.records())[(source.name, "t", id_)] for id_ in (2, 3)] == [
        landed(2, "grace@example.com"),
        landed(3, "ada@example.com"),
    ]
    assert not [part for part in SECRETS if part in output(bench)]


def test_new_checkpoint_copies_nothing_for_its_rules_and_misspelled_columns_are_logged(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    source.run(CREATE, f"INSERT INTO t VALUES {ADA}")
    rules = LandingRules((ColumnRules("t", drop=("pins", "pin")),))
    assert bench.once(start=begin(source), rules=rules) == []
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (line,) = [one for one in lines if one.get("event") == "rules_unused"]
    assert (line["severity"], line["columns"]) == ("WARNING", ["t.pins"])


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE`t`SET`mail`='grace@example.com'WHERE`id`=1", "UPDATE"),
        ("REPLACE`t`VALUES(1,'grace@example.com','1906-12-09',4712)", "REPLACE"),
        ("DELETE/*grace@example.com*/FROM t", "DELETE FROM"),
        ("ALTER TABLE t COMMENT 'grace@example.com'", None),
    ],
)
def test_no_value_of_a_statement_is_in_the_log(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str], statement: str, reason: str | None
) -> None:
    """A session may log its changes as statements, whose text capture reads."""
    source.run(CREATE, f"INSERT INTO t VALUES {ADA}")
    bench.once(snapshot=True, rules=RULES)
    capsys.readouterr()
    source.run("SET SESSION binlog_format = 'STATEMENT'", statement, "SET SESSION binlog_format = 'ROW'")
    bench.once(rules=RULES)
    shown = capsys.readouterr().out
    reasons = [line["reason"] for line in map(json.loads, shown.splitlines()) if line["event"] == "copy_wanted"]
    assert reasons == ([reason] if reason else [])
    assert "example.com" not in shown.lower()
    assert [secret for secret in SECRETS if secret in output(bench)] == []
