"""What is shipped: the functions' source, and the archive of what the Spark jobs import."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from infra.package import package, package_spark

ROOT = Path(__file__).resolve().parents[1]
# What Dataproc Serverless runtime 3.0 has besides Spark, and what it has not.
ABSENT = ("click", "rich", "functions_framework", "flask", "bqemulator", "duckdb")
JOB = "from onefold.jobs import parse_reconcile\nimport onefold.settings, onefold.bigquery, onefold.log\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return path


def run_from(archive: Path, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python that finds the library in the archive and nowhere else, as --py-files has it."""
    block = f"import sys; sys.modules.update(dict.fromkeys({ABSENT!r})); sys.path.insert(0, {str(archive)!r})\n"
    return subprocess.run([sys.executable, "-c", block + code], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("function", ["refresh_view", "launch_batch"])
def test_each_function_imports_from_nothing_but_the_archive(tmp_path: Path, function: str) -> None:
    with zipfile.ZipFile(package(tmp_path / "functions.zip")) as archive:
        archive.extractall(tmp_path / "source")
    clients = "onefold.dataproc" if function == "launch_batch" else "onefold.bigquery"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys(['rich', 'pyspark', 'bqemulator', 'duckdb', 'pyarrow']))\n"
        f"import main, {clients}, onefold.pubsub; print(main.{function}.__name__, {clients}.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "source", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{function} {tmp_path}")


def test_the_archive_for_spark_has_what_the_jobs_import_and_what_that_imports(tmp_path: Path, job: Path) -> None:
    with zipfile.ZipFile(package_spark(tmp_path / "spark.zip", [job])) as archive:
        names = set(archive.namelist())
    assert {"onefold/__init__.py", "onefold/jobs.py", "onefold/errors.py", "onefold/bigquery_schema.py"} <= names
    assert not names & {"onefold/deliveries.py", "onefold/dataproc.py", "onefold/cli/__init__.py", "onefold/show.py"}
    assert all(name.endswith(".py") for name in names)


def test_a_job_imports_from_the_archive_and_what_dataproc_has(tmp_path: Path, job: Path) -> None:
    archive = package_spark(tmp_path / "spark.zip", [job])
    done = run_from(archive, f"{JOB}print(onefold.jobs.__file__)", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(archive))


@pytest.mark.parametrize("script", sorted((ROOT / "spark_jobs").glob("*.py")), ids=lambda path: str(path.name))
def test_each_job_tells_its_arguments_from_the_archive_alone(tmp_path: Path, script: Path) -> None:
    archive = package_spark(tmp_path / "spark.zip")
    code = f"import runpy; sys.argv = [{script.name!r}, '--help']; runpy.run_path({str(script)!r}, run_name='__main__')"
    done = run_from(archive, code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {script.name}")


def test_the_archives_are_the_same_for_the_same_source(tmp_path: Path, job: Path) -> None:
    one, two = (package_spark(tmp_path / name, [job]).read_bytes() for name in ("one.zip", "two.zip"))
    assert one == two
