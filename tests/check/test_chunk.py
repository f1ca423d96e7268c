"""The chunks of a table cover every key once, whatever the keys are; and a table that is checked is named right."""

from __future__ import annotations

import pytest
from support.database_servers import MariaDb, MySql
from support.pulls import START, by
from support.source_database import SourceDatabase, numbers, on

from onefold.check.chunk import GRID, next_chunk
from onefold.check.request import CheckedTable, CheckRequest
from onefold.core.names import TableId
from onefold.mysql.catalog import TableName, structure_of
from onefold.pull.read.key_ranges import range_condition
from onefold.pull.read.plan import KeyRange, LoadState
from onefold.pull.read.pulled_table import pulled_table
from onefold.schema.column_policy import Action, PolicyRule, TablePolicies
from onefold.schema.columns import Schema

pytestmark = on(MariaDb, MySql)
BASE = TableId("p", "d", "t")
CLEAR = TablePolicies((PolicyRule("*", "*", Action.CLEAR),))


def checked(source: SourceDatabase, rows: int, policies: TablePolicies) -> CheckedTable:
    structure = structure_of(source.connection, TableName(source.name, "t"))
    assert structure
    target = pulled_table(structure)
    shown = Schema(target.columns).only(target.source_names)
    request = CheckRequest("fraud", source.name, rows=rows, at=START)
    return CheckedTable(
        request, BASE, structure, target, by("at"), target.primary_key, None, BASE, shown, LoadState(), 0, None,
        policies=policies,
    )  # fmt: skip


def chunks(source: SourceDatabase, rows: int, policies: TablePolicies = CLEAR) -> list[tuple[KeyRange, int]]:
    """The chunks of a round, each with its rows at the source."""
    table, after = checked(source, rows, policies), None
    found: list[tuple[KeyRange, int]] = []
    while not found or after is not None:
        chunk = next_chunk(source.connection, table, after)
        ((count,),) = source.rows(f"SELECT COUNT(*) FROM t WHERE {range_condition(chunk)}")
        found.append((chunk, count))
        assert chunk.high is None or after is None or chunk.high > after
        after = chunk.high
    return found


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("BIGINT UNSIGNED", "CAST(seq AS UNSIGNED) * 300000000000000000"),
        ("BIGINT", "seq - 25"),
        ("VARCHAR(20) CHARACTER SET utf8mb4", "CONCAT('\u00e9', seq)"),
        ("CHAR(20) CHARACTER SET latin1", "CONCAT('\u00e9', seq)"),
        ("VARBINARY(20)", "LEFT(UNHEX(SHA2(seq, 256)), 16)"),
        ("DATE", "DATE_ADD('2026-01-01', INTERVAL seq DAY)"),
    ],
)
def test_every_row_is_in_exactly_one_chunk(source: SourceDatabase, key: str, values: str) -> None:
    source.run(
        f"CREATE TABLE t (k {key} PRIMARY KEY)", f"INSERT INTO t SELECT {values} FROM {numbers(1, 50)}", "ANALYZE TABLE t"
    )
    found = chunks(source, 20)
    assert sum(count for _, count in found) == 50
    # Times have no digest that is the same on both sides.
    assert (len(found) == 1) == (key == "DATE")


def test_a_value_with_more_rows_than_a_chunk_is_one_chunk(source: SourceDatabase) -> None:
    source.run(
        "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b))",
        f"INSERT INTO t SELECT IF(seq <= 30, 1, seq), seq FROM {numbers(1, 40)}",
    )
    assert [count for _, count in chunks(source, 5)] == [30, 5, 5]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("k BIGINT UNSIGNED PRIMARY KEY", "CAST(seq AS UNSIGNED) * 300000000000000007"),
        ("k BIGINT PRIMARY KEY", "seq * 4711 - 100000"),
        ("k INT PRIMARY KEY", "seq"),
        ("k INT, b INT, PRIMARY KEY (k, b)", "IF(seq <= 30, 471100001, seq), seq"),
        ("k INT(9) UNSIGNED ZEROFILL, b INT, PRIMARY KEY (k, b)", "seq, seq"),
    ],
)
def test_bounds_of_a_key_that_no_policy_shows_are_values_of_no_row(source: SourceDatabase, key: str, values: str) -> None:
    source.run(f"CREATE TABLE t ({key})", f"INSERT INTO t SELECT {values} FROM {numbers(1, 50)}", "ANALYZE TABLE t")
    found = chunks(source, 10, TablePolicies())
    assert sum(count for _, count in found) == 50
    bounds = {bound for chunk, _ in found for bound in (chunk.low, chunk.high)} - {None}
    assert not bounds & {value for (value,) in source.rows("SELECT k FROM t")}
    assert all(bound % GRID == 0 for chunk, _ in found for bound in (chunk.low, chunk.high) if bound and not chunk.digest)
    # The numbers of one table are too close to tell them from the bounds of a grid.
    assert (len(found) > 2) == (values != "seq")


def test_chunks_of_a_grid_are_not_small(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (k INT PRIMARY KEY)", f"INSERT INTO t SELECT 1000000 + 20 * seq FROM {numbers(1, 900)}")
    counts = [count for _, count in chunks(source, 250, TablePolicies())]
    assert sum(counts) == 900
    # A range of 5,000 numbers has at least 2,048 of them up to its coarsest number.
    assert all(100 <= count <= 250 for count in counts[1:-1])


def test_an_empty_table_is_one_chunk(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)")
    assert chunks(source, 5) == [(KeyRange("id"), 0)]
