"""Writers beside a copy: transactions of all kinds, and transactions that are in the log while no table shows them."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pymysql
from support.database_servers import DatabaseServer, MySql
from support.source_database import SourceDatabase, end_of_log

from onefold.mysql.connection import connect, query


@contextmanager
def writers_at_work(source: SourceDatabase, number: int) -> Iterator[None]:
    stop = threading.Event()
    with ThreadPoolExecutor(number) as threads:
        written = [threads.submit(_write, source, seed, stop) for seed in range(number)]
        try:
            yield
        finally:
            stop.set()
    for one in written:
        one.result()


def _write(source: SourceDatabase, seed: int, stop: threading.Event) -> None:
    """Transactions of all kinds, each of two statements; one that meets another is rolled back."""
    chance = random.Random(seed)
    with closing(connect(source.server.address)) as connection:
        connection.select_db(source.name)
        for step in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            a, b = chance.sample(range(1, 100), 2)
            statements = [
                f"UPDATE t SET v = {step} WHERE id = {a}",
                f"UPDATE IGNORE t SET id = {b}, v = {step} WHERE id = {a}",
                f"DELETE FROM t WHERE id = {a}",
                f"INSERT IGNORE INTO t VALUES ({b}, {step})",
            ]
            try:
                query(connection, "BEGIN")
                for statement in chance.choices(statements, k=2):
                    query(connection, statement)
                query(connection, "COMMIT")
            except pymysql.err.OperationalError:
                query(connection, "ROLLBACK")


@contextmanager
def nothing_commits(server: DatabaseServer) -> Iterator[None]:
    """Transactions are in the log, and wait there for the word of a replica before the tables show them."""
    with closing(connect(server.address)) as connection:
        name = "rpl_semi_sync_master"
        if isinstance(server, MySql):
            name = "rpl_semi_sync_source"
            if not query(connection, f"SELECT 1 FROM information_schema.PLUGINS WHERE PLUGIN_NAME = '{name}'"):
                query(connection, f"INSTALL PLUGIN {name} SONAME 'semisync_source.so'")
        query(connection, f"SET GLOBAL {name}_timeout = 600000")
        query(connection, f"SET GLOBAL {name}_wait_point = AFTER_SYNC")
        query(connection, f"SET GLOBAL {name}_enabled = ON")
        try:
            yield
        finally:
            query(connection, f"SET GLOBAL {name}_enabled = OFF")


@contextmanager
def in_the_log_only(source: SourceDatabase, statement: str) -> Iterator[None]:
    """The statement is in the log, and no table shows it before the block ends."""
    before = end_of_log(source.connection)
    with closing(connect(source.server.address)) as connection, ThreadPoolExecutor(1) as threads:
        with nothing_commits(source.server):
            written = threads.submit(query, connection, statement)
            while end_of_log(source.connection) == before:
                time.sleep(0.01)
            yield
        written.result()
