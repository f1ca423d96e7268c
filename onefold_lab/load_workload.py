"""Load a workload into the embedded BigQuery.

`DIR/changes/VERSION.jsonl` becomes TABLE_v_VERSION, as a sink would write it. `DIR/truth.jsonl` becomes TABLE_truth,
the rows of the source at the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from google.api_core import exceptions as api
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

from onefold.adapters.bigquery.client import TIMEOUT
from onefold.adapters.bigquery.errors import EMULATOR, translated
from onefold.changelog.generator import Row, type_of
from onefold.compare.files import read_rows
from onefold.core.errors import InvalidInput, Rejected
from onefold.core.names import TableId, check_names, quote, versioned_name
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, ONE_TRY, emulator_client

_ROWS_PER_REQUEST = 5_000
_RETRY = DEFAULT_RETRY.with_timeout(TIMEOUT)  # an error of the emulator stays one: the client would wait for ten minutes


def land(client: bigquery.Client, table: TableId, rows: Sequence[Row]) -> None:
    """Create a table with the rows of a workload.

    Args:
        client: a client of the emulator.
        table: the table to create.
        rows: at least one row; the first one gives the columns.

    Raises:
        Rejected: the table exists already, or BigQuery refuses a row.
    """
    columns = ", ".join(f"{quote(name)} {type_of(name)}" for name in rows[0])
    try:
        client.query(f"CREATE TABLE {table.quoted} ({columns})", retry=_RETRY).result()
    except api.Conflict as error:
        raise Rejected(f"{table} exists already: name another table, or restart the emulator") from error
    for start in range(0, len(rows), _ROWS_PER_REQUEST):
        # JSON has no decimals: BigQuery takes them as texts.
        block = json.loads(json.dumps(rows[start : start + _ROWS_PER_REQUEST], default=str))
        if failed := client.insert_rows_json(str(table), block, retry=_RETRY):
            raise Rejected(f"{table}: {failed[0]}")


def land_workload(folder: Path, dataset: str, name: str) -> Iterator[tuple[str, int]]:
    """Load the files of `onefold workload`, and yield each table with the number of its rows.

    Args:
        folder: the folder that `onefold workload` wrote.
        dataset: is created if it does not exist.
        name: the base name of the tables.

    Raises:
        InvalidInput: no emulator is set, or a name is invalid.
    """
    check_names([("dataset", dataset), ("table", name)])
    if not os.environ.get(EMULATOR):
        raise InvalidInput(f"{EMULATOR} is not set: start the stack with onefold local start")
    client = emulator_client(DEFAULT_PROJECT)
    files = {versioned_name(name, path.stem): path for path in sorted((folder / "changes").glob("*.jsonl"))}
    with translated(f"dataset {dataset}"):
        client.create_dataset(dataset, exists_ok=True, **ONE_TRY)
        for table, path in {**files, f"{name}_truth": folder / "truth.jsonl"}.items():
            rows = list(read_rows(path))
            if rows:  # without a row the columns are unknown
                land(client, TableId(DEFAULT_PROJECT, dataset, table), rows)
            yield table, len(rows)
