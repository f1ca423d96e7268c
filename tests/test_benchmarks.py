"""The benchmarks at a small size: they run, their peers agree, each run reads its rows anew, and the page names them all."""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.debezium_engine import fetch_jars

from benchmarks import (
    bigquery_path,
    capture,
    capture_debezium,
    capture_start,
    checks,
    cold_start,
    fixed_cost,
    inventory,
    loads,
    memory,
    quick,
    reconcile,
    registry,
    render,
    sink,
    visible,
)
from benchmarks.check_peers import Result, SourceAlone, ViewAlone
from benchmarks.check_scene import PLANTED
from benchmarks.load_peers import Server
from benchmarks.quiet import Rounds
from benchmarks.report import replaced
from onefold.doctor.java import java_hint

pytestmark = [pytest.mark.long, pytest.mark.heavy]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text()
PROGRAMS = (
    bigquery_path,
    capture,
    capture_debezium,
    capture_start,
    checks,
    cold_start,
    fixed_cost,
    inventory,
    loads,
    memory,
    quick,
    reconcile,
    registry,
    render,
    sink,
    visible,
)
ROWS, CHANGES = 5_000, 200


@pytest.fixture(scope="module")
def printed() -> str:
    """What the benchmark of the job prints, with every peer that can be had here."""
    if hint := java_hint():
        pytest.skip(hint)
    command = [sys.executable, "-m", "benchmarks.reconcile", "--rows", str(ROWS), "--shares", str(CHANGES / ROWS)]
    command += ["--repeat", "1", "--memory", "1g"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5_000:]
    return done.stdout


def cells(table: str) -> Iterator[list[str]]:
    """The cells of each line of a table in Markdown, without its header."""
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:])


def test_the_job_is_compared_with_its_peers_whose_results_are_the_same(printed: str) -> None:
    found = {line[2]: line for line in cells(printed)}
    assert {"onefold", "ROW_NUMBER()", "DuckDB"} <= set(found)
    assert all(line[0] == str(CHANGES) and float(line[3]) >= 0 for line in found.values())
    assert all(float(line[4]) >= 0 for name, line in found.items() if name != "onefold")


def test_every_peer_in_spark_reads_base_and_changes_in_each_counted_round(printed: str) -> None:
    """A fold that an earlier round had cached would be read from memory, where its rows do not count.

    Onefold's base is read by Arrow, which Spark does not count.
    """
    in_spark = [line for line in cells(printed) if line[2] not in ("DuckDB", "delta-rs")]
    least = {line[2]: CHANGES if line[2] == "onefold" else ROWS + CHANGES for line in in_spark}
    assert all(int(line[5].replace(",", "")) >= least[line[2]] for line in in_spark), in_spark


def test_versions_and_sizes_are_printed_with_the_figures(printed: str) -> None:
    (machine,) = re.findall(r"^Measured on .*$", printed, re.MULTILINE)
    for text in (f"{os.cpu_count()} cores", "Spark 4.", "DuckDB 1.", f"{ROWS:,} rows", "MB of Parquet", "1g of memory"):
        assert text in machine


def test_every_ratio_below_one_has_a_note(printed: str) -> None:
    lost = {line[2] for line in cells(printed) if line[4] and float(line[4]) < 1}
    assert {line.split("slower than ")[1].split(" at ")[0] for line in printed.splitlines() if line.startswith("- ")} == lost


def test_different_results_end_the_benchmark() -> None:
    contest = reconcile.Contest(None, Path(), None, [], Rounds(1), totals={"onefold": (3, 1)})  # type: ignore[arg-type]
    with pytest.raises(SystemExit, match="the results differ"):
        contest._compare(argparse.Namespace(name="DuckDB"), (3, 2))


