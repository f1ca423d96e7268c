"""The wheel, installed outside the checkout: commands run from what it holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest
from support.terraform import ROOT

from onefold import __version__
from onefold.core.extras import EXTRAS

SECONDS = 900
COLUMNS = [
    {"table_name": f"customer_v_{version}", "column_name": "id", "ordinal_position": 1, "data_type": type_}
    for version, type_ in ((1, "INT64"), (2, "STRING"))
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist. They are built from a copy, so that nothing is left in the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not tracked:
        pytest.skip("this is no clone of the repository: the sources to build cannot be listed")
    for name in tracked:
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source" / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel, and the dependencies of this one, but not this checkout."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder)
    programs = folder / "bin"
    (wheel,) = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(programs / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", str(wheel)], check=True)
    (own,) = folder.glob("lib/python*/site-packages")
    # A folder of a .pth file is searched, but its own .pth files, as that of the editable checkout, are not read.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("ONEFOLD_", "PYTHON"))}


def attempt(installed: Path, folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(installed / "onefold"), *words],
        cwd=folder,
        env=environ() | variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def run(installed: Path, folder: Path, *words: str) -> str:
    done = attempt(installed, folder, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_imported_library_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "import onefold; print(onefold.__file__)"
    printed = subprocess.run(
        [installed / "python", "-c", code], cwd=tmp_path, env=environ(), capture_output=True, text=True, check=True
    ).stdout
    assert printed.startswith(str(installed.parent))


def test_the_wheel_prints_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "--version") == f"onefold, version {__version__}\n"


def test_the_wheel_renders_a_view(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "columns.json").write_text(json.dumps(COLUMNS))
    assert "UNION ALL" in run(installed, tmp_path, "render", "customer", "--columns", "columns.json")


def test_commands_of_an_extra_that_is_not_installed_say_what_to_install(
    built: Path, installed: Path, tmp_path: Path
) -> None:
    """The environment is that of the extra `cli` alone: what other extras have cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({[*EXTRAS]!r}))\n")
    (tmp_path / "onefold.yaml").write_text(
        "sources:\n  fraud: {host: h, user: u, password: env:PW, databases: [models], tables: {score: {mode: full}}}\n"
    )
    (wheel,) = built.glob("*.whl")
    capture = ("capture", "--host", "h", "--user", "u", "--source", "s", "--dataset", "d", "--checkpoint", "c")
    commands = (
        ("mysql", "check", "fraud", "models"),
        ("mysql", "sources", "check"),
        ("mysql", "sources", "init", "fraud", "--host", "h", "--user", "u", "--password", "env:PW", "--database", "models"),
        # It needs more than pymysql: one line has to be enough.
        ("capture", *capture, "--check"),
        ("capture", "capture", "status", "--checkpoint", "c"),
        ("local", "demo", "--source", "mysql://u@h"),
    )
    for extra, *words in commands:
        done = attempt(installed, tmp_path, *words, PYTHONPATH=str(tmp_path), PW="secret", ONEFOLD_SOURCE_PASSWORD="")
        line = f"Error: pymysql is missing: pip install '{wheel}[{extra}]'\n"
        assert (done.returncode, done.stdout, done.stderr) == (1, "", line), words
    as_json = attempt(installed, tmp_path, *capture, "--check", "--json", PYTHONPATH=str(tmp_path))
    assert json.loads(as_json.stdout)["errors"] == [f"pymysql is missing: pip install '{wheel}[capture]'"]


@pytest.mark.long
@pytest.mark.emulator
@pytest.mark.spark
def test_the_wheel_runs_the_demo(installed: Path, tmp_path: Path) -> None:
    assert "customer_unified" in run(installed, tmp_path, "demo")


def test_the_sdist_has_the_sources_that_the_wheel_installs(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"functions/main.py", "spark_jobs/reconcile.py", "onefold/demo/history.json", "README.md", "LICENSE"} <= names
