"""What the tests of the sink share: records, and a shop whose tables are in the fake of the Storage Write API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import functions_framework
import pytest
import sink_records
from support.fake_bigquery import FakeBigQuery
from support.fake_write_api import FakeWriteApi, fake_write_api
from support.in_memory import MemoryPublisher, push_body
from werkzeug.test import Client

from onefold.adapters.bigquery.storage_write import StorageWrite
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import Rejected
from onefold.messages.change_records import change_message
from onefold.settings.environment import Settings
from onefold.sink.handler import RecordHandler

SOURCE = str(Path(__file__).parents[2] / "functions" / "main.py")
METADATA = (
    "STRUCT<uuid STRING, source_timestamp INT64, change_sequence_number STRING, change_type STRING, "
    "sort_keys ARRAY<STRING>, ingestion_method STRING, primary_key ARRAY<STRING>>"
)
ADDED = {"source_name": "STRING", "database_name": "STRING", "_landed_at": "TIMESTAMP", "datastream_metadata": METADATA}
COLUMNS = {"id": "INT64", "name": "STRING", "price": "NUMERIC", "born": "DATE", "große": "STRING", **ADDED}
TABLE = "shop.customer_v_abc"
NOW = datetime(2024, 2, 29, 3, 4, 5, 678_901, tzinfo=UTC)
SETTINGS = Settings(datasets=frozenset({"shop"}), topic_dead_letter="dead-letter", large_records="gs://bucket/records")


def record(data: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "data": data,
        "metadata": {
            "ingestion_method": "BINLOG",
            "source": "shop-db",
            "database_name": "customer1",
            "table_name": "customer",
            "table_version": "abc",
            "primary_key": ["id"],
            "change_type": "INSERT",
            "change_sequence_number": "1/FF/1000/0",
            "source_timestamp": 1_700_000_000_000,
            **metadata,
        },
    }


ADA = record({"id": 7, "name": "Ada", "price": "0.50", "born": "1815-12-10", "große": "x"})
LANDED_ADA = {"id": 7, "name": "Ada", "große": "x", "source_name": "shop-db", "database_name": "customer1"}


def message(*records: Any, dataset: str = "shop", table: str = "customer", version: str = "abc") -> bytes:
    return change_message(dataset, table, version, records)


class MemoryObjects:
    """`onefold.sink.handler.Objects` in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.read_addresses: list[str] = []

    def read(self, address: str) -> bytes:
        self.read_addresses.append(address)
        if address not in self.kept:
            raise Rejected(f"{address}: there is no such object (any more)")
        return self.kept[address]


class Shop:
    """A sink over a fake server, with one table that both it and the warehouse know."""

    def __init__(self, api: FakeWriteApi, landing: StorageWrite, cloud: FakeBigQuery) -> None:
        self.api = api
        self.landing = landing
        self.cloud = cloud
        self.publisher = MemoryPublisher()
        self.objects = MemoryObjects()
        self.sink = RecordHandler(SETTINGS, landing, self.objects, self.publisher, lambda: NOW)

    def create(self, table: str, columns: dict[str, str]) -> None:
        self.api.create(f"shop.{table}", columns)
        self.cloud.land(table, columns)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.api.rows[TABLE]

    @property
    def letters(self) -> list[Any]:
        return self.publisher.topics.get("dead-letter", [])


@pytest.fixture
def shop() -> Iterator[Shop]:
    cloud = FakeBigQuery()
    with fake_write_api() as (api, client):
        landing = StorageWrite(BigQueryWarehouse(cloud.client()), client)
        made = Shop(api, landing, cloud)
        made.create("customer_v_abc", COLUMNS)
        yield made
        landing.close()


def serve() -> Client:
    app = functions_framework.create_app(target="sink_records", source=SOURCE, signature_type="cloudevent")  # type: ignore[no-untyped-call]
    client: Client = app.test_client()
    return client


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, shop: Shop) -> Client:
    monkeypatch.setattr(sink_records, "sink", lambda: shop.sink)
    return serve()


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def post(client: Client, data: bytes) -> int:
    return client.post("/", data=push_body(data)).status_code


def stored(address: str, **names: str) -> bytes:
    body = {"dataset": "shop", "table": {"name": "customer", "version": "abc"}, "records_at": address}
    return json.dumps({**body, **names}).encode()
