"""The wheels, installed outside the checkout: commands run from what they hold, and the library's without the lab."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest
import requests
from support.capture import eventually
from support.terraform import ROOT

import onefold_lab
from onefold import __version__
from onefold.adapters.send_event import local_session
from onefold.core.extras import EXTRAS
from onefold_lab.processes import free_port

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
    for source in (folder / "source", folder / "source" / "onefold_lab"):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel of the library, but neither this checkout nor the lab."""
    return environment(tmp_path_factory.mktemp("empty") / "venv", *built.glob("onefold-*.whl"))


def environment(folder: Path, *wheels: Path) -> Path:
    """Make an environment with wheels, and with the dependencies of this one; return its programs."""
    venv.create(folder)
    programs = folder / "bin"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(programs / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", *map(str, wheels)], check=True)
    (own,) = folder.glob("lib/python*/site-packages")
    # A folder of a .pth file is searched, but its own .pth files, as that of the editable checkout, are not read.
    (own / "dependencies").mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.lower().startswith(("onefold", "__editable__")):
            (own / "dependencies" / entry.name).symlink_to(entry)
    (own / "dependencies.pth").write_text(f"{own / 'dependencies'}\n")
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


def test_the_wheel_has_the_schemas_by_which_files_are_checked(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text("time_zone: UTC\n")
    run(installed, tmp_path, "settings", "check", "--write")
    (tmp_path / "access.yaml").write_text("datasets: {shop: {x: OWNER}}\n")
    done = attempt(installed, tmp_path, "access", "plan", "--project", "my-project")
    assert "access.yaml:1: datasets.shop.x: 'x' is not a principal" in done.stderr


def test_commands_of_an_extra_that_is_not_installed_say_what_to_install(
    built: Path, installed: Path, tmp_path: Path
) -> None:
    """The environment is that of the extra `cli` alone: what other extras have cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({[*EXTRAS]!r}))\n")
    (tmp_path / "onefold.yaml").write_text(
        "sources:\n  fraud: {host: h, user: u, password: env:PW, databases: [models], tables: {score: {mode: full}}}\n"
    )
    (wheel,) = built.glob("onefold-*.whl")
    capture = ("capture", "--host", "h", "--user", "u", "--source", "s", "--dataset", "d", "--checkpoint", "c")
    commands = (
        ("mysql", "check", "--source", "fraud", "models"),
        ("mysql", "sources", "check"),
        (
            "mysql",
            "sources",
            "init",
            "fraud",
            "--host",
            "h",
            "--user",
            "u",
            "--password-from",
            "env:PW",
            "--database",
            "models",
        ),
        # It needs more than pymysql: one line has to be enough.
        ("capture", *capture, "--check"),
        ("capture", "capture", "status", "--checkpoint", "c"),
    )
    for extra, *words in commands:
        done = attempt(installed, tmp_path, *words, PYTHONPATH=str(tmp_path), PW="secret", ONEFOLD_SOURCE_PASSWORD="")
        line = f"Error: pymysql is missing: pip install '{wheel}[{extra}]'\n"
        assert (done.returncode, done.stdout, done.stderr) == (1, "", line), words
    as_json = attempt(installed, tmp_path, *capture, "--check", "--json", PYTHONPATH=str(tmp_path))
    assert json.loads(as_json.stdout)["errors"] == [f"pymysql is missing: pip install '{wheel}[capture]'"]


@pytest.mark.parametrize("words", [("demo",), ("local", "start"), ("local", "query", "SELECT 1")])
def test_a_command_of_the_lab_says_how_to_install_it(
    built: Path, installed: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (lab,) = built.glob("onefold_lab-*.whl")
    done = attempt(installed, tmp_path, *words)
    assert (done.returncode, done.stdout) == (1, "")
    expected = f"Error: Onefold's lab is missing, the embedded BigQuery for this machine: pip install '{lab}'\n"
    assert done.stderr == expected


def test_the_address_of_an_embedded_bigquery_without_the_lab_is_an_error_and_nothing_else(
    installed: Path, tmp_path: Path
) -> None:
    done = attempt(installed, tmp_path, "refresh", "shop", "customer", BIGQUERY_EMULATOR_HOST="127.0.0.1:9")
    assert (done.returncode, "Onefold's lab is missing" in done.stderr) == (1, True), done.stderr


def test_the_doctor_a_message_and_a_workload_need_no_lab(installed: Path, tmp_path: Path) -> None:
    assert "Python" in attempt(installed, tmp_path, "doctor", ONEFOLD_PROJECT="p").stdout
    done = attempt(installed, tmp_path, "publish", "shop", "customer", "abc", "--function", "http://127.0.0.1:9")
    assert (done.returncode, "http://127.0.0.1:9 does not answer" in done.stderr) == (1, True), done.stderr
    run(installed, tmp_path, "workload", "--out", "work")
    assert (tmp_path / "work" / "truth.jsonl").is_file()


def test_the_doctor_names_the_packages_that_are_missing(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({[*EXTRAS]!r}))\n")
    done = attempt(installed, tmp_path, "doctor", PYTHONPATH=str(tmp_path), ONEFOLD_PROJECT="p")
    assert "missing extras: " in done.stdout, done.stdout + done.stderr


def test_a_registry_is_served_without_the_lab(installed: Path, tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "schemas").mkdir()
    command = [str(installed / "onefold"), "schema", "serve", "--registry", str(tmp_path / "schemas"), "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environ(), stdout=log, stderr=log)
        try:
            eventually(lambda: answers(f"http://127.0.0.1:{port}/api/schemas"))
        finally:
            process.terminate()
            process.wait()


def answers(url: str) -> bool:
    with contextlib.suppress(requests.exceptions.ConnectionError), local_session() as session:
        return session.get(url, timeout=300).ok
    return False


@pytest.mark.long
@pytest.mark.emulator
@pytest.mark.spark
def test_the_wheels_run_the_demo(built: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv", *built.glob("*.whl"))
    assert "customer_unified" in run(programs, tmp_path, "demo")


def test_both_distributions_have_one_version() -> None:
    assert onefold_lab.__version__ == __version__
    lab = tomllib.loads((ROOT / "onefold_lab" / "pyproject.toml").read_text())["project"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert lab["version"] == __version__
    assert lab["dependencies"][0].endswith(f"=={__version__}")
    assert extras["lab"] == extras["local"] == [f"onefold-lab=={__version__}"]


def test_the_sdist_has_the_sources_that_the_wheel_installs(built: Path) -> None:
    (archive,) = built.glob("onefold-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"functions/main.py", "spark_jobs/reconcile.py", "README.md", "LICENSE"} <= names
    assert not {name for name in names if name.startswith("onefold_lab/")}
    (lab,) = built.glob("onefold_lab-*.tar.gz")
    with tarfile.open(lab) as opened:
        assert "demo/history.json" in {name.partition("/")[2] for name in opened.getnames()}