def test_a_small_batch_is_measured_with_few_and_with_many_columns(spark: SparkSession, tmp_path: Path) -> None:
    shapes = {shape: fixed_cost.make_data(spark, tmp_path, shape, 20) for shape in fixed_cost.SHAPES}
    rounds = Rounds[float](1)
    fixed_cost.measure(tmp_path, shapes, rounds, fixed_cost.in_session(spark))
    assert {shape: len(found) for shape, found in rounds.figures.items()} == {"narrow": 1, "wide": 1}
    types = dict(spark.read.parquet(str(shapes["wide"] / "changes")).dtypes)
    assert {types[name].split("<")[0] for name in fixed_cost.SHAPES["wide"]} == {
        "double", "decimal(38,9)", "decimal(38,20)", "timestamp", "date", "binary", "struct", "array", "string", "boolean",
    }  # fmt: skip


@pytest.mark.usefixtures("in_parts")
def test_each_run_with_a_base_in_bigquery_folds_its_own_changes(
    spark: SparkSession, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bigquery_path, "DATASET", dataset.name)
    rounds = Rounds[bigquery_path.Run](2)
    bigquery_path.measure(dataset.client, spark, [10, 100], 30, rounds)
    assert {rows: [30 <= run.shuffled < 60 for run in found] for rows, found in rounds.figures.items()} == {
        "10": [True, True],
        "100": [True, True],
    }
    assert list(dataset.client.list_tables(dataset.name)) == []


def test_a_large_refresh_takes_little_memory() -> None:
    """The aim of docs/benchmarks.md, and what the refresh adds to it: 15.2 MB, of which 5.0 are the text of the leaves.

    The versions are read twice, for the unified and for the current view, and must not be in memory twice. A dictionary
    for each column once took 730 MB.
    """
    found = memory.measure(memory.Case(1, 900, 300))
    assert found["form"] == "two-level"
    assert found["after"] < 150
    assert found["after"] - found["before"] < 17


def test_a_start_of_capture_takes_memory_for_its_own_tables_only() -> None:
    """12,000 columns that were all fetched took 21 MB."""
    with capture_start.server_of(400, 30) as address:
        few, every = (capture_start.in_a_process(address, include) for include in (("shop_0.*",), ("shop_*",)))
    assert (few.tables, every.tables) == (capture_start.FEW, 400)
    assert few.peak - few.before < 3
    assert every.peak - every.before < 5


def test_debezium_reads_every_row_of_the_log_that_capture_reads() -> None:
    if not fetch_jars():
        pytest.skip("Debezium's engine cannot be downloaded from Maven Central")
    with capture_debezium.mysql_server() as server, capture.remote_receiver() as receiver:
        log = next(capture.make_logs(server, 1000))
        rounds = Rounds[capture.Run](1)
        capture_debezium.compete(log, receiver, rounds)
    assert {name: [run.rows for run in runs] for name, runs in rounds.figures.items()} == {
        "capture": [1000],
        "Debezium": [1000],
    }


def test_the_function_has_memory_for_as_many_of_the_largest_views_as_it_serves_at_once() -> None:
    block = (ROOT / "infra" / "functions.tf").read_text().split("refresh_view = {")[1].split("}")[0]
    size, concurrency = (re.findall(rf"{name} += \"?(\d+)", block)[0] for name in ("memory", "concurrency"))
    assert int(concurrency) == memory.MOST_AT_ONCE
    found = memory.measure(memory.Case(memory.MOST_AT_ONCE, 900, 300, converted=True))
    assert found["form"] == "two-level"
    assert found["after"] < 0.6 * int(size) * 1.048576


@pytest.mark.usefixtures("mariadb")
def test_a_column_and_a_row_become_visible_in_the_current_view(tmp_path: Path) -> None:
    """The stages are in their order, whatever they take."""
    with visible.scene(tmp_path) as made:
        found = made.measure(1)
    assert 0 < found.table < found.view < found.visible
    assert 0 < found.sent < found.row < found.visible


