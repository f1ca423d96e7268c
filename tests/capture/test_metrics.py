"""The metrics of a capture: those that docs/reference/capture-status.md lists, and those of the real process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families
from support.capture_process import Scene
from support.capture_receiver import receiving
from support.cli import Run
from support.database_servers import DatabaseServer
from support.mysql_load import make_tables
from test_docs import ROOT

from onefold.adapters.send_event import local_session
from onefold.capture.metrics import metrics_of
from onefold.capture.status import CaptureStatus
from onefold.mysql.binlog.events import LogPosition
from onefold_lab.processes import free_port

STATUS = CaptureStatus(
    "shop-db",
    LogPosition(3, "bin.000007", 1234),
    2,
    42,
    10,
    5,
    3,
    1,
    {"t.price: too large": 4, "t.day: zero": 2},
    ("shop.t",),
)
DATABASES = ("measured_1",)


def test_the_metrics_are_the_status() -> None:
    found = {
        (one.name.removeprefix("onefold_capture_"), one.labels.get("origin", "")): one.value for one in metrics_of(STATUS)
    }
    assert found == {
        ("lag_seconds", ""): 2, ("seconds_since_last_change", ""): 42, ("epoch", ""): 3, ("confirmed_file", ""): 7,
        ("confirmed_offset_bytes", ""): 1234, ("tables_waiting", ""): 3, ("tables_copying", ""): 1,
        ("tables_in_quarantine", ""): 1, ("rows", "log"): 10, ("rows", "copy"): 5, ("lost_values", ""): 6,
    }  # fmt: skip
    assert {one.labels["source"] for one in metrics_of(STATUS)} == {"shop-db"}


def test_what_is_unknown_has_no_metric_and_zero_has_one() -> None:
    names = {one.name for one in metrics_of(replace(STATUS, position=None, lag_seconds=None, tables_waiting=0))}
    assert not names & {"onefold_capture_lag_seconds", "onefold_capture_epoch", "onefold_capture_confirmed_offset_bytes"}
    assert "onefold_capture_tables_waiting" in names
    assert "onefold_capture_lag_seconds" in {one.name for one in metrics_of(replace(STATUS, lag_seconds=0))}


def test_the_docs_list_every_metric() -> None:
    page = (ROOT / "docs" / "reference" / "capture-status.md").read_text()
    listed = set(re.findall(r"^\| `(onefold_capture_\w+)", page, re.MULTILINE))
    assert listed == {one.name + ("_total" if one.kind == "counter" else "") for one in metrics_of(STATUS)}


# The real process


@pytest.fixture
def scene(mariadb: DatabaseServer, tmp_path: Path) -> Iterator[Scene]:
    make_tables(mariadb, DATABASES, 10)
    with receiving() as receiver:
        made = Scene(mariadb, receiver, tmp_path, DATABASES)
        yield made
        made.close()


def asked(port: int, path: str) -> requests.Response | None:
    try:
        with local_session() as session:
            return session.get(f"http://127.0.0.1:{port}{path}", timeout=300)
    except requests.exceptions.ConnectionError:
        return None


def values(port: int) -> dict[str, float]:
    answer = asked(port, "/metrics")
    found = text_string_to_metric_families(answer.text if answer else "")
    return {sample.name: sample.value for family in found for sample in family.samples}


def test_the_process_answers_while_it_captures(scene: Scene) -> None:
    port = free_port()
    life = scene.start("--metrics-port", str(port), "--snapshot")
    life.eventually(scene.is_caught_up)
    life.eventually(lambda: values(port).get("onefold_capture_lag_seconds", 99) < 99)
    found = values(port)
    assert found["onefold_capture_rows_total"] > 0
    assert found["onefold_capture_tables_in_quarantine"] == 0
    assert (answer := asked(port, "/healthz")) is not None
    assert answer.status_code == 200
    life.end()
    assert asked(port, "/healthz") is None


def test_a_process_that_waits_for_its_source_is_well_and_has_no_lag_yet(scene: Scene) -> None:
    port = free_port()
    scene.environ["ONEFOLD_METRICS_PORT"] = str(port)
    life = scene.start("--port", "9")
    life.eventually(lambda: scene.output.exists() and scene.events("try_again"))
    assert (answer := asked(port, "/healthz")) is not None
    assert answer.status_code == 200
    assert not [name for name in values(port) if name.startswith("onefold_")]
    life.end()


@pytest.mark.parametrize("port", ["0", "65536", "x", "²"])
def test_a_wrong_port_is_an_error_that_names_the_setting(run: Run, monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("ONEFOLD_METRICS_PORT", port)
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
    places = ("--source", "shop-db", "--dataset", "shop", "--checkpoint", "state")
    done = run("capture", "--host", "127.0.0.1", "--user", "root", *places, "--once")
    assert (done.code, f"ONEFOLD_METRICS_PORT {port!r}: expected a port" in done.err) == (1, True)
