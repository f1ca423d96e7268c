"""The manifest table in BigQuery: its columns, and the statements that read it and add rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from onefold.core.names import TableId, quote_text
from onefold.ports.event_tables import EventTable, KnownColumns, State
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar

RECORDED_AT = "recorded_at"
_TIMESTAMP = Scalar("TIMESTAMP")
COLUMNS = (
    Column("run", STRING), Column("table_name", STRING), Column("state", STRING), Column("base", STRING),
    Column("version", STRING), Column("schema_uri", STRING), Column("table_columns", STRING),
    Column("registry_read_at", _TIMESTAMP), Column("rows_loaded", Scalar("INT64")), Column("job", STRING),
    Column(RECORDED_AT, _TIMESTAMP),
)  # fmt: skip
_MAX_STATEMENT = 500_000
"""Characters of rows in one statement. BigQuery takes a query of 1 MB ("Quotas and limits", unresolved query, 2026-11)."""
_RUNS_A_QUERY = 2_000


@dataclass(frozen=True)
class Step:
    """A row of the manifest table.

    Attributes:
        run: the address of the folder of the run.
        state: what has been done.
        table: the table; None for a run that is finished.
        registry_read_at: when the run began; None for a run that is finished.
        rows: the rows that were loaded; None where none were.
        job: the job that loaded them.
    """

    run: str
    state: State
    table: EventTable | None = None
    registry_read_at: datetime | None = None
    rows: int | None = None
    job: str | None = None


def insert_statements(manifest: TableId, steps: Iterable[Step]) -> Iterator[str]:
    """Yield the statements that add rows, each of a size that BigQuery takes."""
    names = ", ".join(column.name for column in COLUMNS)
    block: list[str] = []
    for values in map(_values, steps):
        if block and sum(map(len, block)) + len(values) > _MAX_STATEMENT:
            yield f"INSERT INTO {manifest.quoted} ({names}) VALUES\n" + ",\n".join(block)
            block = []
        block.append(values)
    if block:
        yield f"INSERT INTO {manifest.quoted} ({names}) VALUES\n" + ",\n".join(block)


def recorded_queries(manifest: TableId, runs: Collection[str]) -> Iterator[str]:
    """Yield queries of the tables that are loaded, and of the runs that are finished."""
    ordered = sorted(runs)
    for at in range(0, len(ordered), _RUNS_A_QUERY):
        listed = ", ".join(map(quote_text, ordered[at : at + _RUNS_A_QUERY]))
        yield (
            f"SELECT DISTINCT run, COALESCE(table_name, '') AS table_name\nFROM {manifest.quoted}\n"
            f"WHERE state IN ('loaded', 'finished') AND run IN ({listed})"
        )


def histories_query(manifest: TableId, names: Collection[str]) -> str:
    """Return a query of the columns that are listed for some tables."""
    listed = ", ".join(map(quote_text, sorted(names)))
    return (
        "SELECT table_name, state, schema_uri, table_columns, MAX(registry_read_at) AS registry_read_at\n"
        f"FROM {manifest.quoted}\nWHERE state IN ('planned', 'loaded') AND table_name IN ({listed})\n"
        "GROUP BY table_name, state, schema_uri, table_columns"
    )


def begun_query(manifest: TableId, run: str, names: Collection[str]) -> str:
    """Return a query of when the first loader began to load the rows of a run, for each of some tables."""
    listed = ", ".join(map(quote_text, sorted(names)))
    return (
        f"SELECT table_name, MIN({RECORDED_AT}) AS begun_at\nFROM {manifest.quoted}\n"
        f"WHERE state = 'begun' AND run = {quote_text(run)} AND table_name IN ({listed})\nGROUP BY table_name"
    )


def known_columns(row: Mapping[str, Any]) -> KnownColumns:
    """Return a row of `histories_query` as a value."""
    columns = tuple((name, type_) for name, type_ in json.loads(row["table_columns"]))
    return KnownColumns(columns, row["schema_uri"], row["registry_read_at"], row["state"] == "loaded")


def _values(step: Step) -> str:
    table = step.table
    columns = json.dumps(table.columns, ensure_ascii=False, separators=(",", ":")) if table else None
    texts = (step.run, table and table.name, step.state, *((table.base, table.version, table.uri) if table else 3 * (None,)))
    read_at = _time(step.registry_read_at)
    rows = "NULL" if step.rows is None else str(step.rows)
    known = ", ".join(map(_text, (*texts, columns)))
    return f"({known}, {read_at}, {rows}, {_text(step.job)}, CURRENT_TIMESTAMP())"


def _text(value: str | None) -> str:
    return "NULL" if value is None else quote_text(value)


def _time(at: datetime | None) -> str:
    return "NULL" if at is None else f"TIMESTAMP {quote_text(at.isoformat(' ', 'microseconds'))}"
