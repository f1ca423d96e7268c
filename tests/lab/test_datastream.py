"""The stand-in for Datastream: rows that capture has landed, in the shape of Datastream's append-only mode."""

from __future__ import annotations

from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

from onefold.changelog.metadata import CAPTURE_FIELDS, METADATA_FIELDS, metadata_type

METADATA = metadata_type(CAPTURE_FIELDS)
ADDED = {"source_name": "STRING", "database_name": "STRING", "_landed_at": "TIMESTAMP", "datastream_metadata": str(METADATA)}


@pytest.fixture
def plain(dataset: EmulatedDataset) -> EmulatedDataset:
    """The dataset of the source's database, in which Datastream's tables are."""
    name = f"plain_{dataset.name}"
    dataset.client.create_dataset(name)
    return EmulatedDataset(dataset.host, dataset.client, name)


def land(dataset: EmulatedDataset, database: str, version: str, row: dict[str, Any], sequence: str, second: int) -> None:
    """Land one insertion of a database, as the sink does."""
    metadata = {
        "change_type": "INSERT", "change_sequence_number": sequence, "source_timestamp": 1000, "ingestion_method": "BINLOG",
        "primary_key": ["id"], "sort_keys": [],
    }  # fmt: skip
    added = {"database_name": database, "_landed_at": f"2026-11-20 10:00:0{second}+00", "datastream_metadata": metadata}
    table = f"{dataset.client.project}.{dataset.name}.account_v_{version}"
    assert dataset.client.insert_rows_json(table, [{**row, **added}]) == []


def test_only_new_rows_are_appended_in_the_shape_of_datastream(
    run: Run, dataset: EmulatedDataset, plain: EmulatedDataset
) -> None:
    dataset.land("account_v_abc", {"id": "INT64", "name": "STRING", **ADDED})
    land(dataset, plain.name, "abc", {"id": 1, "name": "Ada"}, "6553F100/B/1000/0", 1)
    land(dataset, "another", "abc", {"id": 9, "name": "of another database"}, "6553F100/B/1001/0", 1)
    command = ("local", "datastream", dataset.name, plain.name)
    assert run(*command).out == f"{plain.name}.account: 1 change more\n"
    assert "no change" in run(*command).out

    dataset.land("account_v_def", {"id": "INT64", "name": "STRING", "email": "STRING", **ADDED})
    land(dataset, plain.name, "def", {"id": 2, "name": "Eva", "email": "e"}, "6553F100/B/1002/0", 1)  # in one moment
    assert run(*command, "--json").results == [{"table": f"{plain.name}.account", "rows": 1}]

    assert plain.run(f"SELECT id, name, email FROM {plain.quoted('account')} ORDER BY id") == [
        (1, "Ada", None),
        (2, "Eva", "e"),
    ]
    (metadata, *_), _ = plain.run(f"SELECT datastream_metadata FROM {plain.quoted('account')} ORDER BY id")
    assert isinstance(metadata, dict)
    assert list(metadata) == list(METADATA_FIELDS)
    assert {**metadata, "uuid": ""} == {
        "uuid": "", "source_timestamp": 1000, "change_sequence_number": "6553F100/B/1000/0", "change_type": "INSERT",
        "sort_keys": ["1000", "mysql-bin.000011", "4096"],
    }  # fmt: skip
    assert len(metadata["uuid"]) == 32


def test_a_column_of_another_type_is_refused(run: Run, dataset: EmulatedDataset, plain: EmulatedDataset) -> None:
    plain.land("account", {"id": "STRING", "datastream_metadata": str(metadata_type(METADATA_FIELDS))})
    dataset.land("account_v_abc", {"id": "INT64", **ADDED})
    land(dataset, plain.name, "abc", {"id": 1}, "6553F100/B/1000/0", 1)
    refused = run("local", "datastream", dataset.name, plain.name)
    assert (refused.code, "account.id is STRING, and the source has INT64 now" in refused.err) == (1, True)
