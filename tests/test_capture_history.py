"""Real schema histories, replayed on a real server and captured: every row ever written is there, and the latest are shown.

Each version of each table becomes the next one by an ALTER TABLE, or is dropped and made again where none leads there, and
rows are written at each. All of it is in the log by then, with the structures of its time: one capture reads it at the end.

The emulator takes seconds for a table with many versions. So the views themselves are asked for a sample: every table whose
keys or types change, and some more. Of all others it is the records on `change-records` that are held against the source.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import string
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pymysql
import pytest
from capturing import Bench, latest
from database_servers import DatabaseServer
from end_to_end import Flow, image_of, new_dataset, new_source

from onefold.capture.checkpoint import Reached
from onefold.capture.patterns import Patterns
from onefold.capture.server import query
from onefold.changelog import DATABASE_NAME, SOURCE_NAME

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
HISTORIES = {path.name.removesuffix("_history.json"): path for path in sorted(SHARED.glob("*_history.json"))}
SAMPLE = 7
"""Tables that go through the emulator besides those whose keys or types change."""
Version = dict[str, Any]
Column = dict[str, Any]


def tables_of(project: str) -> dict[str, list[Version]]:
    return {table["table"]: table["versions"] for table in json.loads(HISTORIES[project].read_text())["tables"]}


TABLES = [(project, table) for project in HISTORIES for table in tables_of(project)] or [("", "")]


class Replay:
    """Writes one table's history."""

    def __init__(self, flow: Flow, table: str) -> None:
        self._flow = flow
        self._table = table
        self._random = random.Random(table)
        self._serial = itertools.count(1)

    def play(self, versions: list[Version]) -> None:
        before: list[Column] = []
        for version in versions:
            self._become(before, version["columns"])
            before = version["columns"]
            self._write(before)

    def _become(self, before: list[Column], after: list[Column]) -> None:
        try:
            self._run(altered(self._table, before, after) if before else created(self._table, after))
        except pymysql.err.MySQLError:
            self._flow.source.run(f"DROP TABLE `{self._table}`")
            self._run(created(self._table, after))

    def _write(self, columns: list[Column]) -> None:
        """Two new rows; then one of all changes, and one goes."""
        key = next(column["name"] for column in columns if column["primary_key"])
        for _ in range(2):
            row = self._row(columns)
            names = ", ".join(f"`{name}`" for name in row)
            places = ", ".join(["%s"] * len(row))
            self._run(f"INSERT INTO `{self._table}` ({names}) VALUES ({places})", *row.values())
        rows = self._flow.source.rows(f"SELECT `{key}` FROM `{self._table}` ORDER BY `{key}`")
        changed, gone = self._random.sample([row[0] for row in rows], 2)
        row = {name: value for name, value in self._row(columns).items() if name not in key_of(columns)}
        if row:
            values = ", ".join(f"`{name}` = %s" for name in row)
            self._run(f"UPDATE `{self._table}` SET {values} WHERE `{key}` = %s", *row.values(), changed)
        self._run(f"DELETE FROM `{self._table}` WHERE `{key}` = %s", gone)

    def _row(self, columns: list[Column]) -> dict[str, Any]:
        serial = next(self._serial)
        return {column["name"]: serial if column["primary_key"] else self._value(column) for column in columns}

    def _value(self, column: Column) -> Any:
        if column["nullable"] and self._random.random() < 0.3:
            return None
        return value(column["mysql_type"], self._random)

    def _run(self, sql: str, *values: Any) -> None:
        query(self._flow.source.connection, sql, values)
        self._flow.note(self._flow.source.name, self._table, sql)


def key_of(columns: list[Column]) -> list[str]:
    return [column["name"] for column in columns if column["primary_key"]]


def declared(column: Column) -> str:
    return f"`{column['name']}` {column['mysql_type']} {'NULL' if column['nullable'] else 'NOT NULL'}"


def key_clause(columns: list[Column]) -> str:
    return f"PRIMARY KEY ({', '.join(f'`{name}`' for name in key_of(columns))})"


def created(table: str, columns: list[Column]) -> str:
    return f"CREATE TABLE `{table}` ({', '.join(map(declared, columns))}, {key_clause(columns)})"


def altered(table: str, before: list[Column], after: list[Column]) -> str:
    """What makes the next version of a table in one statement. That a column was renamed, a history does not tell."""
    old = {column["name"].lower(): column["name"] for column in before}
    new = {column["name"].lower() for column in after}
    changes = [f"DROP COLUMN `{name}`" for lower, name in old.items() if lower not in new]
    place = "FIRST"
    for column in after:
        known = old.get(column["name"].lower())
        changes.append(f"{f'CHANGE COLUMN `{known}`' if known else 'ADD COLUMN'} {declared(column)} {place}")
        place = f"AFTER `{column['name']}`"
    if key_of(before) != key_of(after):
        changes += ["DROP PRIMARY KEY", f"ADD {key_clause(after)}"]
    return f"ALTER TABLE `{table}` {', '.join(changes)}"


