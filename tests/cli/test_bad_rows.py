"""The commands `bad-rows summary` and `bad-rows retry` over folders of this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.cli import Run, check_json
from support.registries import document
from support.shred_job import CLICK, ShredScene, scene_with_clicks
from support.shred_scene import ID, contexts, enriched

from onefold.events.shred.bad_rows import BadRow
from onefold.events.shred.manifest import MANIFEST, RunManifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST, SECOND, THIRD = (f"2026-11-2{day}-08-00-00" for day in (3, 4, 5))
USER = "iglu:com.acme/user/jsonschema/1-0-0"
UNKNOWN = f"the registry has no schema {USER}: add it, then shred the bad row again"
APART = json.dumps(
    {"kind": "unknown_schema", "reasons": [UNKNOWN], "entity": {
        "root_id": ID, "root_tstamp": "2026-11-22T23:59:59Z", "app_id": "shop", "place": "contexts[0]", "schema": USER,
        "data": {"email": "ann@example.com"}, "kept": False,
    }}
)  # fmt: skip


def bad(kind: str, reason: str, original: str) -> str:
    return BadRow(kind, (reason,), original).to_json()  # type: ignore[arg-type]


def write_run(
    folder: Path, run: str, lines: Sequence[str], inputs: Sequence[str] = (), *, finished: bool = True, window: int = 0
) -> str:
    """Write the bad rows of a run, and return the address of their file as a manifest has it."""
    path = folder / f"run={run}" / "bad" / "part-0.json"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    if finished:
        now = datetime.now(UTC)
        manifest = RunManifest(run, "csv", "none", "/r", tuple(inputs), (), (), len(lines), {"x": len(lines)}, now, now)
        counts = {"window_days": window, "runs": 0, "ids": 0, "left_out": 0, "renamed": 0} if window else {}
        (path.parent.parent / MANIFEST).write_text(replace(manifest, duplicates=counts).to_json())
    return f"file:{path}"


def test_bad_rows_are_counted_by_reason_schema_app_and_day(run: Run, tmp_path: Path) -> None:
    shop = enriched("enriched-tsv", app_id="shop", user_id="ann")
    invalid = [bad("invalid", f'{CLICK}: /id: "{text}" is not of type "integer"', shop) for text in ("ann", "bob")]
    other = bad("invalid", f'{CLICK}: /id: "c" is not of type "integer"', enriched("enriched-json", app_id="app"))
    write_run(tmp_path, FIRST, [*invalid, APART, other, bad("unreadable", "expected 131", "{nonsense"), "no bad row"])
    printed = run("bad-rows", "summary", "--runs", tmp_path, "--json")
    check_json(printed.out)
    found = {tuple(one[name] for name in ("kind", "schema", "app", "day", "what", "rows")) for one in printed.results}
    assert found == {
        ("invalid", CLICK, "shop", "2026-11-23", "event", 2),
        ("invalid", CLICK, "app", "2026-11-23", "event", 1),
        ("unknown_schema", USER, "shop", "2026-11-22", "entity", 1),
        ("unreadable", None, None, "2026-11-23", "event", 1),
    }
    assert len(printed.results) == 5
    first = printed.results[0]
    assert (first["reason"], first["rows"]) == (f'{CLICK}: /id: "..." is not of type "integer"', 2)
    place = f"file://{tmp_path}/run={FIRST}/bad/part-0.json"
    assert first["example"] == {
        "file": place, "line": 1, "event_id": ID, "reason": f'{CLICK}: /id: "ann" is not of type "integer"'
    }  # fmt: skip
    text = run("bad-rows", "summary", "--runs", tmp_path).out
    assert "6 bad rows in 1 file" in text
    assert "part-0.json:1" in text
    assert not {name for name in ("ann@example.com", "ann", "bob") if name in text}


def test_bad_rows_that_a_run_has_read_or_that_are_of_no_finished_run_do_not_wait(run: Run, tmp_path: Path) -> None:
    first = write_run(tmp_path, FIRST, [APART])
    write_run(tmp_path, SECOND, [APART], [first])
    write_run(tmp_path, THIRD, [APART], finished=False)
    assert "1 bad row in 1 file" in run("bad-rows", "summary", "--runs", tmp_path).out
    assert run("bad-rows", "summary", "--runs", tmp_path, "--run", FIRST).out == "0 bad rows in 0 files\n"
    # The folders of runs may be deleted, and the order in which they finished says still what they have read.
    (tmp_path / "_commits").mkdir()
    (tmp_path / "_commits" / "0000000001.json").write_text(
        json.dumps({"run": THIRD, "inputs": [f"file:{tmp_path}/run={SECOND}/bad/part-0.json"]})
    )
    assert run("bad-rows", "summary", "--runs", tmp_path).out == "0 bad rows in 0 files\n"


def test_runs_that_are_not_there_are_named(run: Run, tmp_path: Path) -> None:
    write_run(tmp_path, FIRST, [APART])
    printed = run("bad-rows", "summary", "--runs", tmp_path, "--run", SECOND)
    assert (printed.code, f"there is no run file://{tmp_path}/run={SECOND}" in printed.err) == (1, True)
    assert "expected --runs" in run("bad-rows", "summary").err


def test_a_dry_run_names_the_job_that_would_read_them(run: Run, tmp_path: Path) -> None:
    write_run(tmp_path, FIRST, [APART])
    words = ("bad-rows", "retry", "--runs", tmp_path, "--registry", "/r", "--input", "enriched-tsv", "--warehouse")
    shown = run(*words, "redshift", "--format", "parquet", "--dry-run")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines() == [
        "1 file of bad rows of 1 run",
        f"would run shred.py --events file:{tmp_path}/run={FIRST}/bad --registry /r --output=file:{tmp_path} "
        "--input=enriched-tsv --unknown=bad_event --warehouse=redshift --format=parquet",
    ]
    check_json(run(*words, "redshift", "--dry-run", "--json").out)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run={FIRST}"]


def test_a_retry_writes_for_the_warehouse_of_the_runs_and_is_refused_for_another_one(run: Run, tmp_path: Path) -> None:
    write_run(tmp_path, FIRST, [APART])
    path = tmp_path / f"run={FIRST}" / MANIFEST
    words = ("bad-rows", "retry", "--runs", tmp_path, "--registry", "/r", "--input", "enriched-tsv", "--dry-run")
    assert run(*words).out.splitlines()[-1].endswith("--unknown=bad_event --warehouse=redshift")
    other = run(*words, "--warehouse", "bigquery")
    assert (other.code, "--warehouse bigquery: the runs of the folder are for redshift" in other.err) == (1, True)
    # A format alone was once a warehouse, too; the runs say theirs.
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": "parquet", "warehouse": "redshift"}))
    assert run(*words, "--format", "parquet").out.splitlines()[-1].endswith("--warehouse=redshift --format=parquet")
    assert run(*words, "--format", "csv").out.splitlines()[-1].endswith("--warehouse=redshift")


def test_a_retry_has_the_layout_of_the_runs(run: Run, tmp_path: Path) -> None:
    write_run(tmp_path, FIRST, [APART])
    path = tmp_path / f"run={FIRST}" / MANIFEST
    columns = [["event_id", "STRING"], ["unstruct_event_com_acme_user_1", "STRUCT<`id` INT64>"]]
    tables = [{"name": "events", "columns": columns}]
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": "parquet", "tables": tables}))
    words = ("bad-rows", "retry", "--runs", tmp_path, "--registry", "/r", "--input", "enriched-tsv", "--dry-run")
    assert run(*words).out.splitlines()[-1].endswith("--unknown=bad_event --warehouse=bigquery --layout=wide")
    assert run(*words, "--layout", "tables").out.splitlines()[-1].endswith("--warehouse=bigquery")


def test_a_retry_looks_for_duplicates_where_a_run_did_from_its_oldest_bad_rows_on(run: Run, tmp_path: Path) -> None:
    first, second = ((datetime.now(UTC) - timedelta(days=days, hours=1)).strftime("%Y-%m-%d-%H-%M-%S") for days in (30, 3))
    read = write_run(tmp_path, first, [APART], window=7)
    write_run(tmp_path, second, [APART], [read], window=2)
    words = ("bad-rows", "retry", "--runs", tmp_path, "--registry", "/r", "--format", "csv", "--input", "enriched-tsv")
    # What a bad event of three days ago is a copy of was loaded up to seven days earlier.
    assert run(*words, "--dry-run").out.splitlines()[-1].endswith(" --duplicates-window=11")
    assert "--duplicates-window=5" in run(*words, "--duplicates-window", 5, "--dry-run").out
    assert "duplicates" not in run(*words, "--duplicates-window", 0, "--dry-run").out
    path = tmp_path / f"run={first}" / MANIFEST
    path.write_text(path.read_text().replace('"window_days": 7', '"window_days": "7"'))
    refused = run(*words, "--dry-run")
    assert (refused.code, "is no manifest" in refused.err) == (1, True)


@pytest.mark.spark
def test_an_event_that_was_bad_twice_and_is_delivered_again_after_its_retry_is_one_row(
    spark: SparkSession, run: Run, tmp_path: Path
) -> None:
    scene: ShredScene = scene_with_clicks(tmp_path)
    original = {"type": "string", "format": "uuid"}
    scene.add_schemas(document(name="duplicate", vendor="com.snowplowanalytics.snowplow", originalEventId=original))
    event = enriched("enriched-tsv", contexts=contexts({"schema": USER, "data": {"id": 1}}), event_fingerprint="f")
    scene.write("a.txt", [event, event])
    scene.shred(spark, "--duplicates-window=7", input="enriched-tsv")
    scene.add_schemas(document("1-0-0", "user"))
    words = ("bad-rows", "retry", "--runs", scene.output, "--registry", scene.registry, "--format", "csv")
    done = run(*words, "--input", "enriched-tsv", "--json")
    assert done.result["report"]["tables"] == {"com_acme_user_1": 1, "events": 1}
    scene.write("b.txt", [event])
    assert scene.shred(spark, "--duplicates-window=7", input="enriched-tsv").tables == {}


@pytest.mark.spark
def test_a_retry_loads_entities_once_and_a_second_one_finds_nothing(spark: SparkSession, run: Run, tmp_path: Path) -> None:
    scene: ShredScene = scene_with_clicks(tmp_path)
    scene.write("a.txt", [enriched("enriched-tsv", contexts=contexts({"schema": USER, "data": {"id": 1}}))])
    scene.shred(spark, input="enriched-tsv", unknown="bad_entity")
    scene.add_schemas(document("1-0-0", "user"))
    words = ("bad-rows", "retry", "--runs", scene.output, "--registry", scene.registry, "--format", "csv")
    done = run(*words, "--input", "enriched-tsv", "--json")
    check_json(done.out)
    assert done.result["report"]["tables"] == {"com_acme_user_1": 1}
    assert run(*words, "--input", "enriched-tsv").out == "no bad rows wait: nothing to do\n"
