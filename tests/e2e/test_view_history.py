"""Real schema histories, version by version in the emulator, compared with an oracle that folds Python rows.

The oracle is obvious on purpose: it keeps every row ever landed as a Python dict, and reads a type's place among the
others from one short table. Histories come from `support/schema_histories.py`; where there is none, the demo's own small one
is still played.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from google.cloud import bigquery
from support.schema_histories import FOLDER, Table, chosen, demo_table, tables_of_projects
from support.zetasql_judge import Judge, literals

from onefold.core.names import TableId
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind
from onefold_lab.processes import bigquery_emulator
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client

pytestmark = pytest.mark.long


def real_tables() -> Iterator[Any]:
    projects = tables_of_projects()
    if not projects:
        skip = pytest.mark.skip(reason=f"no histories: {FOLDER} is absent")
        yield pytest.param(None, marks=[skip, pytest.mark.outside], id="real histories")
    for project, tables in projects.items():
        for table in chosen(tables):
            yield pytest.param(table, marks=pytest.mark.outside, id=f"{project}.{table['table']}")


# NUMERIC to STRING is left to the analyzer's evaluator: the emulator writes "0.2500" where BigQuery writes "0.25".
MIXED = {
    "table": "mixed",
    "versions": [
        {"version": f"a{n}", "columns": [{"name": "key", "type": "INT64"}, *columns]}
        for n, columns in enumerate(
            (
                [{"name": "a", "type": "BOOL"}, {"name": "b", "type": "DATE"}, {"name": "c", "type": "FLOAT64"}],
                [{"name": "A", "type": "INT64"}, {"name": "b", "type": "DATETIME"}, {"name": "d", "type": "BYTES"}],
                [
                    {"name": "a", "type": "NUMERIC(10, 4)"},
                    {"name": "B", "type": "TIMESTAMP"},
                    {"name": "c", "type": "STRING"},
                ],
                [{"name": "a", "type": "INT64"}, {"name": "b", "type": "DATE"}, {"name": "d", "type": "STRING"}],
            )
        )
    ],
}

# What each kind of row holds: nothing, the extremes, text that is not ASCII.
VALUES: dict[str, tuple[Any, ...]] = {
    "BOOL": (None, True, False),
    "INT64": (None, -(2**63), 2**63 - 1),
    "NUMERIC": (None, Decimal("-0.25"), Decimal("9.9")),
    "FLOAT64": (None, -1.5, 0.1),
    "DATE": (None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    "DATETIME": (None, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59)),
    "TIMESTAMP": (
        None,
        datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2038, 1, 19, 3, 14, 7, tzinfo=datetime.UTC),
    ),
    "STRING": (None, "", 'Zürich 東京 🦆 it\'s \\ a "test"'),
    "BYTES": (None, b"", b"plain"),
}

_FEW = 5

# From the narrowest to the widest; what stands in no common line meets at STRING.
LINES = (("BOOL", "INT64", "NUMERIC"), ("DATE", "DATETIME", "TIMESTAMP"))


@pytest.fixture(scope="module")
def client() -> Iterator[bigquery.Client]:
    with pytest.MonkeyPatch.context() as patch, bigquery_emulator() as host:
        patch.setenv("BIGQUERY_EMULATOR_HOST", host)
        yield emulator_client(DEFAULT_PROJECT)


@pytest.mark.parametrize("table", [*real_tables(), pytest.param(demo_table(), id="demo"), pytest.param(MIXED, id="mixed")])
def test_the_view_has_every_row_ever_landed_after_each_version(client: bigquery.Client, judge: Judge, table: Table) -> None:
    # A dataset of its own: the emulator's INFORMATION_SCHEMA takes longer with every table of a dataset.
    name = f"of_{table['table']}.{table['table']}"
    client.create_dataset(f"of_{table['table']}")
    warehouse, oracle, decimal = EmulatedWarehouse(client), Oracle(), decimal_columns(table)
    base = TableId(DEFAULT_PROJECT, *name.split("."))
    landed = Landed()
    for version in table["versions"]:
        columns = [(column["name"], re.sub(r"\(.*\)", "", column["type"])) for column in version["columns"]]
        rows = [[value(type_, kind, name.lower() in decimal) for name, type_ in columns] for kind in range(3)]
        land(client, f"{name}_v_{version['version']}", version["columns"], rows)
        oracle.land(columns, rows)
        landed.land(f"{DEFAULT_PROJECT}.{name}_v_{version['version']}", columns, rows)

        plan = refresh(UnifiedKind(warehouse, base, Settings()), version=version["version"])

        assert plan.view
        view_columns = list(zip(oracle.names, oracle.types, strict=True))
        assert judge.columns(plan.view.query, landed.tables) == view_columns
        assert landed.judged(judge, plan.view.query, view_columns) == sorted(
            as_texts(oracle.types, row) for row in oracle.rows()
        )
        # The emulator takes seconds for a view over many versions: of these, it reads the last.
        if len(landed.tables) <= _FEW or version is table["versions"][-1]:
            names, types, found = read(client, f"{name}_unified")
            assert (names, types) == (oracle.names, oracle.types)
            assert sorted(found, key=repr) == sorted(oracle.rows(), key=repr)


class Landed:
    """The same tables and rows for Google's own analyzer and evaluator."""

    def __init__(self) -> None:
        self.tables: dict[str, list[tuple[str, str]]] = {}
        self._content: dict[str, str] = {}

    def land(self, name: str, columns: list[tuple[str, str]], rows: list[list[Any]]) -> None:
        self.tables[name] = columns
        self._content[name] = literals(columns, [[literal(value) for value in row] for row in rows])

    def judged(self, judge: Judge, query: str, columns: list[tuple[str, str]]) -> list[tuple[Any, ...]]:
        """The view's rows as texts, sorted: empty for NULL, else behind a mark."""
        texts = (f"IFNULL(CONCAT('=', {text_of(f'`{name}`', type_)}), '')" for name, type_ in columns)
        return sorted(judge.rows(f"SELECT {', '.join(texts)} FROM (\n{query}\n)", self.tables, self._content))


