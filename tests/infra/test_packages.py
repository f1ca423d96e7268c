"""What is shipped: the functions' source, and the archive of what the Spark jobs import."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from support.sweeps import sweep

from infra.libraries import Unavailable, libraries
from infra.package import package, package_spark
from onefold.batches.jobs import present_name
from onefold.changelog.generator import Workload, WorkloadOptions, make_workload
from onefold.changelog.generator_files import write_workload
from onefold.doctor.java import java_hint

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]
# What Dataproc Serverless runtime 3.0 has not, or what our jobs must not need.
ABSENT = ("click", "rich", "functions_framework", "flask", "bqemulator", "duckdb", "yaml")
# What our jobs may use of what it has. It has pandas and PyYAML, too, which nothing of ours asks for.
PRESENT = ("pyspark", "google-cloud-bigquery", "google-cloud-bigquery-storage", "google-cloud-storage", "pyarrow")
SUBMIT = (
    "--master=local[2]",
    "--driver-memory=1g",
    "--conf=spark.ui.enabled=false",
    "--conf=spark.sql.shuffle.partitions=2",
)
SECONDS = 300
JOB = """from onefold.batches.arguments import ReconcileArguments
import onefold.adapters.bigquery.warehouse, onefold.core.log, onefold.settings.environment
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return path


