"""The command `onefold load-shredded` over the embedded BigQuery."""

from __future__ import annotations

import pytest
from support.cli import Run, check_json
from support.event_loads import EventScene

ID, ZIP = ("id", "INT64"), ("zip", "STRING")
FIRST, SECOND = "2026-11-23-08-00-00", "2026-11-23-08-00-01"


def options(events: EventScene) -> tuple[str, ...]:
    return ("load-shredded", "--runs", str(events.folder), "--dataset", events.dataset.name)


def test_a_dry_run_says_what_a_load_then_does(events: EventScene, run: Run) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    dry = run(*options(events), "--dry-run")
    assert dry.code == 2
    assert "com_acme_click_1: 1 row to load, new table" in dry.out
    assert events.warehouse.find("com_acme_click_1") is None
    done = run(*options(events))
    assert done.code == 0
    assert "com_acme_click_1: 1 row loaded, new table" in done.out
    assert done.out.splitlines()[-1] == "1 run: 1 loaded"
    events.shred(SECOND, "1-0-1", [ID, ZIP], {"id": 1}, bad={"invalid": 2, "unreadable": 1})
    assert "com_acme_click_1: 1 row loaded, with zip" in (out := run(*options(events)).out)
    assert "loaded, 3 bad events" in out
    assert run(*options(events)).out == "no run to load\n"
    assert run(*options(events), "--dry-run").code == 0


def test_json_names_each_run_and_table(events: EventScene, run: Run) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1}, {"id": 2})
    printed = run(*options(events), "--json")
    check_json(printed.out)
    assert printed.result["run"] == f"file://{events.folder}/run={FIRST}"
    (table,) = printed.result["tables"]
    job = table.pop("job")
    assert job.startswith("onefold_load_")
    assert table == {
        "table": "com_acme_click_1", "version": "1", "state": "loaded", "rows": 2, "action": "create", "added": [],
        "described": [], "undescribed": [], "error": None,
    }  # fmt: skip


def test_a_run_that_is_refused_fails_the_command_and_stops_no_other(events: EventScene, run: Run) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1}, algorithm=2)
    events.shred(SECOND, "1-0-0", [ID], {"id": 2})
    printed = run(*options(events))
    assert printed.code == 1
    assert "is by version 2 of the algorithm" in " ".join(printed.err.split())
    assert events.rows("id") == [(2,)]
    again = run(*options(events), "--json")
    check_json(again.out)
    assert (again.code, again.result["state"]) == (1, "refused")


@pytest.mark.usefixtures("dataset")
def test_the_runs_and_the_dataset_have_to_be_named(run: Run) -> None:
    printed = run("load-shredded", "--dataset", "events")
    assert printed.code == 1
    assert "expected --runs and --dataset" in printed.err


def test_the_settings_name_them_too(events: EventScene, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_EVENTS_RUNS", f"file://{events.folder}")
    monkeypatch.setenv("ONEFOLD_EVENTS_DATASET", events.dataset.name)
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    assert run("load-shredded").code == 0
    assert events.rows("id") == [(1,)]


@pytest.mark.usefixtures("dataset")
def test_an_address_of_another_form_is_refused(run: Run) -> None:
    printed = run("load-shredded", "--dataset", "events", "--runs", "https://acme.com/runs")
    assert printed.code == 1
    assert "expected gs://BUCKET/FOLDER" in printed.err


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_folder_that_does_not_exist_is_refused(events: EventScene, run: Run, more: tuple[str, ...]) -> None:
    printed = run(*options(events), *more)
    assert printed.code == 1
    assert "there is no such folder: name the --output of the shredder" in " ".join(printed.err.split())
    events.folder.mkdir()
    assert run(*options(events), *more).out == "no run to load\n"


def test_a_manifest_whose_rows_do_not_add_up_is_refused(events: EventScene, run: Run) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1}, {"id": 2}, events=4, bad={"invalid": 1})
    events.shred(SECOND, "1-0-0", [ID], {"id": 3})
    printed = run(*options(events))
    assert printed.code == 1
    assert "expected 3 rows, one of each good event, got 2" in " ".join(printed.err.split())
    assert events.rows("id") == [(3,)]


def test_a_line_stays_whole_whatever_the_width(events: EventScene, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    name = f"com_acme_{70 * 'x'}_1"
    events.shred(FIRST, "1-0-0", [ID], {"id": 1}, table=name)
    assert f"  {name}: 1 row loaded, new table" in run(*options(events)).out.splitlines()
