"""Fixtures of the tests of BigQuery's adapter."""

from __future__ import annotations

import pytest
from support.dataproc_stage import stage  # noqa: F401 a fixture
from support.fake_bigquery import FakeBigQuery
from support.sink import shop  # noqa: F401 a fixture

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.ports.warehouse import Warehouse


@pytest.fixture
def cloud() -> FakeBigQuery:
    cloud = FakeBigQuery()
    cloud.create_table("customer_v_abc", "id INT64", "address STRUCT<street STRING, zip INT64>")
    return cloud


@pytest.fixture
def warehouse(cloud: FakeBigQuery) -> Warehouse:
    return BigQueryWarehouse(cloud.client())
