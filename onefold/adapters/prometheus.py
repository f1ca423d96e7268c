"""An HTTP server for Prometheus and for health checks: `/metrics` and `/healthz`."""

from __future__ import annotations

import contextlib
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from onefold.core.errors import Rejected
from onefold.core.extras import how_to_install
from onefold.ports.metrics import Metric

_REQUEST_SECONDS = 10
_TEXT = "text/plain; charset=utf-8"


@contextlib.contextmanager
def metrics_server(
    port: int, health: Callable[[], str | None], read: Callable[[], Iterable[Metric]]
) -> Iterator[ThreadingHTTPServer]:
    """Answer at a port of all addresses of this machine while the block runs.

    Args:
        port: the port.
        health: returns what is wrong with the process, or None. It is called by another thread, with each `/healthz`.
        read: returns the present metrics. It is called by another thread, with each `/metrics`.

    Raises:
        Rejected: `prometheus-client` is missing, or the port cannot be used.
    """
    render = _renderer(read)
    try:
        server = _Server(("", port), _Handler)
    except OSError as error:
        raise Rejected(f"metrics cannot be served at port {port} ({error.strerror}): name another --metrics-port") from error
    server.health, server.render = health, render
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def _renderer(read: Callable[[], Iterable[Metric]]) -> Callable[[str], tuple[bytes, str]]:
    """Return a function from the header Accept to the metrics as bytes, and their content type.

    Raises:
        Rejected: `prometheus-client` is missing.
    """
    try:
        from prometheus_client import CollectorRegistry, ProcessCollector
        from prometheus_client.exposition import choose_encoder
    except ModuleNotFoundError as error:
        raise Rejected(f"prometheus-client is missing: {how_to_install('metrics')}, or leave --metrics-port out") from error
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Collector(read))

    def render(accept: str) -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept)
        return encode(registry), content_type

    return render


class _Collector:
    """A collector of prometheus_client: its protocol asks for `collect`."""

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Any]:
        """Return a family for each name, with all values of that name."""
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        families: dict[str, Any] = {}
        for metric in self._read():
            kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = families.setdefault(metric.name, kind(metric.name, metric.text, labels=list(metric.labels)))
            family.add_metric(list(metric.labels.values()), metric.value)
        return families.values()


class _Server(ThreadingHTTPServer):
    """A server whose requests never keep the process from ending."""

    daemon_threads = True
    health: Callable[[], str | None]
    render: Callable[[str], tuple[bytes, str]]

    def server_bind(self) -> None:
        """Bind without looking up the name of this machine, which may take many seconds."""
        socketserver.TCPServer.server_bind(self)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET `/healthz` and `/metrics`."""

    server: _Server
    timeout = _REQUEST_SECONDS

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/healthz":
            problem = self.server.health()
            self._answer(503 if problem else 200, f"{problem or 'ok'}\n".encode(), _TEXT)
        elif path == "/metrics":
            self._answer(200, *self.server.render(self.headers.get("Accept", "")))
        else:
            self._answer(404, b"expected /healthz or /metrics\n", _TEXT)

    def _answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: standard output is the log of the process."""