LETTERS = string.ascii_letters + "éß日😀'\"\\ "


def value(type_: str, chance: random.Random) -> Any:
    """One of the type's own, most of them near its ends."""
    kind, sizes = type_.partition("(")[0], [int(size) for size in re.findall(r"\d+", type_)]
    match kind:
        case "tinyint" | "int" | "bigint":
            bits = {"tinyint": 7, "int": 31, "bigint": 63}[kind] + type_.endswith("unsigned")
            return chance.choice((0, 1, 2**bits - 1, 0 if type_.endswith("unsigned") else -(2**bits)))
        case "decimal":
            return Decimal(chance.randrange(-(10 ** sizes[0]) + 1, 10 ** sizes[0])).scaleb(-sizes[1])
        case "float":
            return chance.randrange(-4000, 4000) / 4
        case "date":
            return date(1000, 1, 1) + timedelta(days=chance.randrange(3_000_000))
        case "datetime":
            return datetime(1000, 1, 1) + timedelta(seconds=chance.randrange(200_000_000_000))
        case "char" | "varchar" | "text":
            return "".join(chance.choices(LETTERS, k=chance.randrange(1 + min(60, *(sizes or [60]))))).rstrip()
    raise AssertionError(f"no value of {type_} is written here")


def sample_of(histories: Mapping[str, list[Version]]) -> list[str]:
    """Tables whose keys or types change, and some more."""
    special = [table for table, versions in histories.items() if key_changes(versions) or type_changes(versions)]
    others = [table for table in histories if table not in special]
    return [*special, *random.Random(7).sample(others, min(SAMPLE, len(others)))]


def key_changes(versions: list[Version]) -> bool:
    return len({tuple(key_of(version["columns"])) for version in versions}) > 1


def type_changes(versions: list[Version]) -> bool:
    """Whether a column has landed in two types."""
    found = {(column["name"].lower(), column["type"].partition("(")[0]) for v in versions for column in v["columns"]}
    return len(found) > len({name for name, _ in found})


class Replayed:
    """A project's histories, all of them played; a sample goes through the emulator, and the others up to the messages."""

    def __init__(self, flow: Flow, bench: Bench) -> None:
        self._flow = flow
        self._bench = bench
        self._records: list[dict[str, Any]] = []

    def capture(self) -> None:
        start = Reached(self._flow.source.start)
        self._flow.capture(start)
        self._records = self._bench.once(start=start)

    def check(self, table: str) -> None:
        if table in self._flow.tables:
            self._flow.check(table)
        else:
            self._check_records(table)

    def _check_records(self, table: str) -> None:
        """The sink would land the records as they are: so what the views would show is told by a dict and a loop."""
        records = [one for one in map(self._as_landed, self._records) if one["metadata"]["table_name"] == table]
        self._flow.check_landed(table, {image_of(one["data"]) for one in records})
        present = self._flow.present[(self._flow.source.name, table)]
        assert {image_of(row) for row in latest(records).values()} == {image_of(row) for row in present}

    def _as_landed(self, record: dict[str, Any]) -> dict[str, Any]:
        metadata = record["metadata"]
        table = self._bench.warehouse.tables[f"{metadata['table_name']}_v_{metadata['table_version']}"]
        types = {column.name: str(column.type) for column in table.columns}
        values = {name: as_type(types[name], value) for name, value in record["data"].items()}
        tenant = {SOURCE_NAME: metadata["source"], DATABASE_NAME: metadata["database_name"]}
        return {"data": {**tenant, **values}, "metadata": metadata}


def as_type(type_: str, landed: Any) -> Any:
    """What lands as text, in Python's type."""
    types: dict[str, Callable[[str], Any]] = {
        "NUMERIC": Decimal,
        "DATE": date.fromisoformat,
        "DATETIME": datetime.fromisoformat,
    }
    return types[type_](landed) if type_ in types and landed is not None else landed


@pytest.fixture(scope="module")
def replayed(
    mariadb: DatabaseServer, emulator_host: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Replayed]]:
    """By project."""
    with ExitStack() as stack:
        found = {}
        for project in HISTORIES:
            histories = tables_of(project)
            source = stack.enter_context(new_source(mariadb, project))
            sample = sample_of(histories)
            flow = Flow(
                source, new_dataset(emulator_host, project), tmp_path_factory.mktemp(project), (project,), tuple(sample)
            )
            for table, versions in histories.items():
                Replay(flow, table).play(versions)
            others = Patterns((f"{project}.*",), tuple(f"{project}.{table}" for table in sample))
            found[project] = Replayed(flow, Bench(mariadb, tmp_path_factory.mktemp(f"{project}_others"), others))
            found[project].capture()
        yield found


@pytest.mark.skipif(not HISTORIES, reason=f"no histories: {SHARED} is absent")
@pytest.mark.parametrize(("project", "table"), TABLES)
def test_every_row_ever_written_is_there_and_the_latest_are_shown(
    replayed: dict[str, Replayed], project: str, table: str
) -> None:
    replayed[project].check(table)
