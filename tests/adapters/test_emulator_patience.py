"""The embedded BigQuery answers late on a busy machine: requests wait for it longer than they would for BigQuery."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from support.rest import Answer, HttpRequest, serving

from onefold.core.names import TableId
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse, emulator_client

TABLE = {"tableReference": {"projectId": "p", "datasetId": "d", "tableId": "t"}, "type": "TABLE", "schema": {"fields": []}}


@contextmanager
def late_server() -> Iterator[tuple[str, list[str]]]:
    """Answer once a request that allows less time would have been given up. Yields the host and the paths."""
    paths: list[str] = []

    def answer(request: HttpRequest) -> Answer:
        paths.append(request.path)
        threading.Event().wait(0.5)
        return 200, TABLE

    with serving(answer) as url:
        yield url.removeprefix("http://"), paths


def test_a_request_that_allows_little_time_is_sent_once_and_answered() -> None:
    with late_server() as (host, paths):
        client = emulator_client("p", host)
        assert client.get_table("p.d.t", timeout=0.01).table_id == "t"
    assert len(paths) == 1


def test_the_warehouse_of_the_emulator_waits_for_minutes() -> None:
    with late_server() as (host, paths):
        warehouse = EmulatedWarehouse(emulator_client("p", host))
        assert warehouse.patience >= 300
        assert warehouse.read_columns(TableId("p", "d", "t")) == ()
    assert len(paths) == 1
