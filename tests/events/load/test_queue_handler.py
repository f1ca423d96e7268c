"""Messages of a queue of SQS, by which runs in S3 are loaded: what is delivered again, and what is logged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from support.memory_events import MemoryTables, MemoryWarehouse

from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.events.load.load import Loader
from onefold.events.load.queue_handler import QueueHandler
from onefold.events.load.runs import FolderRuns
from onefold.events.shred.manifest import MANIFEST, RunManifest
from onefold.ports.objects import StoredObject

RUNS = "s3://acme/shredded"
FIRST, SECOND, OPEN = (f"2026-11-23-08-0{number}-00" for number in range(3))
NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
LOOK = "{}"


def manifest(run: str) -> bytes:
    at = datetime(2026, 11, 23, 8, tzinfo=UTC)
    return RunManifest(run, "csv", "none", "r", (), (), (), 0, {}, at, at).to_json().encode()


class Objects:
    """Two finished runs, one that is under way, and a folder that has the name of no run."""

    def __init__(self, first: bytes) -> None:
        self.manifests = {FIRST: first, SECOND: manifest(SECOND)}

    def find(self, address: str) -> StoredObject | None:
        found = self.manifests.get(address.removeprefix(f"{RUNS}/run=").removesuffix(f"/{MANIFEST}"))
        return None if found is None else StoredObject(found, 1)

    def list_folders(self, address: str) -> list[str]:
        assert address == RUNS
        return [*(f"run={run}" for run in (FIRST, SECOND, OPEN)), "run=2026-02-30-08-00-00", "_commits"]


def about(*runs: str) -> str:
    """Return a message as S3 writes it, in which the key of an object is encoded."""
    keys = [f"shredded/run%3D{run}/{MANIFEST}" for run in runs]
    return json.dumps({"Records": [{"s3": {"bucket": {"name": "acme"}, "object": {"key": key}}} for key in keys]})


def batch(bodies: Iterable[str]) -> dict[str, Any]:
    return {"Records": [{"messageId": f"m{number}", "body": body} for number, body in enumerate(bodies)]}


def again(*bodies: str, warehouse: MemoryWarehouse | None = None, first: bytes = manifest(FIRST)) -> list[str]:
    """Handle messages, and return those that are delivered again."""
    loader = Loader(FolderRuns(RUNS, Objects(first)), warehouse or MemoryWarehouse(MemoryTables(), warehouse="redshift"))
    handled: Mapping[str, Any] = QueueHandler(loader, lambda: NOW).handle(batch(bodies))
    return [one["itemIdentifier"] for one in handled["batchItemFailures"]]


def lines(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return [line for line in found if line["event"] == event]


def test_a_message_about_one_run_has_all_finished_runs_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    warehouse = MemoryWarehouse(MemoryTables(), warehouse="redshift")
    assert again(about(FIRST), warehouse=warehouse) == []
    assert warehouse.state.done == {(f"{RUNS}/run={FIRST}", ""), (f"{RUNS}/run={SECOND}", "")}
    assert [line["run"] for line in lines(capsys, "run_loaded")] == [f"{RUNS}/run={FIRST}", f"{RUNS}/run={SECOND}"]
    assert again(about(FIRST), about(SECOND), LOOK, warehouse=warehouse) == []
    assert lines(capsys, "run_loaded") == []


def test_a_run_that_is_refused_keeps_its_own_messages_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert again(about(SECOND), about(FIRST), LOOK, about(SECOND, FIRST), first=b"no manifest") == ["m1", "m3"]
    (line,) = lines(capsys, "runs_waiting")
    assert (line["runs"], line["run"], line["seconds"]) == (1, f"{RUNS}/run={FIRST}", 3600)


def test_where_no_run_waits_the_age_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    again(LOOK)
    (line,) = lines(capsys, "runs_waiting")
    assert (line["runs"], line["seconds"], "run" in line) == (0, 0, False)


@pytest.mark.parametrize("body", ["no JSON", "[]", '{"Records": [{}]}', '{"Records": 1}', '{"Records": [{"s3": []}]}'])
def test_a_message_of_another_form_ends_among_the_dead_letters_and_the_others_are_handled(
    capsys: pytest.CaptureFixture[str], body: str
) -> None:
    assert again(body, about(FIRST)) == ["m0"]
    (line,) = lines(capsys, "put_aside")
    assert line["message_id"] == "m0"


def test_the_test_message_of_s3_is_done() -> None:
    assert again('{"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "acme"}') == []


class Broken(MemoryWarehouse):
    """A warehouse whose answer is an error."""

    error: Exception

    def prepare(self) -> None:
        raise self.error


def broken(error: Exception) -> Broken:
    warehouse = Broken(MemoryTables(), warehouse="redshift")
    warehouse.error = error
    return warehouse


@pytest.mark.parametrize("error", [TryAgain("later"), NotFound("dev.atomic does not exist"), Rejected("no right")])
def test_where_nothing_can_be_loaded_all_messages_are_delivered_again(
    capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    assert again(about(FIRST), LOOK, warehouse=broken(error)) == ["m0", "m1"]
    (line,) = lines(capsys, "load_failed")
    assert line["reason"] == str(error)


def test_an_error_in_onefold_is_logged_and_ends_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        again(LOOK, warehouse=broken(ZeroDivisionError("a bug")))
    (line,) = lines(capsys, "failed")
    assert "ZeroDivisionError: a bug" in line["stack_trace"]
