"""The catalog of a server is read as it streams: what is kept grows with the captured tables, not with the server."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.database_servers import DatabaseServer, MariaDb, MySql, new_server
from support.source_database import SourceDatabase, on
from support.sweeps import sweep

from onefold.capture.source import CapturedSource
from onefold.mysql.catalog import structures, tables
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import TableFilter

TABLES, COLUMNS, LINKS = 400, 30, 200
FEW = ("few.*",)
_NAMES = st.text("ab.*", min_size=1, max_size=4)
_PATTERNS = st.tuples(_NAMES) | st.tuples(_NAMES, _NAMES) | st.just(())


@dataclass(frozen=True)
class Large:
    """A server with two databases of `TABLES` tables each, one of four tables, and one of foreign keys."""

    server: DatabaseServer

    def peak(self, work: Callable[[CapturedSource], object], *include: str, exclude: tuple[str, ...] = ()) -> int:
        """The most bytes that Python holds while work is done."""
        source = CapturedSource(self.server.address, TableFilter(include, exclude), 77)
        work(source)  # what is made once: modules, patterns, caches of names
        tracemalloc.start()
        try:
            work(source)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.fixture(scope="module", params=sweep([MariaDb, MySql]), ids=lambda kind: str(kind.__name__))
def large(request: pytest.FixtureRequest) -> Iterator[Large]:
    columns = ", ".join(f"a_column_with_a_long_name_{number} VARCHAR(60)" for number in range(COLUMNS - 1))
    with new_server(request.param) as server, closing(connect(server.address)) as connection:
        query(connection, "CREATE DATABASE linked")
        for database, count in (("many", TABLES), ("more", TABLES), ("few", 4)):
            query(connection, f"CREATE DATABASE {database}")
            query(connection, f"CREATE TABLE {database}.table_0 (id INT PRIMARY KEY, {columns})")
            for number in range(1, count):
                query(connection, f"CREATE TABLE {database}.table_{number} LIKE {database}.table_0")
        for number in range(LINKS):
            act = "ON DELETE CASCADE" if number == 0 else ""
            link = f"FOREIGN KEY (id) REFERENCES more.table_0 (id) {act}"
            query(connection, f"CREATE TABLE linked.child_{number} (id INT PRIMARY KEY, {link})")
        yield Large(server)


def check(source: CapturedSource) -> None:
    assert source.check().problems == ()


def cascades(source: CapturedSource) -> None:
    assert [len(links) for links in source.cascades().links.values()] == [1]


@pytest.mark.long
def test_a_check_keeps_no_column_of_tables_that_are_not_captured(large: Large) -> None:
    """24,000 columns that were all fetched took 40 MB."""
    assert large.peak(check, *FEW) < 400_000
    assert large.peak(check, "[mf]*.table_3") < 400_000
    assert large.peak(check, exclude=("m*",)) < 600_000


@pytest.mark.long
def test_a_check_of_all_tables_keeps_each_structure_once(large: Large) -> None:
    """The tables of two databases are alike, as those of tenants are."""
    assert large.peak(check) < 1.4 * large.peak(check, "many.*")


def test_listing_tables_and_foreign_keys_keeps_nothing_of_others(large: Large) -> None:
    assert large.peak(CapturedSource.tables, *FEW) < 60_000
    assert large.peak(cascades, *FEW, "linked.child_0") < 60_000


def test_a_check_of_a_whole_server_sees_each_table(large: Large) -> None:
    assert len(CapturedSource(large.server.address, TableFilter(), 77).check().tables) == 2 * TABLES + 4 + LINKS


@given(_PATTERNS, _PATTERNS, st.text("ab.", min_size=1, max_size=3), st.text("ab.", min_size=1, max_size=3))
def test_no_table_of_a_database_that_is_ruled_out_is_captured(
    include: tuple[str, ...], exclude: tuple[str, ...], database: str, table: str
) -> None:
    patterns = TableFilter(include, exclude)
    assert not (patterns.rule_out(database) and patterns.match(database, table))


@pytest.mark.parametrize("pattern", ["crm", "crm.*", "crm.t*", "c*", "[ab]*", "crm?.t", "shop_1.t", "sho", "sho.*"])
def test_a_database_that_no_pattern_can_match_is_not_queried(pattern: str) -> None:
    assert TableFilter((pattern,)).rule_out("shop")


def test_a_database_that_is_excluded_whole_is_not_queried() -> None:
    assert TableFilter((), ("shop",)).rule_out("shop")
    assert TableFilter((), ("sho*.*",)).rule_out("shop")
    assert not TableFilter((), ("shop.log",)).rule_out("shop")
    assert not TableFilter((), ("shop.log",)).rule_out("shop.log")
    assert TableFilter().rule_out("mysql")


@on(MariaDb, MySql)
def test_tables_whose_names_differ_by_case_keep_their_columns(source: SourceDatabase) -> None:
    """In the order of a collation their columns alternate."""
    names = ["t", "T", "é", "e", *(f"n{number}" for number in range(20))]
    for name in names:
        source.run(f"CREATE TABLE `{name}` (id INT PRIMARY KEY, `of {ord(name[0])}` INT, UNIQUE (`of {ord(name[0])}`))")
    for patterns in (TableFilter((source.name,)), TableFilter(tuple(f"{source.name}.{name}" for name in names[:3]))):
        kinds = tables(source.connection, patterns)
        found = structures(source.connection, patterns)
        assert set(kinds) == set(found)
        assert len(found) == (len(names) if len(patterns.include) == 1 else 3)
        for table, structure in found.items():
            columns = [column.name for column in structure.columns]
            assert columns == ["id", f"of {ord(table.table[0])}"]
            assert structure.primary_key == ("id",)
