"""Rules of columns follow tables that the source renames, swaps, drops and makes again, and that tools rebuild."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.capture import Bench, bench_of
from support.database_servers import MariaDb, MySql
from support.followed_rules import (
    CARDS,
    CREATE,
    FIRST,
    HASHES,
    KEY,
    RULES,
    SECOND,
    THIRD,
    cards,
    check_no_card,
    quarantine,
    rows,
)
from support.source_database import SourceDatabase, on

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


def test_two_tables_that_swap_names_are_told_apart_from_a_column_that_is_gone(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    source.run("CREATE TABLE notes (id INT PRIMARY KEY, text VARCHAR(30))", "INSERT INTO notes VALUES (1, 'a')")
    bench.once(rules=RULES)
    capsys.readouterr()
    source.run("RENAME TABLE cust TO t, notes TO cust, t TO notes", "INSERT INTO cust VALUES (2, 'b')")
    bench.once(rules=RULES)
    ((table, reason),) = quarantine(bench)
    assert (table, reason.removeprefix(f"{source.name}.cust: ")) == (
        "cust",
        "it has text, and no longer card, which `captures` names. No statement of the log renamed or dropped that column of "
        "this table; another table may have taken its name. text may hold the same values",
    )
    remedy = bench.checkpoint()["quarantine"][0]["remedy"]
    assert "rules that followed renames (rule_followed in the log), so name their columns first" in remedy
    named = LandingRules((*RULES.rules, ColumnRules("notes", hash=("card",))), KEY)
    bench.once(rules=named, accept_fewer_rules=True)
    source.run(f"UPDATE notes SET card = '{CARDS[2]}'")
    bench.once(rules=named)
    assert quarantine(bench) == []
    assert rows(bench) == {1: {"id": 1, "text": "a"}, 2: {"id": 2, "text": "b"}}
    assert rows(bench, "notes")[1]["card"] == HASHES[2]
    check_no_card(bench)


def test_a_dropped_table_whose_name_another_table_gets_needs_nothing(bench: Bench, source: SourceDatabase) -> None:
    source.run("RENAME TABLE cust TO kunden", "DROP TABLE kunden")
    bench.once(rules=RULES)
    assert "followed" not in bench.checkpoint()["rules"]
    source.run("CREATE TABLE kunden (id INT PRIMARY KEY, card INT, pin INT)", "INSERT INTO kunden VALUES (1, 2, 3)")
    bench.once(rules=RULES)
    assert rows(bench, "kunden") == {1: {"id": 1, "card": 2, "pin": 3}}


def test_rule_follows_a_column_of_a_table_that_was_dropped_and_made_again(bench: Bench, source: SourceDatabase) -> None:
    source.run(
        "DROP TABLE cust", CREATE, f"INSERT INTO cust VALUES {FIRST}", "ALTER TABLE cust CHANGE card credit VARCHAR(30)"
    )
    for row in (SECOND, THIRD):
        bench.once(rules=RULES)
        source.run(f"INSERT INTO cust VALUES {row}")
    bench.once(rules=RULES)
    assert cards(bench) == HASHES
    check_no_card(bench)


@pytest.mark.parametrize("create", ["LIKE cust", "(id INT PRIMARY KEY, card VARCHAR(30), name VARCHAR(30), extra INT)"])
def test_a_name_of_a_second_online_schema_change_has_no_columns_of_the_first_one(
    bench: Bench, source: SourceDatabase, create: str
) -> None:
    first = "(id INT PRIMARY KEY, card VARCHAR(30), name VARCHAR(30))"
    for columns, change in (
        (first, "CHANGE card credit VARCHAR(30)"),
        (create, "ADD born INT, CHANGE card kard VARCHAR(30)"),
    ):
        source.run(
            f"CREATE TABLE _cust_gho {columns}", f"ALTER TABLE _cust_gho {change}",
            "RENAME TABLE cust TO _cust_del, _cust_gho TO cust", "DROP TABLE _cust_del",
        )  # fmt: skip
        bench.once(rules=RULES)
        name = "credit" if columns == first else "kard"
        source.run(f"ALTER TABLE cust CHANGE {name} card VARCHAR(30)")
        bench.once(rules=RULES)
    source.run("ALTER TABLE cust ADD more INT", f"INSERT INTO cust (id, card) VALUES (2, '{CARDS[1]}')")
    bench.once(rules=RULES)
    assert quarantine(bench) == []
    assert rows(bench)[2]["card"] == HASHES[1]
    check_no_card(bench)
