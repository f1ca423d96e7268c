"""The sink over the embedded BigQuery: the real function, and the Storage Write API as far as the emulator has it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import grpc
import pytest
from google.cloud import bigquery
from google.cloud.bigquery_storage_v1 import BigQueryWriteClient
from google.cloud.bigquery_storage_v1.services.big_query_write.transports import BigQueryWriteGrpcTransport
from support.bigquery_emulator import EmulatedDataset
from support.fuzz_messages import EVENT_HEADERS
from support.in_memory import MemoryPublisher, push_body
from support.sink import MemoryObjects, message, record

from onefold.adapters.bigquery.schema import rest_field
from onefold.adapters.bigquery.storage_write import StorageWrite
from onefold.adapters.connect import connect, row_writer_for
from onefold.adapters.send_event import local_session
from onefold.core.names import TableId
from onefold.landing.table import ADDED
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.settings.environment import Settings
from onefold.sink.handler import RecordHandler
from onefold_lab.processes import function_server
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

# Without BIGNUMERIC, of which the emulator makes no table.
TYPES = {
    "id": "INT64", "wide": "NUMERIC", "ratio": "FLOAT64", "data": "BYTES", "born": "DATE",
    "at": "DATETIME", "seen": "TIMESTAMP", "took": "INTERVAL", "doc": "JSON", "größe": "STRING",
}  # fmt: skip
LANDED = {
    "id": -(2**63), "wide": "18446744073709551615", "ratio": 0.1, "data": "AP8A",
    "born": "1000-01-01", "at": "2020-01-02 03:04:05.987654", "seen": "2038-01-19 03:14:07.120000+00:00",
    "took": "0-0 0 -100:59:59.999999", "doc": '{"a": [1, null, "é"]}', "größe": "Zoë 日本 😀",
}  # fmt: skip


def sink_of(dataset: EmulatedDataset, publisher: MemoryPublisher) -> RecordHandler:
    settings = Settings(datasets=frozenset({dataset.name}), topic_dead_letter="dead-letter")
    return RecordHandler(settings, row_writer_for(connect(DEFAULT_PROJECT)), MemoryObjects(), publisher)


def made(dataset: EmulatedDataset, name: str, columns: Mapping[str, str], added: Sequence[Column] = ADDED) -> None:
    plain = [Column(column, parse_type(type_)) for column, type_ in columns.items()]
    schema = [rest_field(column) for column in (*plain, *added)]
    dataset.client.create_table(bigquery.Table(f"{DEFAULT_PROJECT}.{dataset.name}.{name}", schema))


def test_the_real_function_lands_rows_with_their_metadata(dataset: EmulatedDataset) -> None:
    made(dataset, "customer_v_abc", {"id": "INT64", "name": "STRING"})
    environ = {
        "BIGQUERY_EMULATOR_HOST": dataset.host,
        "ONEFOLD_PROJECT": DEFAULT_PROJECT,
        "ONEFOLD_TOPIC_DEAD_LETTER": "dead-letter",
    }
    before = datetime.now(UTC)
    with tempfile.TemporaryFile() as log:
        with function_server("sink_records", environ, log) as url, local_session() as session:
            for number in (1, 2):
                body = push_body(message(record({"id": number, "name": f"n{number}"}), dataset=dataset.name))
                assert session.post(url, data=body, headers=EVENT_HEADERS, timeout=300).status_code == 204
            body = push_body(message(record({"id": 1}, table_version="0fe"), dataset=dataset.name, version="0fe"))
            assert session.post(url, data=body, headers=EVENT_HEADERS, timeout=300).status_code == 500
        log.seek(0)
        lines = [json.loads(line) for line in log if line.startswith(b'{"severity"')]
    assert [line["event"] for line in lines] == ["landed", "landed", "try_again"]
    rows = dataset.run(
        "SELECT id, name, source_name, database_name, _landed_at, datastream_metadata.change_sequence_number, "
        "datastream_metadata.source_timestamp, datastream_metadata.primary_key[OFFSET(0)], datastream_metadata.uuid, "
        f"ARRAY_LENGTH(datastream_metadata.sort_keys) FROM {dataset.quoted('customer_v_abc')} ORDER BY id"
    )
    assert [row[:4] for row in rows] == [(1, "n1", "shop-db", "customer1"), (2, "n2", "shop-db", "customer1")]
    assert all(before <= row[4] <= datetime.now(UTC) for row in rows)  # type: ignore[operator]
    assert [row[5:9] for row in rows] == [("1/FF/1000/0", 1_700_000_000_000, "id", None)] * 2


def test_every_type_lands_in_the_emulator(dataset: EmulatedDataset) -> None:
    made(dataset, "customer_v_abc", TYPES)
    publisher = MemoryPublisher()
    sink_of(dataset, publisher).handle(push_body(message(record(LANDED), record({"id": 1}), dataset=dataset.name)))
    assert publisher.topics == {}
    expect_landed(dataset)


def expect_landed(dataset: EmulatedDataset) -> None:

    # The client makes something else of intervals and of JSON.
    shown = {"took": "CAST(took AS STRING)", "doc": "IF(doc IS NULL, NULL, TO_JSON_STRING(doc))"}
    names = ", ".join(shown.get(name, f"`{name}`") for name in TYPES)
    first, second = dataset.run(f"SELECT {names} FROM {dataset.quoted('customer_v_abc')} ORDER BY id")
    assert first == (
        -(2**63),
        Decimal(2**64 - 1),
        0.1,
        b"\0\xff\0",
        date(1000, 1, 1),
        datetime(2020, 1, 2, 3, 4, 5, 987_654),
        datetime(2038, 1, 19, 3, 14, 7, 120_000, tzinfo=UTC),
        "0-0 0 -100:59:59.999999",
        '{"a":[1,null,"é"]}',
        "Zoë 日本 😀",
    )
    assert second == (1, *[None] * 9)


def test_a_row_that_does_not_fit_is_found_there_as_well(dataset: EmulatedDataset) -> None:
    made(dataset, "customer_v_abc", TYPES)
    publisher = MemoryPublisher()
    records = [record({"id": 1}), record({"id": "x"}), record({"id": 2, "born": "1815-02-30"}), record({"id": 3})]
    sink_of(dataset, publisher).handle(push_body(message(*records, dataset=dataset.name)))
    assert [row[0] for row in dataset.run(f"SELECT id FROM {dataset.quoted('customer_v_abc')} ORDER BY id")] == [1, 3]
    assert [letter.attributes["reason"] for letter in publisher.topics["dead-letter"]] == [
        "column id: expected a whole number of 64 bits",
        "column born: there is no such date",
    ]


@pytest.fixture
def storage(dataset: EmulatedDataset, emulator_storage: str) -> Iterator[StorageWrite]:  # noqa: ARG001 it starts
    channel = grpc.insecure_channel(emulator_storage, options=[("grpc.enable_http_proxy", 0)])
    client = BigQueryWriteClient(transport=BigQueryWriteGrpcTransport(channel=channel))  # type: ignore[no-untyped-call]
    landing = StorageWrite(connect(DEFAULT_PROJECT), client)
    yield landing
    landing.close()


def test_flat_rows_land_by_the_storage_write_api_of_the_emulator(dataset: EmulatedDataset, storage: StorageWrite) -> None:
    flat = {name: type_ for name, type_ in TYPES.items() if name != "größe"}
    made(dataset, "flat_v_1", flat, added=())
    table = storage.open(TableId(DEFAULT_PROJECT, dataset.name, "flat_v_1"))
    assert table
    assert table.append([{name: LANDED[name] for name in flat}, {"id": 1, "seen": None}, {"id": "x"}]).keys() == {2}
    assert table.append([{"id": 2}]) == {}
    assert len(dataset.run(f"SELECT id FROM {dataset.quoted('flat_v_1')}")) == 3
