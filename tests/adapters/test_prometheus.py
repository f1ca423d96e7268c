"""The server of health and metrics, as Prometheus and a health check ask it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from onefold.adapters.prometheus import metrics_server
from onefold.adapters.send_event import local_session
from onefold.core.errors import Rejected
from onefold.core.shutdown import Stop
from onefold.ports.metrics import Metric
from onefold_lab.processes import free_port

SHOP = {"source": "shop-db"}
METRICS = (
    Metric("onefold_capture_lag_seconds", "The lag.", "gauge", 2, SHOP),
    Metric("onefold_capture_rows", "Rows.", "counter", 10, {**SHOP, "origin": "log"}),
    Metric("onefold_capture_rows", "Rows.", "counter", 5, {**SHOP, "origin": "copy"}),
)


class Process:
    """What the server is told about the process."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self.metrics: tuple[Metric, ...] = METRICS


@contextmanager
def get(process: Process) -> Iterator[str]:
    port = free_port()
    with metrics_server(port, lambda: process.problem, lambda: process.metrics):
        yield f"http://127.0.0.1:{port}"


def asked(url: str) -> requests.Response:
    with local_session() as session:
        return session.get(url, timeout=300)


def samples(text: str) -> dict[tuple[str, str], float]:
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(one.name, one.labels.get("origin", "")): one.value for one in found if one.labels.get("source") == "shop-db"}


def test_prometheus_reads_every_metric_as_it_is_at_that_moment() -> None:
    process = Process()
    with get(process) as url:
        first = asked(f"{url}/metrics")
        process.metrics = (Metric("onefold_capture_lag_seconds", "The lag.", "gauge", 9, SHOP),)
        second = asked(f"{url}/metrics?x=1")
    assert first.headers["Content-Type"].startswith("text/plain; version=")
    assert samples(first.text) == {
        ("onefold_capture_lag_seconds", ""): 2,
        ("onefold_capture_rows_total", "log"): 10,
        ("onefold_capture_rows_total", "copy"): 5,
    }
    assert samples(second.text) == {("onefold_capture_lag_seconds", ""): 9}
    assert "process_resident_memory_bytes" in first.text


def test_health_is_503_with_the_reason_while_the_process_is_not_well() -> None:
    process = Process()
    with get(process) as url:
        well = asked(f"{url}/healthz")
        process.problem = "no heartbeat"
        hung = asked(f"{url}/healthz")
    assert (well.status_code, well.text) == (200, "ok\n")
    assert (hung.status_code, hung.text) == (503, "no heartbeat\n")


def test_another_path_is_404() -> None:
    with get(Process()) as url:
        assert asked(f"{url}/").status_code == 404


def test_a_port_in_use_is_an_error_that_names_it() -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(Rejected, match=rf"port {port} \(Address already in use\): name another --metrics-port"),
            metrics_server(port, lambda: None, lambda: ()),
        ):
            pass


def test_the_port_is_free_again_afterwards() -> None:
    with get(Process()) as url:
        port = int(url.rpartition(":")[2])
    with metrics_server(port, lambda: None, lambda: ()):
        pass


def test_only_checks_of_the_main_loop_count_as_its_life(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr("onefold.core.shutdown.time.monotonic", lambda: now)
    stop = Stop()
    now = 1_400.0
    other = threading.Thread(target=stop.check)
    other.start()
    other.join()
    assert stop.seconds_since_check == 400
    stop.check()
    assert stop.seconds_since_check == 0
