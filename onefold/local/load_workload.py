"""Rows of a workload in BigQuery's emulator: `python -m onefold.local.load_workload DIR DATASET TABLE`.

`DIR/changes/VERSION.jsonl` becomes TABLE_v_VERSION, as a sink would land it, and `DIR/truth.jsonl` TABLE_truth, as the
source has it at the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from google.api_core import exceptions as api
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT, emulator_client
from onefold.adapters.bigquery.errors import EMULATOR, translated
from onefold.changelog.generator import Row, type_of
from onefold.compare.files import read_rows
from onefold.core.errors import InvalidInput, OnefoldError, Rejected
from onefold.core.names import TableId, check_names, quote, versioned_name
from onefold.core.text import counted

_AT_ONCE = 5_000
_PATIENCE = 10.0


def land(client: bigquery.Client, table: TableId, rows: Sequence[Row]) -> None:
    """A new table with the rows of a workload. Raises Rejected where there is one of that name."""
    columns = ", ".join(f"{quote(name)} {type_of(name)}" for name in rows[0])
    try:
        client.query(f"CREATE TABLE {table.quoted} ({columns})").result()
    except api.Conflict as error:
        raise Rejected(f"{table} is there already: name another table, or start the emulator anew") from error
    for start in range(0, len(rows), _AT_ONCE):
        if failed := client.insert_rows_json(str(table), rows[start : start + _AT_ONCE]):
            raise Rejected(f"{table}: {failed[0]}")


def land_workload(folder: Path, dataset: str, name: str) -> Iterator[str]:
    """Land what `onefold workload` wrote, and tell of each table that was made."""
    check_names([("dataset", dataset), ("table", name)])
    if not os.environ.get(EMULATOR):
        raise InvalidInput(
            f"{EMULATOR} is not set: start the emulators with python -m onefold.local, and export what it prints"
        )
    client = emulator_client(DEFAULT_PROJECT)
    files = {versioned_name(name, path.stem): path for path in sorted((folder / "changes").glob("*.jsonl"))}
    with translated(f"dataset {dataset}"):
        client.create_dataset(dataset, exists_ok=True, retry=DEFAULT_RETRY.with_timeout(_PATIENCE))
        for table, path in {**files, f"{name}_truth": folder / "truth.jsonl"}.items():
            rows = list(read_rows(path))
            if rows:  # without one there are no columns either
                land(client, TableId(DEFAULT_PROJECT, dataset, table), rows)
            yield f"{dataset}.{table}: {counted(len(rows), 'row')}"


def main(arguments: Sequence[str]) -> int:
    try:
        folder, dataset, name = arguments
    except ValueError:
        sys.stderr.write("usage: python -m onefold.local.load_workload DIR DATASET TABLE\n")
        return 1
    try:
        for line in land_workload(Path(folder), dataset, name):
            sys.stdout.write(f"{line}\n")
    except OnefoldError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
