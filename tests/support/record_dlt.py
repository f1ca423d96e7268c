"""Records the tables that dlt itself writes, and the schema that it stores, into tests/golden/dlt_tables.json.

Run it where dlt is installed, apart from the project: `pip install 'dlt[duckdb]'`, then
`python tests/support/record_dlt.py tests/golden/dlt_tables.json`. It writes one table in each way, with telemetry off.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

TYPES = {"VARCHAR": "STRING", "BIGINT": "INT64", "DOUBLE": "FLOAT64", "TIMESTAMP WITH TIME ZONE": "TIMESTAMP"}
"""The types of BigQuery, by those of DuckDB."""
COLUMNS = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns "
    "WHERE table_schema = 'shop' ORDER BY table_name, ordinal_position"
)
SCHEMA = "SELECT schema FROM shop._dlt_version ORDER BY inserted_at DESC LIMIT 1"


def write(folder: Path) -> Path:
    os.environ |= {
        "DLT_DATA_DIR": str(folder / "dlt"), "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR",
    }  # fmt: skip
    import dlt

    database = folder / "dlt.duckdb"
    pipeline = dlt.pipeline("shop", destination=dlt.destinations.duckdb(str(database)), dataset_name="shop")
    scd2 = {"disposition": "merge", "strategy": "scd2"}
    loads = (
        ("appended", "append", [{"id": 1, "score": 5, "tags": ["a", "b"]}]),
        ("appended", "append", [{"id": 1, "score": 2.5}, {"id": 2, "score": "x"}]),
        ("merged", "merge", [{"id": 1, "v": 1}]),
        ("dimension", scd2, [{"id": 1, "v": 1}, {"id": 2, "v": 1}]),
        ("dimension", scd2, [{"id": 1, "v": 2}]),
        ("replaced", "replace", [{"id": 1, "v": 2}]),
    )
    for table, disposition, rows in loads:
        pipeline.run(rows, table_name=table, write_disposition=disposition, primary_key="id")
    return database


def recorded(database: Path) -> dict[str, object]:
    import duckdb

    with duckdb.connect(str(database), read_only=True) as connection:
        tables: dict[str, dict[str, str]] = {}
        for table, column, type_ in connection.execute(COLUMNS).fetchall():
            tables.setdefault(table, {})[column] = TYPES[type_]
        (schema,) = connection.execute(SCHEMA).fetchall()[0]
    return {"tables": tables, "schema": json.loads(schema)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        Path(sys.argv[1]).write_text(json.dumps(recorded(write(Path(place))), indent=1, sort_keys=True) + "\n")
