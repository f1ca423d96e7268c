"""Records the tables that dlt itself writes, and the schema that it stores, into tests/golden/dlt_tables.json.

Run it where dlt is installed, apart from the project: `pip install 'dlt[duckdb]'`, then
`python tests/support/record_dlt.py tests/golden/dlt_tables.json`. It writes one table in each way, with telemetry off.
With a file of loads as the second argument, `[[TABLE, DISPOSITION, [ROW, ...]], ...]`, it records these, with their rows.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TYPES = {"VARCHAR": "STRING", "BIGINT": "INT64", "DOUBLE": "FLOAT64", "TIMESTAMP WITH TIME ZONE": "TIMESTAMP"}
"""The types of BigQuery, by those of DuckDB."""
COLUMNS = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns "
    "WHERE table_schema = 'shop' ORDER BY table_name, ordinal_position"
)
SCHEMA = "SELECT schema FROM shop._dlt_version ORDER BY inserted_at DESC LIMIT 1"


SCD2 = {"disposition": "merge", "strategy": "scd2"}
NAMED = {**SCD2, "validity_column_names": ["valid_from", "valid_to"], "active_record_timestamp": "9999-12-31"}
LOADS = (
    ("appended", "append", [{"id": 1, "score": 5, "tags": ["a", "b"]}]),
    ("appended", "append", [{"id": 1, "score": 2.5}, {"id": 2, "score": "x"}]),
    ("merged", "merge", [{"id": 1, "v": 1}]),
    ("dimension", SCD2, [{"id": 1, "v": 1}, {"id": 2, "v": 1}]),
    ("dimension", SCD2, [{"id": 1, "v": 2}]),
    ("named", NAMED, [{"id": 1, "v": 1}, {"id": 2, "v": 1}]),
    ("named", NAMED, [{"id": 1, "v": 2}]),
    ("replaced", "replace", [{"id": 1, "v": 2}]),
)


def write(folder: Path, loads: Iterable[Any]) -> Path:
    """Write the tables into a new database of DuckDB."""
    os.environ |= {
        "DLT_DATA_DIR": str(folder / "dlt"), "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR",
    }  # fmt: skip
    import dlt

    database = folder / "dlt.duckdb"
    pipeline = dlt.pipeline("shop", destination=dlt.destinations.duckdb(str(database)), dataset_name="shop")
    for table, disposition, rows in loads:
        pipeline.run(rows, table_name=table, write_disposition=disposition, primary_key="id")
    return database


def recorded(database: Path, *, with_rows: bool) -> dict[str, object]:
    """Return the columns of each table, the schema that dlt stores, and the rows, their values as text."""
    import duckdb

    with duckdb.connect(str(database), read_only=True) as connection:
        tables: dict[str, dict[str, str]] = {}
        for table, column, type_ in connection.execute(COLUMNS).fetchall():
            tables.setdefault(table, {})[column] = TYPES[type_]
        (schema,) = connection.execute(SCHEMA).fetchall()[0]
        rows = {name: _rows(connection.execute(f"SELECT * FROM shop.{name}"), columns) for name, columns in tables.items()}
    found: dict[str, object] = {"tables": tables, "schema": json.loads(schema)}
    return {**found, "rows": rows} if with_rows else found


def _rows(result: Any, columns: Iterable[str]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[2]).read_text()) if len(sys.argv) > 2 else LOADS
    with tempfile.TemporaryDirectory() as place:
        content = recorded(write(Path(place), given), with_rows=given is not LOADS)
    Path(sys.argv[1]).write_text(json.dumps(content, indent=1, sort_keys=True, default=str) + "\n")
