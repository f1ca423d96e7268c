"""Debezium itself follows a real MySQL: the current views of its events have the rows of the source."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.capture import eventually
from support.database_servers import MySql, new_server
from support.debezium_engine import LAST, load_events, read_events, recording
from support.existing_tables import schema

from onefold.core.names import TableId
from onefold.existing.current_query import current_query
from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable
from onefold.mysql.connection import connect, query
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

TABLE = "CREATE TABLE shop.orders (id INT PRIMARY KEY, name VARCHAR(60), amount BIGINT)"


def random_statements(random: Random, number: int) -> list[str]:
    """Return statements on few rows: several rows in one event, keys that change into each other, new files of the log."""

    def statement(n: int) -> str:
        id_ = random.randint(1, 30)
        upsert = f"({id_}, 'n{n}', {n}), ({id_ + 1}, NULL, -{n}) ON DUPLICATE KEY UPDATE name = 'd{n}'"
        choices = (
            f"INSERT INTO shop.orders VALUES {upsert}",
            f"REPLACE INTO shop.orders VALUES ({id_}, 'r{n}', NULL)",
            f"UPDATE shop.orders SET amount = {n} WHERE id % 3 = {n % 3}",
            "UPDATE shop.orders SET id = id + 1 ORDER BY id DESC",
            "UPDATE shop.orders SET id = id - 1 ORDER BY id",
            f"DELETE FROM shop.orders WHERE id = {id_}",
            f"DELETE FROM shop.orders WHERE id > {id_} LIMIT 2",
            "FLUSH BINARY LOGS",
        )
        return random.choice(choices)

    # Several changes of a row in one statement are in one event of the log: only their places in it say which is the last.
    often = [f"REPLACE INTO shop.orders VALUES ({id_}, 'a', 1), ({id_}, 'b', 2), ({id_}, 'c', 3)" for id_ in range(200, 210)]
    return [*map(statement, range(number)), *often, f"INSERT INTO shop.orders VALUES ({LAST}, 'end', 0)"]


@pytest.mark.emulator
@pytest.mark.mysql
@pytest.mark.long
@pytest.mark.process
def test_the_current_views_have_the_rows_of_the_source(dataset: EmulatedDataset, tmp_path: Path, chance: Random) -> None:
    with new_server(MySql) as server, connect(server.address) as connection:
        for statement in ("CREATE DATABASE shop", TABLE, "INSERT INTO shop.orders VALUES (1, 'copied', 1), (2, NULL, 2)"):
            query(connection, statement)
        with recording(server.port, tmp_path) as files:
            eventually(lambda: all(file.exists() and file.read_text().count("\n") >= 2 for file in files.values()))
            for statement in random_statements(chance, 200):
                query(connection, statement)
        source = query(connection, "SELECT id, name, amount FROM shop.orders ORDER BY id")
    for form, file in files.items():
        columns, rows = read_events(file)
        load_events(dataset, form, columns, rows)
        table = ExistingTable(form, schema(columns), ("id",))
        found = recognise(table)
        assert (found.tool, found.form, found.rows) == ("Debezium", form, "history")
        view = current_query(TableId(DEFAULT_PROJECT, dataset.name, form), table, found)
        assert sorted(dataset.run(str(view))) == [tuple(row) for row in source], form
