"""The embedded BigQuery answers late on a busy machine: requests wait for it longer than they would for BigQuery."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from onefold.core.names import TableId
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse, emulator_client

TABLE = {"tableReference": {"projectId": "p", "datasetId": "d", "tableId": "t"}, "type": "TABLE", "schema": {"fields": []}}


class _Late(BaseHTTPRequestHandler):
    """Answers once a request that allows less time would have been given up."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        threading.Event().wait(0.5)
        body = json.dumps(TABLE).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def late_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Late)
    _Late.asked.clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_request_that_allows_little_time_is_sent_once_and_answered() -> None:
    with late_server() as host:
        client = emulator_client("p", host)
        assert client.get_table("p.d.t", timeout=0.01).table_id == "t"
    assert len(_Late.asked) == 1


def test_the_warehouse_of_the_emulator_waits_for_minutes() -> None:
    with late_server() as host:
        warehouse = EmulatedWarehouse(emulator_client("p", host))
        assert warehouse.patience >= 300
        assert warehouse.read_columns(TableId("p", "d", "t")) == ()
    assert len(_Late.asked) == 1
