"""Rollbacks: rows that were rolled back are never published, with savepoints and without.

The tables of the source are the oracle, after each transaction.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from support.capture import Bench
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on
from support.transactions import (
    FUNCTION,
    HANDLER,
    LOGGED,
    ROLLED_BACK,
    TABLES,
    capture_once,
    folded_rows,
    is_copied,
    logged_statements,
    rows_of_last_copies,
    run_statements,
    source_rows,
)

from onefold.capture.checkpoint import Progress
from onefold.mysql.binlog import transactions


@on(MariaDb, MySql)
@pytest.mark.parametrize("max_bytes", [8_000_000, 60], ids=["buffered", "read twice"])
@pytest.mark.parametrize("case", ROLLED_BACK)
def test_rows_that_were_rolled_back_are_not_published(
    bench: Bench, source: SourceDatabase, case: str, max_bytes: int
) -> None:
    source.run(TABLES[3])
    bench.once(start=Progress(source.start))
    run_statements(source, ROLLED_BACK[case])
    if source.on_mariadb:
        assert any(event.text.startswith("ROLLBACK TO") for event in logged_statements(source)) == ("savepoint" in case)
    records = capture_once(bench, max_bytes)
    assert folded_rows(records) == source_rows(source)
    assert not is_copied(records)
    assert len(records) == len({record["metadata"]["change_sequence_number"] for record in records})


@on(MariaDb, MySql)
@pytest.mark.parametrize("max_bytes", [8_000_000, 500], ids=["buffered", "read twice"])
def test_random_transactions_give_the_tables_of_the_source(bench: Bench, source: SourceDatabase, max_bytes: int) -> None:
    """Transactions write to all engines with savepoints, rollbacks, failing statements and procedures."""
    source.run(TABLES[3], HANDLER, "SET GLOBAL log_bin_trust_function_creators = 1", FUNCTION)
    random_ = random.Random(max_bytes)
    capture_once(bench, max_bytes, start=Progress(source.start))
    for number in range(25):
        done = list(random_statements(random_, source.on_mariadb))
        run_statements(source, done)
        records = capture_once(bench, max_bytes)
        assert rows_of_last_copies(records, bench) == source_rows(source), (number, done)


@pytest.mark.parametrize("function", [False, True], ids=["again", "in a function"])
def test_if_two_savepoints_have_one_name_the_table_is_copied(bench: Bench, source: SourceDatabase, function: bool) -> None:
    """The log is the same in both cases, and the tables of the source differ."""
    source.run(TABLES[3], "SET GLOBAL log_bin_trust_function_creators = 1", FUNCTION)
    bench.once(start=Progress(source.start))
    inner = ("SELECT f(4)",) if function else ("INSERT INTO t VALUES (4, 0)", "SAVEPOINT b", "INSERT INTO u VALUES (4, 0)")
    run_statements(
        source, ("BEGIN", "INSERT INTO t VALUES (3, 3)", "SAVEPOINT B", *inner, LOGGED, "ROLLBACK TO b", "COMMIT")
    )
    assert [event.text.split()[0] for event in logged_statements(source)][-3:] == ["SAVEPOINT", "SAVEPOINT", "ROLLBACK"]
    records = bench.once()
    assert is_copied(records)
    assert rows_of_last_copies(records, bench) == source_rows(source)
    assert ((4, 0) in source_rows(source)["t"]) != function


def random_statements(random_: random.Random, mixed: bool) -> Iterator[str]:
    """Yield the statements of a transaction.

    Args:
        mixed: a transaction may write tables of both engines, which MySQL with GTIDs forbids.
    """
    engines = ("t", "u", "m") if mixed else ("t", "u")
    yield "BEGIN"
    for _ in range(random_.randint(2, 12)):
        table, key, name = random_.choice(engines), random_.randint(1, 9), random_.choice("abcdABCD")
        yield random_.choice([
            f"INSERT INTO {table} VALUES ({key}, {key})", f"UPDATE {table} SET n = n + 1 WHERE id < {key}",
            f"DELETE FROM {table} WHERE id = {key}", f"REPLACE INTO {table} VALUES ({key}, 0)",
            f"INSERT INTO {table} VALUES ({key}, 1), ({key + 9}, 2), ({key}, 3)", f"SAVEPOINT {name}", f"SAVEPOINT {name}",
            f"ROLLBACK TO {name}", f"ROLLBACK TO {name}", f"RELEASE SAVEPOINT {name}",
            f"CREATE TEMPORARY TABLE x{key} (a INT)", f"DROP TEMPORARY TABLE x{key}", f"SELECT f({key})",
            "CALL p()" if random_.random() < 0.2 else "SELECT 1",
        ])  # fmt: skip
    yield random_.choice(["COMMIT", "COMMIT", "ROLLBACK", "KILL"])


def test_the_tables_of_an_ambiguous_transaction_are_copied(
    bench: Bench, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.run(TABLES[3])
    bench.once(start=Progress(source.start))
    monkeypatch.setattr(transactions, "_MAX_SAVEPOINTS", 1)
    run_statements(source, ROLLED_BACK["savepoints within each other"])
    records = bench.once()
    assert folded_rows(records) == source_rows(source)
    assert is_copied(records)