def run_from(archive: Path, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python that finds the library in the archive and nowhere else, as --py-files has it."""
    block = f"import sys; sys.modules.update(dict.fromkeys({ABSENT!r})); sys.path.insert(0, {str(archive)!r})\n"
    return subprocess.run([sys.executable, "-c", block + code], cwd=folder, capture_output=True, text=True, check=False)


CLIENTS = {
    "refresh_view": "onefold.adapters.bigquery.warehouse",
    "launch_batch": "onefold.adapters.dataproc",
    "sink_records": "onefold.adapters.bigquery.storage_write",
}


@pytest.mark.parametrize("function", CLIENTS)
def test_each_function_imports_only_from_the_archive(tmp_path: Path, function: str) -> None:
    with zipfile.ZipFile(package(tmp_path / "functions.zip")) as archive:
        archive.extractall(tmp_path / "source")
    clients = CLIENTS[function]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys(['rich', 'pyspark', 'bqemulator', 'duckdb', 'pyarrow']))\n"
        f"import main, {clients}, onefold.adapters.pubsub; print(main.{function}.__name__, {clients}.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "source", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{function} {tmp_path}")


def test_the_archive_for_spark_has_all_direct_and_indirect_imports_of_the_jobs(tmp_path: Path, job: Path) -> None:
    with zipfile.ZipFile(package_spark(tmp_path / "spark.zip", [job])) as archive:
        names = set(archive.namelist())
    assert {
        "onefold/__init__.py",
        "onefold/batches/arguments.py",
        "onefold/core/errors.py",
        "onefold/adapters/bigquery/schema.py",
    } <= names
    assert not names & {
        "onefold/views/handler.py",
        "onefold/adapters/dataproc.py",
        "onefold/cli/__init__.py",
        "onefold/refresh/display.py",
    }
    assert [name for name in names if not name.endswith(".py")] == ["onefold/settings/onefold.schema.json"]


def test_a_job_imports_only_from_the_archive_and_packages_of_dataproc(tmp_path: Path, job: Path) -> None:
    archive = package_spark(tmp_path / "spark.zip", [job])
    done = run_from(archive, f"{JOB}print(onefold.batches.arguments.__file__)", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(archive))


@pytest.mark.parametrize("script", sweep(sorted((ROOT / "spark_jobs").glob("*.py"))), ids=lambda path: str(path.name))
def test_each_job_prints_its_help_with_only_the_archive(tmp_path: Path, script: Path) -> None:
    archive = package_spark(tmp_path / "spark.zip")
    code = f"import runpy; sys.argv = [{script.name!r}, '--help']; runpy.run_path({str(script)!r}, run_name='__main__')"
    done = run_from(archive, code, tmp_path)
    assert done.returncode == 0, done.stderr
    present = f"{present_name(script.stem)}.py"
    assert done.stdout.startswith(f"usage: {present}")
    assert ("is now called" in done.stderr) == (present != script.name)


def test_the_archives_have_equal_bytes_for_equal_sources(tmp_path: Path, job: Path) -> None:
    one, two = (package_spark(tmp_path / name, [job]).read_bytes() for name in ("one.zip", "two.zip"))
    assert one == two


# The archive on a Spark without us.


def with_what_they_need(names: Sequence[str]) -> dict[str, importlib.metadata.Distribution]:
    """Distributions, and what they require in turn."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [Requirement(name) for name in names]
    while waiting:
        asked = waiting.pop()
        distribution = importlib.metadata.distribution(asked.name)
        # One that is asked for again with other extras is looked at again.
        key = f"{asked.name.lower()} {sorted(asked.extras)}"
        if key not in found:
            found[key] = distribution
            required = [Requirement(text) for text in distribution.requires or ()]
            waiting += [one for one in required if applies(one, asked.extras)]
    return found


def applies(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


@dataclass(frozen=True)
class Dataproc:
    """Spark, Python and the code as a batch finds them."""

    folder: Path
    workload: Workload

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def site(self) -> Path:
        return next((self.folder / "venv" / "lib").glob("python*")) / "site-packages"

    def submit(self, job: str, *words: str) -> Any:
        """Run a job as Dataproc does, and give the JSON that it prints; Spark puts its errors on the same stream."""
        spark = self.site / "pyspark"
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME", "JAVA_TOOL_OPTIONS") if name in os.environ}
        done = subprocess.run(
            [spark / "bin" / "spark-submit", *SUBMIT, "--py-files", "code/spark.zip", f"code/{job}.py", *words],
            cwd=self.folder,
            env={**kept, "SPARK_HOME": str(spark), "PYSPARK_PYTHON": str(self.python), "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        (line,) = (line for line in done.stdout.splitlines() if line.startswith("{"))
        return json.loads(line)


@pytest.fixture(scope="module")
def dataproc(tmp_path_factory: pytest.TempPathFactory) -> Dataproc:
    """A virtual environment without Onefold, the code as it is uploaded, and a workload.

    To install Spark anew takes 400 MB, so what is installed for the tests, at the pinned versions, is lent: file by file, as
    symbolic links to what belongs to PRESENT and to what that requires, by the metadata of each. Nothing else can be
    imported.
    """
    if hint := java_hint():
        pytest.skip(hint)
    folder = tmp_path_factory.mktemp("dataproc")
    venv.create(folder / "venv")
    options = WorkloadOptions(operations=100, key_changes=0.2, duplicates=0.2, shuffle=True, versions=2)
    made = Dataproc(folder, make_workload(options))
    for target, path in set(lent_files()):
        (made.site / target).parent.mkdir(parents=True, exist_ok=True)
        (made.site / target).symlink_to(path)
    shutil.copytree(ROOT / "spark_jobs", folder / "code", ignore=shutil.ignore_patterns("__pycache__"))
    package_spark(folder / "code" / "spark.zip")
    write_workload(made.workload, folder / "work", "parquet")
    return made


def lent_files() -> Iterator[tuple[Path, Path]]:
    installed = Path(sysconfig.get_path("purelib"))
    for distribution in with_what_they_need(PRESENT).values():
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            # Not the commands, which lie elsewhere; not what Python makes as it runs.
            if ".." not in file.parts and path.suffix != ".pyc" and path.is_file():
                yield Path(file), installed / file


def test_the_environment_has_the_pinned_spark_without_onefold(dataproc: Dataproc) -> None:
    pinned = re.search(r"^pyspark==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert pinned
    absent = ("onefold", *ABSENT, "google.cloud.pubsub_v1", "google.cloud.dataproc_v1", "pymysql", "pytest", "pip")
    code = (
        "import importlib.util as i, pyspark, google.cloud.bigquery, pyarrow\n"
        f"print(pyspark.__version__, [name for name in {absent} if i.find_spec(name)])"
    )
    done = subprocess.run(
        [dataproc.python, "-c", code], cwd=dataproc.folder, env={}, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{pinned[1]} []\n", done.stderr


@pytest.mark.long
def test_the_pull_finds_its_client_in_the_archive_that_is_uploaded(dataproc: Dataproc, tmp_path: Path) -> None:
    try:
        *_, client = libraries(tmp_path)
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    folder = dataproc.folder / "code"
    code = (
        f"import sys; sys.path[:0] = [{str(folder / 'spark.zip')!r}, {str(client)!r}]\n"
        "import onefold.spark.pull.job, onefold.spark.pull.loads, onefold.adapters.pubsub_rest, google.cloud.storage\n"
        "import pymysql; print(pymysql.__file__)"
    )
    done = subprocess.run(
        [dataproc.python, "-c", code], cwd=dataproc.folder, env={}, capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{client / 'pymysql' / '__init__.py'}\n", done.stderr


@pytest.mark.long
def test_the_jobs_run_in_the_environment_with_only_the_archive(dataproc: Dataproc) -> None:
    """The base is the truth of the workload: by its rows, and by the other job's word."""
    from support.spark_oracle import Typed, live, texts  # needs Spark, which the fixture has looked for

    truth, typed = dataproc.workload.truth, Typed(dataproc.workload.types)
    report = dataproc.submit("reconcile", "--changes=work/changes", "--keys=id", "--output=base")
    assert texts(live(typed.read(dataproc.folder / "base"))) == texts(map(typed.held, truth))
    assert (report["live"], report["changes"]) == (len(truth), sum(map(len, dataproc.workload.changes.values())))
    compared = dataproc.submit("compare", "--left=base", "--right=work/truth.parquet", "--keys=id")
    assert (compared["same"], compared["rows"]) == (True, {"left": len(truth), "right": len(truth)})
