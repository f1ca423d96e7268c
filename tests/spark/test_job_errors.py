"""The jobs as processes that fail in unexpected ways: one line, exit code 1, and a log with the whole error.

The errors are real ones: spoiled files, folders that go away, a Java that is killed, a bug.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.changelogs import change
from support.sweeps import sweep

from onefold.spark.job import summary

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.heavy]  # which skips where there is no Java

ROOT = Path(__file__).resolve().parents[2]

INJECT = """
import os, runpy, shutil, signal, sys
from pyspark import SparkContext
import onefold.spark.reconcile.job, onefold.spark.compare.job

def kill_java():
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)

def remove_folder():
    for name in ("changes", "left"):
        shutil.rmtree(name, ignore_errors=True)

def bug():
    return {}["a bug"]

def interrupt():
    raise KeyboardInterrupt

def injected(work, what):
    def both(*arguments):
        found = work(*arguments)
        what()
        return found
    return both

job, what, *arguments = sys.argv[1:]
what = globals()[what]
onefold.spark.reconcile.job.make_plan = injected(onefold.spark.reconcile.job.make_plan, what)
onefold.spark.compare.job._open = injected(onefold.spark.compare.job._open, what)
sys.argv = [job, *arguments]
runpy.run_path(job, run_name="__main__")
"""
"""Runs a job, and something else when it has read what its schemas say."""


def write_rows(path: Path) -> Path:
    """Rows whose pages are long enough to be spoiled."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{**change("INSERT", f"{number:X}", id=number), "v": f"{number * 7919:x}" * 9} for number in range(5000)]
    parquet.write_table(pa.Table.from_pylist(rows), path, compression="none", use_dictionary=False)
    return path


def spoil_footer(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-200] + b"\xff" * 192 + whole[-8:])


def spoil_pages(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 60_000 + whole[60_004:])


def truncate(path: Path) -> None:
    """Without some bytes of a column: the footer names places that are others now."""
    whole = path.read_bytes()
    path.write_bytes(whole[:30_000] + whole[35_000:])


def run(folder: Path, job: str, inject: str | None = None) -> subprocess.CompletedProcess[str]:
    arguments = {
        "reconcile": ["--changes", "changes", "--output", "out", "--keys", "id"],
        "compare": ["--left", "changes", "--right", "right", "--keys", "id"],
    }[job]
    (folder / "inject.py").write_text(INJECT)
    script = str(ROOT / "spark_jobs" / f"{job}.py")
    command = [sys.executable, *([str(folder / "inject.py"), script, inject] if inject else [script]), *arguments]
    settings = "--master local[1] --driver-memory 1g --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=1"
    (folder / "tmp").mkdir(exist_ok=True)
    environ = {
        **os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell",
        "TMPDIR": str(folder / "tmp"),
    }  # fmt: skip
    return subprocess.run(command, cwd=folder, env=environ, text=True, capture_output=True, check=False)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """What a job said at its end, where it printed no frame of a traceback."""
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    lines = done.stderr.splitlines()
    assert not [line for line in lines if re.match(r"\s+at \w|Traceback|  File |Caused by: ", line)], done.stderr
    return lines[-1]


JAVA_IS_GONE = ("Py4J", "ConnectionRefused")
"""The first call that finds it gone, or one after it."""
UNFORESEEN = {("reconcile", "kill_java"): JAVA_IS_GONE, ("compare", "bug"): ("KeyError: 'a bug'",)}
"""All jobs report an error by the same function: each kind of it once, and each job."""


@pytest.mark.parametrize(("job", "inject"), sweep(list(UNFORESEEN)))
def test_an_unforeseen_error_is_one_line_and_a_log(tmp_path: Path, job: str, inject: str) -> None:
    write_rows(tmp_path / "changes" / "0.parquet")
    write_rows(tmp_path / "right" / "0.parquet")
    line = last_line(run(tmp_path, job, inject))
    assert line.removeprefix(f"onefold {job}: unforeseen error: ").startswith(UNFORESEEN[job, inject]), line
    assert "changes" in line.partition("; arguments: ")[2]
    log = Path(line.partition("; full log: ")[2])
    assert log.is_relative_to(tmp_path / "tmp")
    assert "Traceback (most recent call last)" in log.read_text()
    assert "onefold/spark/job.py" in log.read_text()


SPOILED: dict[str, tuple[str, Callable[[Path], None]]] = {
    "footer": ("reconcile", spoil_footer), "pages": ("compare", spoil_pages), "truncated": ("reconcile", truncate),
}  # fmt: skip
"""Both jobs open files and read rows by the same modules: a footer is read before a job begins, and pages while it runs."""


@pytest.mark.long
@pytest.mark.parametrize(("job", "spoil"), SPOILED.values(), ids=SPOILED)
def test_a_spoiled_file_is_named_in_one_line(tmp_path: Path, job: str, spoil: Callable[[Path], None]) -> None:
    spoil(write_rows(tmp_path / "changes" / "0.parquet"))
    write_rows(tmp_path / "right" / "0.parquet")
    line = last_line(run(tmp_path, job))
    assert "changes" in line, line
    assert not (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.long
@pytest.mark.parametrize("job", sweep(["reconcile", "compare"]))
def test_a_folder_that_goes_away_is_named_in_one_line(tmp_path: Path, job: str) -> None:
    write_rows(tmp_path / "changes" / "0.parquet")
    write_rows(tmp_path / "right" / "0.parquet")
    assert "changes" in last_line(run(tmp_path, job, "remove_folder"))


def test_an_interrupted_job_says_so(tmp_path: Path) -> None:
    write_rows(tmp_path / "changes" / "0.parquet")
    done = run(tmp_path, "reconcile", "interrupt")
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "onefold reconcile: interrupted; run it again with the same arguments"


def test_a_summary_is_the_last_cause_of_java() -> None:
    text = "An error occurred while calling o1.x.\n: java.lang.A: first\n\tat x\nCaused by: java.io.B: second\n\tat y\n"
    assert summary(RuntimeError(text)) == "RuntimeError: java.io.B: second"
    assert summary(RuntimeError(text.partition("Caused")[0])) == "RuntimeError: java.lang.A: first"
    assert summary(KeyError("x")) == "KeyError: 'x'"
    assert summary(AssertionError()) == "AssertionError: the error has no text"
    assert len(summary(ValueError("x" * 10_000))) < 500


def test_an_error_without_a_readable_text_is_reported_all_the_same() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise OSError("Java is gone")

    assert summary(Unreadable()) == "Unreadable: the error has no text"
