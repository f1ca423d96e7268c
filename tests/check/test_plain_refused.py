"""A plain change table is not checked against its source, and the reason says what to do instead."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest
from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import METADATA, METADATA_FIELDS, metadata_type
from onefold.check.inspect import Inspector
from onefold.check.request import CheckRequest
from onefold.pull.read.planner import Skipped
from onefold.settings.environment import Settings
from onefold.settings.sources import Source
from onefold.views.plain import with_plain_tables

if TYPE_CHECKING:
    import pymysql

    from onefold.pull.read.pulled import Loads


def test_a_plain_change_table_is_skipped_before_the_source_is_asked() -> None:
    cloud = FakeBigQuery()
    cloud.land("orders", {"id": "INT64", METADATA: str(metadata_type(METADATA_FIELDS))})
    request = CheckRequest("db", "shop", captured="shop", at=datetime.now(UTC))
    warehouse = BigQueryWarehouse(cloud.client())
    settings = with_plain_tables(warehouse, "shop", Settings())
    inspector = Inspector(request, Source("db", "10.0.0.3"), settings, warehouse, cast("Loads", None))
    with pytest.raises(Skipped, match=f"compare {PROJECT}.shop__onefold.orders_current with a copy") as refused:
        inspector.inspect(cast("pymysql.Connection", None), "orders")
    assert "its rows do not name their source" in str(refused.value)