@pytest.mark.usefixtures("mariadb")
def test_every_peer_of_a_pull_writes_the_same_rows() -> None:
    """In a process of its own: the session of the other tests has no memory for two."""
    if hint := java_hint():
        pytest.skip(hint)
    command = [sys.executable, "-m", "benchmarks.loads", "--rows", "3000", "--repeat", "1"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5_000:]
    found = {line[0]: line for line in cells(done.stdout)}
    assert {"onefold", "onefold, gzip", "loop of PyMySQL", "loop of PyMySQL, gzip", "mariadb-dump --tab"} <= set(found)
    assert all(int(line[3].replace(",", "")) > 0 for line in found.values())
    (machine,) = re.findall(r"^Measured on .*$", done.stdout, re.MULTILINE)
    assert all(
        text in machine for text in ("3,000 rows of 12 columns", "the start of the Spark session", "other processes used")
    )


def test_peers_of_a_pull_that_write_other_rows_end_the_benchmark(tmp_path: Path) -> None:
    class Other:
        name = "other"

        def run(self, server: Server, folder: Path) -> float:  # noqa: ARG002
            return 1.0

        def totals(self, folder: Path) -> tuple[int, ...]:  # noqa: ARG002
            return (1, 2)

    contest = loads.Contest(Server(0, tmp_path), tmp_path, [], lambda: None, Rounds(1), totals={"onefold": (1, 3)})
    with pytest.raises(SystemExit, match="the rows differ"):
        contest._run_one(Other())


@pytest.mark.usefixtures("mariadb")
def test_a_check_finds_all_planted_differences_and_reads_its_rows_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", "set again by the benchmark")
    contest = checks.measure(300, Rounds(1), 120)
    assert {name: [result.rows for result in found] for name, found in contest.results.items()} == {
        SourceAlone.name: [300], ViewAlone.name: [300], "onefold": [300],
    }  # fmt: skip
    assert {name: result.found for name, result in contest.differing.items()} == {"onefold": len(PLANTED)}
    lines = {line[0]: line for line in contest.lines()}
    assert all(float(line[1]) >= 0 for line in lines.values())
    seconds = {name: results[0].seconds for name, results in contest.results.items()}
    both = seconds[SourceAlone.name] + seconds[ViewAlone.name]
    assert lines["onefold"][3] == f"{seconds['onefold'] / both:.2f}"


@pytest.mark.parametrize("result", [Result(1.0, 4), Result(1.0, 5, 1)])
def test_a_peer_of_a_check_that_sees_other_rows_ends_the_benchmark(result: Result) -> None:
    class Other:
        name = "other"

        def run(self, shop: object) -> Result:  # noqa: ARG002
            return result

    contest = checks.Contest(None, [Other()], 5, Rounds(1))  # type: ignore[arg-type]
    with pytest.raises(SystemExit, match="other: expected 5 rows and no difference"):
        contest.run()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__.split(".")[-1])
def test_make_bench_runs_each_benchmark_into_its_section_of_the_page(program: object) -> None:
    name, heading = getattr(program, "__name__", ""), getattr(program, "HEADING", "")
    assert f"-m {name} $(FIGURES)" in (ROOT / "Makefile").read_text()
    assert f"python -m {name}`" in PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    assert replaced(PAGE, heading, "Measured anew.").count("Measured anew.") == 1


def test_both_forms_of_messages_to_the_sink_have_the_same_rows() -> None:
    found = sink.one_capture(random.Random(1), rows=500, flush_seconds=0.5, seconds=4)
    split = [one for message in found for one in sink.by_table(message, rows=500)]
    assert sum(one.rows for one in found) == sum(one.rows for one in split) == 2_000
    assert (len(found), len(split) > 100 * len(found) / 5) == (9, True)
    assert all(0 <= one.at - one.read_at <= 0.5 for one in found)


def test_messages_that_come_faster_than_they_are_appended_wait_longer_and_longer() -> None:
    often = [sink.Sent(number / 1_000, b"", 1, ("t",), number / 1_000) for number in range(1_000 * sink.SECONDS)]
    slow, fast = (sink.simulated(often, seconds, by_table=False) for seconds in (0.16, 0.04))
    assert slow.waiting > 10_000 > fast.waiting == 0
    assert slow.lags[-1] > 20 > 0.05 > fast.lags[-1]
