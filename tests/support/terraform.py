"""Terraform over a copy of infra/, and the plans that its own tests make: with Google's real schema, and no Google."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from infra.compiled_libraries import ARCHIVE as COMPILED_LIBRARIES
from infra.libraries import PYMYSQL
from infra.package import package, package_spark

ROOT = Path(__file__).resolve().parents[2]
INFRA = ROOT / "infra"
EVERYTHING = "everything.tftest.hcl"
"""The file with a plan of all that can be deployed, which is compared line by line."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onefold"
"""Where .ci/terraform puts what it builds."""
SECONDS = 900
_REATTACH = re.compile(r"(TF_REATTACH_PROVIDERS)='(.+)'")


@dataclass(frozen=True)
class Plan:
    """What a test planned: every resource that would be made, by its type and its address, and the outputs."""

    changes: tuple[Mapping[str, Any], ...]
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, type_: str) -> dict[str, dict[str, Any]]:
        """The resources of a type by what an address adds to it: `function["batch"]`, `module.buckets.kept["capture"]`."""
        found = (change for change in self.changes if change["type"] == type_ and change["mode"] == "managed")
        return {change["address"].replace(f"{type_}.", "", 1): change["change"]["after"] for change in found}

    def scheduled(self, kind: str) -> dict[str, dict[str, Any]]:
        """The schedules of a kind, as refresh or pull, by their keys."""
        start = f'module.schedules["{kind}"].schedule["'
        found = self.of("google_cloud_scheduler_job").items()
        return {name.removeprefix(start).removesuffix('"]'): job for name, job in found if name.startswith(start)}

    @property
    def types(self) -> set[str]:
        return {change["type"] for change in self.changes if change["mode"] == "managed"}


@dataclass(frozen=True)
class Outcome:
    """What one file of tests came to: the status of each run, what was said, and the plans."""

    status: Mapping[str, str]
    said: str
    plans: Mapping[str, Plan]


@dataclass(frozen=True)
class Terraform:
    folder: Path
    program: str
    environ: Mapping[str, str]

    def run(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.folder,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def tested(self, file: str) -> Outcome:
        if Path(self.program).name == "tofu":
            pytest.skip(
                "the tests of infra/ give every account a name of its own while planning: Terraform can, OpenTofu cannot"
            )
        lines = self.run("test", "-json", "-verbose", f"-filter=tests/{file}").stdout.splitlines()
        events = [json.loads(line) for line in lines]
        runs = [event for event in events if event["type"] == "test_run"]
        return Outcome(
            {event["@testrun"]: event["test_run"]["status"] for event in runs if "status" in event["test_run"]},
            "\n".join(json.dumps(event["diagnostic"]) for event in events if event["type"] == "diagnostic"),
            {
                event["@testrun"]: Plan(
                    tuple(event["test_plan"].get("resource_changes", ())), event["test_plan"].get("output_changes", {})
                )
                for event in events
                if event["type"] == "test_plan"
            },
        )


def found_terraform(folder: Path, override: str = "") -> Terraform:
    """Prepare Terraform in a copy of infra/, ready to plan. Skips the test if Terraform or its provider is missing.

    Args:
        override: blocks that take the place of those in infra/; a backend among them is used, and else none is.
    """
    program = shutil.which("terraform") or shutil.which("tofu") or shutil.which("tofu", path=CACHE / "bin")
    if not program:
        pytest.skip("there is no Terraform here: .ci/terraform makes one ready")
    environ = {**os.environ, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
    if (CACHE / "terraformrc").is_file():
        environ["TF_CLI_CONFIG_FILE"] = str(CACHE / "terraformrc")
    terraform = Terraform(copied(folder), program, environ)
    if override:
        (terraform.folder / "override.tf").write_text(override)
    ready = terraform.run("init", f"-backend={'true' if override else 'false'}", "-input=false", "-no-color")
    # An error of the configuration is a failure, which a skipped test would hide.
    assert not ready.returncode or "provider" in ready.stderr, ready.stderr
    if ready.returncode:
        pytest.skip(f"Google's provider is not here, .ci/terraform makes it ready: {ready.stderr[-300:]}")
    return terraform


def copied(folder: Path) -> Path:
    """Return a copy of infra/ and of the packages that `make package` writes."""
    shutil.copytree(ROOT / "infra", folder / "infra", ignore=shutil.ignore_patterns(".terraform*", "__pycache__"))
    shutil.copytree(ROOT / "spark_jobs", folder / "spark_jobs")
    package(folder / "build" / "functions.zip")
    package_spark(folder / "build" / "spark.zip")
    for name in (PYMYSQL, COMPILED_LIBRARIES):  # Terraform looks only whether they are there
        (folder / "build" / name).write_text(name)
    return folder / "infra"


@contextmanager
def running_provider(terraform: Terraform) -> Iterator[dict[str, str]]:
    """The variable by which Terraform finds the provider that it has installed as one that runs already.

    Else it starts one for each walk through a configuration, two for each run of a test, which is most of its time.
    """
    (installed,) = terraform.folder.glob(".terraform/providers/*/hashicorp/google/*/*/terraform-provider-google_v*")
    with subprocess.Popen([installed, "-debug"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            reported = map(_REATTACH.search, process.stdout or ())
            yield next(({found[1]: found[2]} for found in reported if found), {})
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terraform]:
    """Return one Terraform for the session; tests do not change its folder. Its provider calls no API."""
    found = found_terraform(tmp_path_factory.mktemp("terraform"))
    with running_provider(found) as variable:
        yield replace(found, environ={**found.environ, **variable})


@pytest.fixture(scope="session")
def tested(terraform: Terraform) -> Callable[[str], Outcome]:
    """What a file of tests came to, once for the session."""
    return functools.cache(terraform.tested)
