"""What is deployed imports from its archive alone, and late. `make lint` checks that imports run one way."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from infra.package import LAMBDAS, lambda_members

ROOT = Path(__file__).resolve().parents[1]


def test_the_name_of_a_class_stands_once_in_the_code() -> None:
    files = [
        path for folder in ("onefold", "onefold_lab", "functions", "spark_jobs") for path in (ROOT / folder).rglob("*.py")
    ]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text()))]
    found = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    assert not [name for name, count in found.items() if count > 1]


EVERY = "[getattr(main, name) for name in main.NAMES]"


def test_a_function_imports_no_client_before_the_first_message() -> None:
    code = f"import sys; sys.path[:0] = ['functions']; import main; {EVERY}; print(sorted(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "google.cloud.bigquery" not in printed
    assert "google.cloud.pubsub_v1" not in printed
    assert "google.cloud.dataproc_v1" not in printed
    assert "grpc" not in printed


def test_a_function_imports_no_other_function() -> None:
    served = "import main; main.refresh_view; print(*set(main.NAMES) & set(sys.modules))"
    code = f"import sys; sys.path[:0] = ['functions']; {served}"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed == "refresh_view\n"


def test_the_packaged_function_imports_from_nothing_but_its_archive(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT))
    try:
        from infra.package import package
    finally:
        sys.path.remove(str(ROOT))
    with zipfile.ZipFile(package(tmp_path / "functions.zip")) as archive:
        archive.extractall(tmp_path / "source")
    clients = "import onefold.adapters.pubsub; from onefold.adapters.bigquery import warehouse"
    code = f"import main; {EVERY}; {clients}; print(warehouse.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "source", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))


@pytest.mark.parametrize("function", LAMBDAS)
def test_a_function_of_aws_needs_the_standard_library_and_boto3_alone(function: str) -> None:
    files = [path for name, path in lambda_members(function) if name.endswith(".py")]
    found = {
        name.partition(".")[0]
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
        + ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
    }
    assert found - set(sys.stdlib_module_names) == {"boto3", "botocore", "onefold"}


def test_the_packaged_functions_hold_no_line_of_the_lab_and_find_one_that_is_installed(tmp_path: Path) -> None:
    from infra.package import package

    with zipfile.ZipFile(package(tmp_path / "functions.zip")) as archive:
        archive.extractall(tmp_path / "source")
        names = set(archive.namelist())
    left_out = ("onefold_lab/", "onefold/local/", "onefold/capture/", "onefold/cli/", "onefold/spark/")
    assert not {name for name in names if name.startswith(left_out)}
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['click', 'rich', 'bqemulator', 'duckdb']))\n"
        "from onefold.adapters.connect import connect; print(type(connect('local')).__name__)"
    )
    environ = {**os.environ, "BIGQUERY_EMULATOR_HOST": "127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "source", env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("EmulatedWarehouse\n", 0), done.stderr


def test_the_package_is_the_same_for_the_same_source(tmp_path: Path) -> None:
    from infra.package import package

    assert package(tmp_path / "one.zip").read_bytes() == package(tmp_path / "two.zip").read_bytes()
