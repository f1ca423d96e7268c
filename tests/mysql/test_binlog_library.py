"""Values that the library mysql-replication reads wrongly: each is a reason for the decoder of this project."""

from __future__ import annotations

import datetime
import itertools

import pymysql
import pytest
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import WriteRowsEvent
from support.database_servers import DatabaseServer, MariaDb, MySql
from support.source_database import SourceDatabase, end_of_log, on

from onefold.core.errors import Rejected
from onefold.mysql.connection import connect, query

pytestmark = on(MariaDb, MySql)

_server_ids = itertools.count(5500)


def rows_of_the_library(source: SourceDatabase) -> list[dict[str, object]]:
    reader = BinLogStreamReader(
        source.server.address.settings(), next(_server_ids), log_file=source.start.file, log_pos=source.start.offset,
        resume_stream=True, only_events=[WriteRowsEvent], only_schemas=[source.name], enable_logging=False,
    )  # fmt: skip
    try:
        return [row["values"] for event in reader for row in event.rows]
    finally:
        reader.close()


@pytest.mark.parametrize(
    ("declared", "literal", "wrong", "right"),
    [
        ("enum('é') CHARACTER SET latin1", "'é'", "", "é"),
        ("binary(4)", "x'AB'", b"\xab", "qwAAAA=="),
        ("year", "0", 1900, 0),
        ("timestamp NULL", "'0000-00-00 00:00:00'", datetime.datetime(1970, 1, 1), None),
        ("varchar(9) CHARACTER SET utf16", "'日'", "\ue565", "日"),
        ("varchar(9) CHARACTER SET cp866", "_cp866 x'fc'", "№", "ⁿ"),
    ],
)
def test_values_that_the_library_reads_wrongly_are_read_right(
    source: SourceDatabase, declared: str, literal: str, wrong: object, right: object
) -> None:
    source.run(f"CREATE TABLE t (v {declared})", f"INSERT INTO t VALUES ({literal})")
    assert rows_of_the_library(source) == [{"v": wrong}]
    (change,) = source.changes()
    assert change.after == ((right,),)


def test_text_that_the_library_refuses_is_read(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (v VARCHAR(9) CHARACTER SET latin1)", "INSERT INTO t VALUES (x'81')")
    with pytest.raises(UnicodeDecodeError):
        rows_of_the_library(source)
    assert source.changes()[0].after == (("\x81",),)


def test_a_key_over_prefixes_which_the_library_does_not_know_is_read(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (v VARCHAR(9), PRIMARY KEY (v(3)))", "INSERT INTO t VALUES ('abcd')")
    assert source.changes()[0].structure.primary_key == ("v",)


@pytest.mark.parametrize("other", [MariaDb], indirect=True)
def test_compressed_events_which_the_library_skips_silently_are_refused(other: DatabaseServer) -> None:
    with connect(other.address) as connection:
        query(connection, "CREATE DATABASE pressed")
        query(connection, "CREATE TABLE pressed.t (v TEXT)")
        start = end_of_log(connection)
        query(connection, "SET GLOBAL log_bin_compress = ON")
        try:
            query(connection, "INSERT INTO pressed.t VALUES (REPEAT('x', 999))")
        finally:
            query(connection, "SET GLOBAL log_bin_compress = OFF")
    database = SourceDatabase(other, pymysql.Connection(defer_connect=True), "pressed", start)
    assert rows_of_the_library(database) == []
    with pytest.raises(Rejected, match="compressed"):
        database.log()