def text_of(name: str, type_: str) -> str:
    return f"STRING({name}, 'UTC')" if type_ == "TIMESTAMP" else f"CAST({name} AS STRING)"


def as_texts(types: list[str], row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple("" if value is None else f"={as_text(type_, value)}" for type_, value in zip(types, row, strict=True))


class Oracle:
    """Every row ever landed, by column name in lower case, each value with the type it landed in."""

    def __init__(self) -> None:
        self._spelling: dict[str, str] = {}
        self._landed_types: dict[str, list[str]] = {}
        self._landed: list[dict[str, tuple[str, Any]]] = []

    def land(self, columns: list[tuple[str, str]], rows: list[list[Any]]) -> None:
        for name, type_ in columns:
            self._spelling.setdefault(name.lower(), name)
            self._landed_types.setdefault(name.lower(), []).append(type_)
        for row in rows:
            self._landed.append({name.lower(): (type_, value) for (name, type_), value in zip(columns, row, strict=True)})

    @property
    def names(self) -> list[str]:
        return list(self._spelling.values())

    @property
    def types(self) -> list[str]:
        return [self._type(key) for key in self._spelling]

    def rows(self) -> list[tuple[Any, ...]]:
        return [
            tuple(as_type(*row.get(key, ("STRING", None)), self._type(key)) for key in self._spelling)
            for row in self._landed
        ]

    def _type(self, key: str) -> str:
        types = set(self._landed_types[key])
        if len(types) == 1:
            return next(iter(types))
        for line in LINES:
            if types <= set(line):
                return max(types, key=line.index)
        return "STRING"


def as_type(source: str, value: Any, target: str) -> Any:
    """One landed value as the view is to show it."""
    if value is None or source == target:
        return value
    if target == "STRING":
        return as_text(source, value)
    if target in ("INT64", "NUMERIC"):
        return int(value) if target == "INT64" else Decimal(int(value))
    midnight = value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    return midnight.replace(tzinfo=datetime.UTC) if target == "TIMESTAMP" else midnight


def as_text(source: str, value: Any) -> str:
    match source:
        case "BOOL":
            return str(value).lower()
        case "BYTES":
            return str(value.decode())
        case "TIMESTAMP":
            return str(value).replace("+00:00", "+00")
        case "NUMERIC":
            return f"{value.normalize():f}"
        case _:
            return str(value)


def decimal_columns(table: Table) -> set[str]:
    """Columns that are NUMERIC in some version, which the emulator holds as DECIMAL(18, 3)."""
    columns = (column for version in table["versions"] for column in version["columns"])
    return {column["name"].lower() for column in columns if column["type"].startswith("NUMERIC")}


def value(type_: str, kind: int, decimal: bool) -> Any:
    """The value of a row of that kind; integers that will be shown as decimals stay within the emulator's range."""
    extreme = VALUES[type_][kind]
    return extreme % 10**14 if decimal and type_ == "INT64" and extreme is not None else extreme


def land(client: bigquery.Client, name: str, columns: list[dict[str, str]], rows: list[list[Any]]) -> None:
    described = ", ".join(f"`{column['name']}` {column['type']}" for column in columns)
    client.query(f"CREATE TABLE {name} ({described})").result()
    values = ", ".join("(" + ", ".join(literal(value) for value in row) + ")" for row in rows)
    client.query(f"INSERT INTO {name} VALUES {values}").result()


def literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bytes():
            return f"b'{value.decode()}'"
        case datetime.datetime() if value.tzinfo:
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case datetime.datetime():
            return f"DATETIME '{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
        case Decimal():
            return f"NUMERIC '{value}'"
        case _:
            return str(value)


def read(client: bigquery.Client, view: str) -> tuple[list[str], list[str], list[tuple[Any, ...]]]:
    result = client.query(f"SELECT * FROM {view}").result()
    aliases = {"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL"}
    types = [aliases.get(field.field_type, field.field_type) for field in result.schema]
    return [field.name for field in result.schema], types, [tuple(row) for row in result]
