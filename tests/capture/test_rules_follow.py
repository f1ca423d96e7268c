"""Rules of columns follow columns that the source renames, and nothing lands that may have lost its rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.capture import Bench, bench_of, eventually
from support.database_servers import MariaDb, MySql
from support.followed_rules import (
    CREATE,
    FIRST,
    HASHES,
    KEY,
    RULES,
    SECOND,
    THIRD,
    cards,
    check_no_card,
    checked,
    quarantine,
    rows,
)
from support.quarantine_scene import alter_silently
from support.source_database import SourceDatabase, on

from onefold.capture.preflight import preflight
from onefold.core.errors import InvalidInput
from onefold.landing.row_writer import LandingRules
from onefold.mysql.table_filter import TableFilter
from onefold.settings.captures import ColumnRules

pytestmark = on(MariaDb, long=MySql)


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    source.run(CREATE, f"INSERT INTO cust VALUES {FIRST}")
    bench = bench_of(source, tmp_path)
    bench.once(snapshot=True, rules=RULES)
    return bench


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
    assert (table, "no longer card, which `captures` names" in reason, "credit may hold" in reason) == ("cust", True, True)
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
