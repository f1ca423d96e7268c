"""Imports run one way: the core knows no cloud client, no use case and no command line."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = (
    "errors", "names", "versioned_names", "types", "joins", "conversions", "rules", "versions", "view", "changes",
    "descriptions", "events", "columns_file", "position", "digest", "changelog", "current", "workload", "workload_values",
    "jobs",
    "change_messages", "row_values", "landed_rows", "batch_settings", "places", "batches", "base", "merges", "pending",
    "retyping", "creations",
)  # fmt: skip
USE_CASES = (
    "refresh", "receiving", "deliveries", "launching", "sinking", "warehouse", "settings", "captured_keys", "planning",
    "following", "merging", "reconcile",
)  # fmt: skip
STANDARD = sys.stdlib_module_names


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("module", CORE)
def test_the_core_imports_only_itself_and_the_standard_library(module: str) -> None:
    allowed = {f"onefold.{name}" for name in CORE}
    others = {name for name in imports(ROOT / "onefold" / f"{module}.py") if name.split(".")[0] not in STANDARD}
    assert others <= allowed


def test_no_use_case_imports_an_adapter_of_a_cloud() -> None:
    for module in USE_CASES:
        assert not any(name.startswith("google") for name in imports(ROOT / "onefold" / f"{module}.py"))


def test_the_function_imports_no_client_before_the_first_message() -> None:
    code = "import sys; sys.path[:0] = ['functions']; import main; print(sorted(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "google.cloud.bigquery" not in printed
    assert "google.cloud.pubsub_v1" not in printed
    assert "google.cloud.dataproc_v1" not in printed
    assert "grpc" not in printed


def test_the_packaged_function_imports_from_nothing_but_its_archive(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT))
    try:
        from infra.package import package
    finally:
        sys.path.remove(str(ROOT))
    with zipfile.ZipFile(package(tmp_path / "functions.zip")) as archive:
        archive.extractall(tmp_path / "source")
    code = "import main, onefold.adapters.bigquery.warehouse, onefold.adapters.pubsub; print(onefold.adapters.bigquery.warehouse.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "source", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))


def test_the_packaged_function_can_be_tried_with_the_emulator_and_without_what_only_a_laptop_has(tmp_path: Path) -> None:
    from infra.package import package

    with zipfile.ZipFile(package(tmp_path / "functions.zip")) as archive:
        archive.extractall(tmp_path / "source")
        local = {name for name in archive.namelist() if name.startswith("onefold/local/")}
    assert local == {"onefold/local/__init__.py", "onefold/adapters/bigquery/emulator.py"}
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['click', 'rich', 'bqemulator', 'duckdb']))\n"
        "from onefold.adapters.bigquery.warehouse import connect; print(type(connect('local')).__name__)"
    )
    environ = {**os.environ, "BIGQUERY_EMULATOR_HOST": "127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "source", env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("EmulatedWarehouse\n", 0), done.stderr


def test_the_package_is_the_same_for_the_same_source(tmp_path: Path) -> None:
    from infra.package import package

    assert package(tmp_path / "one.zip").read_bytes() == package(tmp_path / "two.zip").read_bytes()
