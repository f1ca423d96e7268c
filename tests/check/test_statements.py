"""The statements of a check beside its join, run by Google's evaluator over rows of the logs and of the view."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from support.memory_files import MemoryFiles
from support.pulled_source import CLUSTER, DATABASE, STRUCTURE
from support.zetasql_judge import Columns, Judge

from onefold.check.counting import RowCounter
from onefold.check.counts import RowCounts
from onefold.check.exact import ChunkComparer
from onefold.check.log import CHECK_COLUMNS, CHECK_TABLE, CheckLog
from onefold.check.request import CheckedTable, CheckRequest
from onefold.core.names import TableId
from onefold.pull.load.run_log import LOG_COLUMNS, LOG_TABLE
from onefold.pull.read.part import FileDestination
from onefold.pull.read.plan import KeyRange, LoadState
from onefold.pull.read.pulled_table import pulled_table
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING
from onefold.settings.sources import TableLoad

BASE = TableId("p", "fraud_models", "score")
VIEW = TableId("p", "fraud_models__views_full", "score")
LOADS, CHECKS = str(BASE.sibling(LOG_TABLE)), str(BASE.sibling(CHECK_TABLE))
NOW = datetime.now(UTC)


@dataclass
class EvaluatedWarehouse:
    """Runs queries over tables whose rows are SQL literals."""

    judge: Judge
    tables: dict[str, Columns] = field(default_factory=dict)
    content: dict[str, str] = field(default_factory=dict)
    project: str = "p"

    def put(self, table: str, columns: Iterable[Column], rows: list[dict[str, str]]) -> None:
        self.tables[table] = [(column.name, str(column.type)) for column in columns]
        selects = []
        for row in rows:
            values = (f"CAST({row.get(name, 'NULL')} AS {type_}) AS {name}" for name, type_ in self.tables[table])
            selects.append(f"SELECT {', '.join(values)}")
        self.content[table] = " UNION ALL ".join(selects)

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        names = [name for name, _ in self.judge.columns(sql, self.tables)]
        return [dict(zip(names, row, strict=True)) for row in self.judge.rows(sql, self.tables, self.content)]


@pytest.fixture
def warehouse(judge: Judge) -> EvaluatedWarehouse:
    return EvaluatedWarehouse(judge)


def time(at: datetime) -> str:
    return f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S}+00'"


def full_table() -> CheckedTable:
    target = pulled_table(STRUCTURE)
    names = Schema(target.columns).only(target.source_names)
    shown = Schema((*names, Column("source_name", STRING), Column("database_name", STRING)))
    request = CheckRequest(CLUSTER, DATABASE, at=NOW)
    return CheckedTable(
        request, BASE, STRUCTURE, target, TableLoad(), ("id",), None, VIEW, shown, LoadState(target.version), 0, None
    )


def test_a_full_table_is_counted_against_its_newest_full_load(warehouse: EvaluatedWarehouse) -> None:
    load = {"table_name": "'score'", "state": "'loaded'", "replaces": "TRUE", "logged_at": time(NOW)}
    older = {**load, "load_id": "'a'", "rows_loaded": "9", "begun_at": time(NOW - timedelta(days=1))}
    newest = {**load, "load_id": "'b'", "rows_loaded": "3", "begun_at": time(NOW - timedelta(hours=1))}
    others = [
        {**newest, "table_name": "'other'", "rows_loaded": "7", "begun_at": time(NOW)},
        {**newest, "state": "'begun'", "rows_loaded": "8", "begun_at": time(NOW)},
        {**newest, "days": "'[]'", "rows_loaded": "6", "begun_at": time(NOW)},
        {**newest, "replaces": "FALSE", "rows_loaded": "5", "begun_at": time(NOW)},
    ]
    warehouse.put(LOADS, LOG_COLUMNS, [older, newest, *others])
    tenant = {"source_name": f"'{CLUSTER}'", "database_name": f"'{DATABASE}'"}
    foreign = {**tenant, "database_name": "'another'"}
    warehouse.put(str(VIEW), full_table().shown, [{"id": "1", **tenant}, {"id": "2", **tenant}, {"id": "3", **foreign}])
    comparer = ChunkComparer(cast(Any, None), cast(Any, None), cast(Any, None), cast(Any, warehouse), cast(Any, None))
    counter = RowCounter(cast(Any, None), FileDestination(MemoryFiles(), "gs://pulled"), comparer)
    assert counter.count(full_table()) == RowCounts("load", 3, 2)


def test_the_next_chunk_begins_where_the_last_one_of_the_table_ended(warehouse: EvaluatedWarehouse) -> None:
    row = {
        "source_name": f"'{CLUSTER}'", "database_name": f"'{DATABASE}'", "table_name": "'it''s'".replace("''", "\\'"),
        "chunk_column": "'id'", "chunk_digest": "''", "chunk_rows": "5",
    }  # fmt: skip

    def ended(high: str, days: float, **more: str) -> dict[str, str]:
        return {**row, "chunk_high": high, "checked_at": time(NOW - timedelta(days=days)), **more}

    log = CheckLog(cast(Any, warehouse), cast(Any, None), lambda _: "fraud_models", CheckRequest(CLUSTER, DATABASE, at=NOW))
    id_range = KeyRange("id")

    def next_low(*rows: dict[str, str]) -> int | None:
        warehouse.put(CHECKS, CHECK_COLUMNS, list(rows))
        return log.next_low("it's", id_range)

    assert next_low(ended("'18446744073709551615'", 1), ended("'5'", 2)) == 18446744073709551615
    assert next_low(ended("'5'", 1), ended("'9'", 0.1, table_name="'other'"), ended("'9'", 0.1, chunk_rows="NULL")) == 5
    assert next_low(ended("'5'", 1), ended("NULL", 1)) is None, "the last chunk of a round was written at the same time"
    assert next_low(ended("'5'", 1, chunk_column="'code'")) is None
    assert next_low(ended("'5'", 1, chunk_digest="'text'")) is None
    assert next_low(ended("'5'", 40)) is None
