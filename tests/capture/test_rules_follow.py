"""Rules of columns follow columns and tables that the source renames, and nothing lands that may have lost its rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.capture import Bench, bench_of, eventually, latest
from support.database_servers import MariaDb, MySql
from support.quarantine_scene import alter_silently
from support.source_database import SourceDatabase, on

from onefold.capture.landing import LandingRules
from onefold.capture.preflight import preflight
from onefold.core.errors import InvalidInput
from onefold.core.hash_key import HashKey
from onefold.mysql.table_filter import TableFilter
from onefold.settings.captures import ColumnRules

pytestmark = on(MariaDb, MySql)

KEY = HashKey(b"thirty-two bytes of a secret key")
CREATE = "CREATE TABLE cust (id INT PRIMARY KEY, card VARCHAR(30), name VARCHAR(30))"
RULES = LandingRules((ColumnRules("cust", drop=("pin",), hash=("card",)),), KEY)
CARDS = ("4711-0001", "4711-0002", "4711-0003")
FIRST, SECOND, THIRD = (f"({number}, '{card}', 'Ada')" for number, card in enumerate(CARDS, 1))
HASHES = [KEY.hash(card.encode()) for card in CARDS]


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    source.run(CREATE, f"INSERT INTO cust VALUES {FIRST}")
    bench = bench_of(source, tmp_path)
    bench.once(snapshot=True, rules=RULES)
    return bench


def written(bench: Bench) -> str:
    """All that capture has written: messages, and the files of checkpoint and large rows."""
    files = [path.read_text() for path in bench.folder.rglob("*") if path.is_file()]
    return "\n".join([*files, *(message.data.decode() for topic in bench.publisher.topics.values() for message in topic)])


def check_no_card(bench: Bench) -> None:
    assert [card for card in CARDS if card in written(bench)] == []


def rows(bench: Bench, table: str = "cust") -> dict[Any, dict[str, Any]]:
    return {key[2]: row for key, row in latest(bench.publisher.records()).items() if key[1] == table}


def cards(bench: Bench) -> list[Any]:
    return [row.get("credit") for _, row in sorted(rows(bench).items())]


def quarantine(bench: Bench) -> list[tuple[str, str]]:
    return [(one["table"], one["reason"]) for one in bench.checkpoint()["quarantine"] if not one["until"]]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE cust CHANGE card credit VARCHAR(30)",
        "ALTER TABLE cust RENAME COLUMN card TO credit",
        "ALTER TABLE cust ADD extra INT NOT NULL DEFAULT 3, CHANGE COLUMN card credit VARCHAR(40), DROP name",
    ],
)
def test_rule_follows_a_column_that_a_statement_renames(
    bench: Bench, source: SourceDatabase, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    source.run(statement, "INSERT INTO cust (id, credit) VALUES (2, '4711-0002')")
    bench.once(rules=RULES)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (line,) = [one for one in lines if one["event"] == "rule_followed"]
    assert (line["severity"], line["table"], line["hash"]) == ("WARNING", "cust", ["credit"])
    source.run("INSERT INTO cust (id, credit) VALUES (3, '4711-0003')", "UPDATE cust SET credit = '4711-0002' WHERE id = 1")
    bench.once(rules=RULES)
    assert cards(bench) == [HASHES[1], HASHES[1], HASHES[2]]
    check_no_card(bench)


def test_rule_follows_a_chain_of_names_and_a_table_that_is_renamed_twice(bench: Bench, source: SourceDatabase) -> None:
    source.run(
        "ALTER TABLE cust CHANGE card credit VARCHAR(30), RENAME TO kunden", "ALTER TABLE kunden ADD pin INT",
        "RENAME TABLE kunden TO clients", "ALTER TABLE clients RENAME COLUMN credit TO token",
        "INSERT INTO clients VALUES (2, '4711-0002', 'Grace', 4711)",
    )  # fmt: skip
    bench.once(rules=RULES)
    source.run("INSERT INTO clients VALUES (3, '4711-0003', 'Edsger', 4711)")
    bench.once(rules=RULES)
    assert rows(bench, "clients") == {
        number: {"id": number, "token": hashed, "name": name}
        for number, hashed, name in zip((1, 2, 3), HASHES, ("Ada", "Grace", "Edsger"), strict=True)
    }
    check_no_card(bench)


def test_rule_follows_while_changes_stream_and_the_copy_of_the_rename_runs(bench: Bench, source: SourceDatabase) -> None:
    with bench.running(rules=RULES):
        source.run(f"INSERT INTO cust VALUES {SECOND}")
        eventually(lambda: len(rows(bench)) == 2)
        source.run("ALTER TABLE cust CHANGE card credit VARCHAR(30)", f"INSERT INTO cust VALUES {THIRD}")
        eventually(lambda: cards(bench) == HASHES)
    check_no_card(bench)


def test_a_process_that_is_killed_between_both_names_reads_the_log_again_under_the_rules(
    bench: Bench, source: SourceDatabase
) -> None:
    checkpoint = bench.folder / "checkpoint" / "checkpoint.json"
    saved = checkpoint.read_bytes()
    source.run(f"INSERT INTO cust VALUES {SECOND}", "ALTER TABLE cust CHANGE card credit VARCHAR(30)")
    bench.once(rules=RULES)
    checkpoint.write_bytes(saved)
    source.run(f"INSERT INTO cust VALUES {THIRD}")
    bench.once(rules=RULES)
    assert cards(bench) == HASHES
    check_no_card(bench)


def test_a_copy_that_a_start_asks_for_waits_for_the_renames_before_it(bench: Bench, source: SourceDatabase) -> None:
    source.run("ALTER TABLE cust CHANGE card credit VARCHAR(30)", "RENAME TABLE cust TO kunden")
    bench.once(rules=RULES, again=TableFilter(("*",)))
    source.run("RENAME TABLE kunden TO clients", f"INSERT INTO clients VALUES {SECOND}")
    with bench.running(rules=RULES, again=TableFilter(("*",))):
        eventually(lambda: len(rows(bench, "clients")) == 2)
    assert [row["credit"] for _, row in sorted(rows(bench, "clients").items())] == HASHES[:2]
    check_no_card(bench)


def test_column_that_a_statement_drops_needs_nothing(bench: Bench, source: SourceDatabase) -> None:
    source.run(
        "ALTER TABLE cust DROP card", "ALTER TABLE cust ADD nick VARCHAR(30)", "INSERT INTO cust VALUES (2, 'b', 'c')"
    )
    bench.once(rules=RULES)
    assert quarantine(bench) == []
    assert rows(bench)[2] == {"id": 2, "name": "b", "nick": "c"}


def test_structure_that_lost_a_ruled_column_without_a_statement_and_gained_another_is_quarantined(
    bench: Bench, source: SourceDatabase
) -> None:
    alter_silently(source, "ALTER TABLE cust CHANGE card credit VARCHAR(30)")
    source.run(f"INSERT INTO cust VALUES {SECOND}")
    bench.once(rules=RULES)
    ((table, reason),) = quarantine(bench)
    assert (table, "card, which `captures` names, is gone" in reason, "credit is new" in reason) == ("cust", True, True)
    bench.once(rules=RULES, again=TableFilter(("*",)))
    report = preflight(*checked(bench, RULES))
    assert [(one.table.table, one.kind) for one in report.quarantine] == [("cust", "structure")]
    check_no_card(bench)
    named = LandingRules((ColumnRules("cust", hash=("card", "credit"), drop=("pin",)),), KEY)
    bench.once(rules=named)
    assert cards(bench) == HASHES[:2]
    check_no_card(bench)


def test_a_person_may_accept_that_a_new_column_lands_clear(bench: Bench, source: SourceDatabase) -> None:
    alter_silently(source, "ALTER TABLE cust DROP card, ADD nick VARCHAR(30)")
    source.run("INSERT INTO cust VALUES (2, 'b', 'c')")
    bench.once(rules=RULES)
    assert [table for table, _ in quarantine(bench)] == ["cust"]
    bench.once(rules=RULES, accept_fewer_rules=True)
    assert (quarantine(bench), rows(bench)[2]) == ([], {"id": 2, "name": "b", "nick": "c"})
    source.run("INSERT INTO cust VALUES (3, 'd', 'e')")
    bench.once(rules=RULES)
    assert rows(bench)[3] == {"id": 3, "name": "d", "nick": "e"}


def checked(bench: Bench, rules: LandingRules, **options: Any) -> Any:
    process = bench.capture(rules=rules, **options)
    return process.source, (), process.store, process.warehouse, process.options


# Online schema changes.

GHOSTS = {"gh-ost": ("_cust_gho", "_cust_del"), "pt-online-schema-change": ("_cust_new", "_cust_old")}


def change_online(source: SourceDatabase, tool: str) -> None:
    """Rename a column as a tool does: in a table beside the first one, which takes its place at the end."""
    new, old = GHOSTS[tool]
    source.run(
        f"CREATE TABLE {new} LIKE cust", f"ALTER TABLE {new} CHANGE card credit VARCHAR(30)",
        f"INSERT INTO {new} SELECT * FROM cust", f"RENAME TABLE cust TO {old}, {new} TO cust", f"DROP TABLE {old}",
    )  # fmt: skip


@pytest.mark.parametrize("tool", list(GHOSTS))
def test_rule_follows_an_online_schema_change_whose_tables_are_left_out(
    bench: Bench, source: SourceDatabase, tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change_online(source, tool)
    source.run(f"INSERT INTO cust VALUES {SECOND}")
    capsys.readouterr()
    bench.once(rules=RULES)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["table"] for one in lines if one["event"] == "ghost_left_out"] == [GHOSTS[tool][0]]
    assert {record["metadata"]["table_name"] for record in bench.publisher.records()} == {"cust"}
    assert quarantine(bench) == []
    assert cards(bench) == HASHES[:2]
    check_no_card(bench)


def test_ghost_tables_that_a_pattern_names_land_under_the_rules_of_their_tables(
    bench: Bench, source: SourceDatabase
) -> None:
    bench.patterns = TableFilter((f"{source.name}.*", f"{source.name}._*"))
    source.run(
        "CREATE TABLE _cust_gho LIKE cust", f"INSERT INTO _cust_gho VALUES {FIRST}",
        "ALTER TABLE _cust_gho RENAME COLUMN card TO credit", f"INSERT INTO _cust_gho VALUES {SECOND}",
        "RENAME TABLE cust TO _cust_del, _cust_gho TO cust", f"INSERT INTO cust VALUES {THIRD}",
        f"UPDATE _cust_del SET card = '{CARDS[2]}'",
    )  # fmt: skip
    bench.once(rules=RULES)
    assert cards(bench) == HASHES
    assert rows(bench, "_cust_del")[1]["card"] == HASHES[2]
    assert {record["metadata"]["table_name"] for record in bench.publisher.records()} == {"cust", "_cust_gho", "_cust_del"}
    check_no_card(bench)


def test_a_table_that_is_swapped_in_under_other_columns_is_quarantined(bench: Bench, source: SourceDatabase) -> None:
    source.run(
        "CREATE TABLE fresh (id INT PRIMARY KEY, credit VARCHAR(30))", "INSERT INTO fresh SELECT id, 'hidden' FROM cust",
        "RENAME TABLE cust TO gone, fresh TO cust", f"INSERT INTO cust VALUES (2, '{CARDS[1]}')",
        f"UPDATE gone SET card = '{CARDS[2]}'",
    )  # fmt: skip
    bench.once(rules=RULES)
    assert [table for table, _ in quarantine(bench)] == ["cust"]
    assert rows(bench, "gone")[1]["card"] == HASHES[2]
    check_no_card(bench)


def test_a_dropped_table_whose_name_another_table_gets_needs_nothing(bench: Bench, source: SourceDatabase) -> None:
    source.run("RENAME TABLE cust TO kunden", "DROP TABLE kunden")
    bench.once(rules=RULES)
    assert "followed" not in bench.checkpoint()["rules"]
    source.run("CREATE TABLE kunden (id INT PRIMARY KEY, card INT, pin INT)", "INSERT INTO kunden VALUES (1, 2, 3)")
    bench.once(rules=RULES)
    assert rows(bench, "kunden") == {1: {"id": 1, "card": 2, "pin": 3}}


# Fewer rules.


@pytest.mark.parametrize(
    ("rules", "lost"),
    [
        (LandingRules(), "drop cust.pin, hash cust.card"),
        (LandingRules((ColumnRules("cust", drop=("pin",)),)), "hash cust.card"),
        (LandingRules((ColumnRules("*", hash=("*",)),), KEY), "drop cust.pin"),
    ],
    ids=["no rules", "one rule gone", "a weaker rule"],
)
def test_a_start_with_fewer_rules_ends_until_an_option_accepts_it(
    bench: Bench, source: SourceDatabase, rules: LandingRules, lost: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source.run("INSERT INTO cust VALUES (2, 'clear', 'Grace')")
    before = bench.checkpoint()
    with pytest.raises(InvalidInput, match=f"onefold.yaml lacks {lost}: put them back, or .* --accept-fewer-rules"):
        bench.once(rules=rules)
    assert bench.checkpoint() == before
    (start,) = [one for one in preflight(*checked(bench, rules)).findings if one.name == "start"]
    assert lost in start.problems[0]
    assert preflight(*checked(bench, rules, accept_fewer_rules=True)).in_order
    capsys.readouterr()
    bench.once(rules=rules, accept_fewer_rules=True)
    assert lost in capsys.readouterr().out
    bench.once(rules=rules)


def test_rules_that_cover_the_former_ones_are_no_loss(bench: Bench) -> None:
    wider = (ColumnRules("*.c*t", drop=("p*", "unused")), ColumnRules("cust", mask=("*card",)))
    bench.once(rules=LandingRules(wider))
    assert [row["card"] for row in rows(bench).values()] == [None]
