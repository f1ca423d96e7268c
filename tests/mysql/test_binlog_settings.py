"""Logs under other settings of the server or of a session: read, or refused with a remedy."""

from __future__ import annotations

import itertools

import pytest
from support.database_servers import DatabaseServer, MariaDb, MySql
from support.source_database import SourceDatabase, end_of_log, on

from onefold.core.errors import InvalidInput, Rejected
from onefold.mysql.binlog.events import (
    LogPosition,
    RowsChanged,
    UnreadableRows,
)
from onefold.mysql.binlog.stream import follow
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import TableFilter

pytestmark = on(MariaDb, MySql)

_server_ids = itertools.count(5800)

CREATE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))"


def test_a_log_without_checksums_is_read(other: DatabaseServer) -> None:
    with connect(other.address) as connection:
        query(connection, "CREATE DATABASE sums")
        start = end_of_log(connection)
        query(connection, "CREATE TABLE sums.t (id INT PRIMARY KEY)")
        query(connection, "INSERT INTO sums.t VALUES (1)")
        query(connection, "SET GLOBAL binlog_checksum = NONE")
        query(connection, "INSERT INTO sums.t VALUES (2)")
        try:
            found = list(
                follow(
                    other.address, LogPosition(1, end_of_log(connection).file, 4), TableFilter(), next(_server_ids), False
                )
            )
        finally:
            query(connection, "SET GLOBAL binlog_checksum = CRC32")
        assert [event.after for event in found if isinstance(event, RowsChanged)] == [((2,),)]
        whole = list(follow(other.address, start, TableFilter(), next(_server_ids), False))
    assert [event.after for event in whole if isinstance(event, RowsChanged)] == [((1,),), ((2,),)]
    assert all(event.structure.primary_key == ("id",) for event in whole if isinstance(event, RowsChanged))


@pytest.mark.parametrize(
    ("other", "setting", "value", "statement"),
    [
        (MariaDb, "log_bin_compress", "ON", "SET GLOBAL log_bin_compress = OFF"),
        (MySql, "binlog_transaction_compression", "ON", "SET GLOBAL binlog_transaction_compression = OFF"),
    ],
    indirect=["other"],
)
def test_a_log_that_cannot_be_read_is_refused_with_a_remedy(
    other: DatabaseServer, setting: str, value: str, statement: str
) -> None:
    start = written_with(other, setting, value)
    with pytest.raises((Rejected, InvalidInput), match=statement):
        list(follow(other.address, start, TableFilter(), next(_server_ids), blocking=False))


@pytest.mark.parametrize(
    ("other", "setting", "value", "kind"),
    [
        (MariaDb, "binlog_row_image", "'MINIMAL'", "rows"),
        (MariaDb, "binlog_row_image", "'NOBLOB'", "rows"),
        (MariaDb, "binlog_row_metadata", "'NO_LOG'", "structure"),
        (MariaDb, "binlog_row_metadata", "'MINIMAL'", "structure"),
        (MySql, "binlog_row_value_options", "'PARTIAL_JSON'", "rows"),
        (MySql, "binlog_row_image", "'MINIMAL'", "rows"),
        (MySql, "binlog_row_image", "'NOBLOB'", "rows"),
        (MySql, "binlog_row_metadata", "'MINIMAL'", "structure"),
    ],
    indirect=["other"],
)
def test_rows_written_with_other_settings_are_named_and_reading_continues(
    other: DatabaseServer, setting: str, value: str, kind: str
) -> None:
    start = written_with(other, setting, value)
    with connect(other.address) as connection:
        query(connection, "INSERT INTO wrong.t VALUES (2, 'a', 'b', '1')")
    events = follow(other.address, start, TableFilter(("wrong",)), next(_server_ids), blocking=False)
    unreadable, whole = [event for event in events if isinstance(event, UnreadableRows | RowsChanged)]
    assert isinstance(unreadable, UnreadableRows)
    assert (unreadable.table, unreadable.kind, setting in unreadable.reason) == ("t", kind, True)
    assert isinstance(whole, RowsChanged)


def written_with(other: DatabaseServer, setting: str, value: str) -> LogPosition:
    """Update a row in a session with other settings, and return the position before the update."""
    with connect(other.address) as connection:
        query(connection, "DROP DATABASE IF EXISTS wrong")
        query(connection, "CREATE DATABASE wrong")
        query(connection, "CREATE TABLE wrong.t (id INT PRIMARY KEY, name VARCHAR(999), b BLOB, j JSON)")
        query(connection, "INSERT INTO wrong.t VALUES (1, REPEAT('x', 900), 'b', JSON_OBJECT('a', REPEAT('x', 90), 'b', 1))")
        start = end_of_log(connection)
        ((before,),) = query(connection, f"SELECT @@global.{setting}")
        query(connection, f"SET GLOBAL {setting} = {value}")
        try:
            with connect(other.address) as late:
                query(late, "UPDATE wrong.t SET name = REPEAT('y', 900), j = JSON_SET(j, '$.b', 2)")
        finally:
            query(connection, f"SET GLOBAL {setting} = %s", (before,))
    return start


@on(MariaDb)
def test_times_in_an_old_form_are_refused(source: SourceDatabase) -> None:
    source.run("SET GLOBAL mysql56_temporal_format = OFF")
    try:
        source.run("CREATE TABLE t (at DATETIME(3))", "INSERT INTO t VALUES ('2020-01-01')")
    finally:
        source.run("SET GLOBAL mysql56_temporal_format = ON")
    (unreadable,) = [event for event in source.log() if isinstance(event, UnreadableRows)]
    assert (unreadable.table, unreadable.kind) == ("t", "structure")
    assert f"{source.name}.t has a column that holds times in the form of MariaDB 5.3" in unreadable.reason
    assert source.changes(TableFilter((), (f"{source.name}.t",))) == []
    source.run("ALTER TABLE t FORCE", "INSERT INTO t VALUES ('2020-01-02')")


@on(MySql)
def test_an_unreadable_table_is_skipped_if_it_is_excluded(source: SourceDatabase) -> None:
    source.run("CREATE TABLE v (m VECTOR(3))", "INSERT INTO v VALUES (STRING_TO_VECTOR('[1,2,3]'))")
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    assert [change.after for change in source.changes(TableFilter((source.name,), ("*.v",)))] == [((1, "a"),)]
    found = [event for event in source.log() if isinstance(event, UnreadableRows | RowsChanged)]
    assert isinstance(found[0], UnreadableRows)
    assert f"{source.name}.v has a column that is a VECTOR" in found[0].reason
    assert isinstance(found[1], RowsChanged)
