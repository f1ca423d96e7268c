"""The embedded BigQuery gets other requests than BigQuery where they take less time, and gives the same answers."""

from __future__ import annotations

from support.bigquery_emulator import EmulatedDataset

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.names import TableId
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse


def test_versions_are_those_of_information_schema(dataset: EmulatedDataset) -> None:
    dataset.land("customer_v_abc", {"id": "INT64", "größe": "STRING", "at": "STRUCT<a ARRAY<INT64>, b NUMERIC>"})
    dataset.land("customer_v_def", {"id": "STRING", "tags": "ARRAY<STRING>"})
    dataset.land("customer_vip_v_abc", {"id": "INT64"})
    dataset.run(f"CREATE VIEW {dataset.quoted('customer_v_view')} AS SELECT 1 AS one")
    warehouse, base = EmulatedWarehouse(dataset.client), TableId(DEFAULT_PROJECT, dataset.name, "customer")
    versions = warehouse.read_versions(base)
    assert warehouse.calls == 1
    assert {version.id for version in versions} == {"abc", "def"}
    assert set(versions) == set(BigQueryWarehouse.read_versions(warehouse, base))
    assert warehouse.read_versions(base.sibling("nothing")) == ()
