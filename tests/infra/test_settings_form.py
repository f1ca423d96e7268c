"""A deployment has the checked form of onefold.yaml in its packages, and none that is not current."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.deploy import STEPS
from support.settings_form import write_settings
from support.terraform import ROOT

from infra import package as module
from infra.package import package
from onefold.settings.checked_form import form_of

RULES = "captures: {shop: {tables: {customer: {drop:[password]}}}}\n"
OTHER = RULES.replace("password", "pin")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the deploying build needs to package, and a Python without any package, as in its image."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "infra", folder / "infra", ignore=shutil.ignore_patterns(".terraform*", "__pycache__"))
    for name in ("onefold", "functions", "spark_jobs", "requirements.lock"):
        (folder / name).symlink_to(ROOT / name)
    (tmp_path / "python").symlink_to(Path(sys.base_prefix, "bin", "python3"))
    return folder


def packaged(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run the step of the deploying build; pip finds nothing."""
    path = f"{checkout.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    alone = {"PATH": path, "HOME": str(checkout.parent), "PIP_NO_INDEX": "1"}
    command = ["sh", "-c", STEPS["package"]["script"]]
    return subprocess.run(command, cwd=checkout, env=alone, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("yaml", "form", "problem"),
    [
        (RULES, "", "onefold.yaml has no checked form onefold.checked.json: run `make package`"),
        (RULES, OTHER, "onefold.checked.json was made from another onefold.yaml: run `make package`"),
        ("", RULES, "onefold.checked.json is there, and onefold.yaml is not"),
        (RULES, "not JSON", "onefold.checked.json was made from another onefold.yaml"),
    ],
    ids=["none", "another", "left-over", "damaged"],
)
def test_the_deploying_build_refuses_a_checked_form_that_is_not_that_of_the_file(
    checkout: Path, yaml: str, form: str, problem: str
) -> None:
    config = checkout / "onefold.yaml"
    if form == "not JSON":
        form_of(config).write_text(form)
    elif form:
        write_settings(checkout, form)
        config.unlink()
    if yaml:
        config.write_text(yaml)
    done = packaged(checkout)
    assert (done.returncode, problem in done.stderr) == (1, True), done.stderr
    assert not (checkout / "build" / "functions.zip").exists()


def test_a_file_that_is_there_and_cannot_be_read_is_not_an_absent_one(checkout: Path) -> None:
    write_settings(checkout, RULES)
    (checkout / "onefold.yaml").unlink()
    (checkout / "onefold.yaml").symlink_to("nowhere")
    done = packaged(checkout)
    assert (done.returncode, "was made from another onefold.yaml" in done.stderr) == (1, True), done.stderr


def test_the_deploying_build_has_the_checked_form_without_any_package(checkout: Path) -> None:
    write_settings(checkout, RULES)
    done = packaged(checkout)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(checkout / "build" / "functions.zip") as archive:
        assert archive.read("onefold.checked.json") == (checkout / "onefold.checked.json").read_bytes()
        assert "onefold.yaml" not in archive.namelist()


def test_functions_read_their_settings_from_the_checked_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONFIG", tmp_path / "onefold.yaml")
    write_settings(tmp_path, RULES)
    with zipfile.ZipFile(package(tmp_path / "functions.zip")) as archive:
        archive.extractall(tmp_path / "source")
    code = (
        "import os; from onefold.settings.environment import load_settings\n"
        "print([rule.drop for rule in load_settings(os.environ).captures['shop'].rules])"
    )
    alone = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "source", env=alone, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[('password',)]\n", done.stderr


def test_a_job_reads_its_settings_without_a_reader_of_yaml_and_without_a_validator(tmp_path: Path) -> None:
    write_settings(tmp_path, "tables: {customer: {keys: [id]}}")
    (tmp_path / "onefold.yaml").unlink()
    archive = module.package_spark(tmp_path / "spark.zip")
    code = (
        f"import os, sys; sys.modules.update(yaml=None, jsonschema_rs=None); sys.path.insert(0, {str(archive)!r})\n"
        "from onefold.settings.environment import load_settings\n"
        "print(load_settings({}).tables['customer'].keys)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "('id',)\n", done.stderr
