"""A table that is renamed in the embedded BigQuery has the new name, and no table has the old one, as in BigQuery."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import NotFound
from support.bigquery_emulator import EmulatedDataset


def test_a_renamed_table_is_read_and_described_by_its_new_name(dataset: EmulatedDataset) -> None:
    client, old, new = dataset.client, f"{dataset.name}.old", f"{dataset.name}.new"
    dataset.land("old", {"id": "INT64", "s": "STRUCT<a STRING>"}, "1, STRUCT('x')")
    before = client.get_table(old)
    dataset.run(f"ALTER TABLE {dataset.quoted('old')} RENAME TO new")
    with pytest.raises(NotFound):
        client.get_table(old)
    found = client.get_table(new)
    assert (found.schema, found.created, found.table_type) == (before.schema, before.created, "TABLE")
    assert [table.table_id for table in client.list_tables(dataset.name)] == ["new"]
    assert dataset.run(f"SELECT id, s.a FROM {dataset.quoted('new')}") == [(1, "x")]
    dataset.land("old", {"id": "INT64"}, "2")
    assert dataset.rows("old") == [(2,)]
    assert dataset.run(f"SELECT id FROM {dataset.quoted('new')}") == [(1,)]
