"""`onefold capture status`: what it prints, its exit codes, and that it leaves the checkpoint alone."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.capture_checkpoint import FULL, POSITION
from support.cli import Run

from onefold.adapters.gcs import GcsObjects
from onefold.capture.checkpoint import Checkpoint
from onefold.capture.checkpoint_store import open_checkpoint_store
from onefold.capture.quarantine import Quarantined, TableProblem
from onefold.mysql.catalog import TableName

ENTRY = Quarantined(TableProblem(TableName("shop", "t"), "grant", "SELECT is missing", "run: GRANT ..."), POSITION)


def fresh(**changes: Any) -> Checkpoint:
    now = int(time.time())
    return replace(FULL, reached=replace(FULL.reached, as_of=now - 2), saved_at=now - 1, **changes)


@pytest.fixture(params=["folder", "bucket"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "state")
    request.getfixturevalue("object_store")
    return "gs://bucket/captures/shop"


def test_a_capture_that_is_up_to_date_is_shown_with_0(run: Run, address: str) -> None:
    store = open_checkpoint_store(address, GcsObjects())
    store.load()
    store.save(fresh())
    done = run("capture", "status", "--checkpoint", address)
    assert done.code == 0, done.err
    for shown in ("shop-db, into dataset shop", "mysql-bin.000007, 1234", "1 s", "shop.customer (20,000 rows)", "none"):
        assert shown in done.out
    store.save(fresh(epoch=9))  # the process that has the checkpoint goes on


def test_quarantine_is_shown_with_its_remedy_and_2(run: Run, tmp_path: Path) -> None:
    store = open_checkpoint_store(str(tmp_path), GcsObjects())
    store.load()
    store.save(fresh(quarantine=(ENTRY,)))
    done = run("capture", "status", "--checkpoint", tmp_path)
    assert (done.code, "run: GRANT ..." in done.out) == (2, True)


@pytest.mark.parametrize(
    ("key", "value"),
    [("saved_at", [1]), ("as_of", "x"), ("source", {}), ("epoch", "1"), ("patterns", {"include": [1], "exclude": []})],
)
def test_a_checkpoint_with_a_value_of_another_type_is_an_error_that_names_it(
    run: Run, tmp_path: Path, key: str, value: object
) -> None:
    store = open_checkpoint_store(str(tmp_path), GcsObjects())
    store.load()
    store.save(fresh())
    path = tmp_path / "checkpoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    done = run("capture", "status", "--checkpoint", tmp_path)
    assert (done.code, "the checkpoint cannot be read (expected " in done.err, key in done.err) == (1, True, True)


@pytest.mark.parametrize("key", ["saved_at", "as_of"])
@pytest.mark.parametrize("seconds", [10**10, 10**12, 10**20])
def test_times_that_no_clock_has_yet_are_a_problem(run: Run, tmp_path: Path, key: str, seconds: int) -> None:
    store = open_checkpoint_store(str(tmp_path), GcsObjects())
    store.load()
    store.save(fresh())
    path = tmp_path / "checkpoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: seconds}))
    for words in ([], ["--json"]):
        done = run("capture", "status", "--checkpoint", tmp_path, *words)
        assert (done.code, "ahead of the clock of this machine" in done.out) == (2, True), done.err


def test_an_error_is_json_of_the_command_below_capture(run: Run, tmp_path: Path) -> None:
    outcome = run("capture", "status", "--checkpoint", tmp_path / "nowhere", "--json")
    assert (outcome.code, outcome.json["command"], outcome.results, len(outcome.json["errors"])) == (
        1,
        "capture status",
        [],
        1,
    )


def test_the_json_has_the_report_and_the_limit_is_an_option(run: Run, tmp_path: Path) -> None:
    store = open_checkpoint_store(str(tmp_path), GcsObjects())
    store.load()
    store.save(replace(fresh(), reached=replace(FULL.reached, as_of=int(time.time()) - 1_000)))
    late = run("capture", "status", "--checkpoint", tmp_path, "--json")
    assert (late.code, late.result["ok"], len(late.result["problems"])) == (2, False, 1)
    enough = run("capture", "status", "--checkpoint", tmp_path, "--json", "--max-lag", 100_000)
    assert (enough.code, enough.result["ok"], enough.result["epoch"]) == (0, True, 3)


def test_a_missing_checkpoint_is_an_error_that_names_the_folder(run: Run, tmp_path: Path) -> None:
    done = run("capture", "status", "--checkpoint", tmp_path / "nowhere")
    assert (done.code, done.out) == (1, "")
    assert f"expected a checkpoint in {tmp_path / 'nowhere'}, got none" in done.err
    assert not (tmp_path / "nowhere").exists()


def test_the_options_of_capture_are_still_required_and_those_of_status_its_own(run: Run) -> None:
    assert "Missing option '--host'" in run("capture").err
    assert "No such option" in run("capture", "status", "--host", "db").err
