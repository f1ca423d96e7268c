"""The files, read by dbt itself, which is installed into an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.environments import environment
from support.exported import SHOP, TEMPLATE

from onefold.export.dbt import MARK, AgeLimits, dbt_files
from onefold.export.folder import apply_files, plan_files

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PROFILES = "onefold: {target: t, outputs: {t: {type: bigquery, method: oauth, project: p, dataset: d, threads: 1}}}\n"
# Neither statistics nor anything else is sent.
QUIET = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "False", "DO_NOT_TRACK": "1", "DBT_VERSION_CHECK": "False"}


@pytest.fixture
def dbt(tmp_path: Path) -> Path:
    """The program, after its installation."""
    return environment(tmp_path / "dbt", "--no-deps", "--require-hashes", "-r", str(REQUIREMENTS)) / "dbt"


@pytest.mark.long
@pytest.mark.process
def test_dbt_reads_the_lineage_freshness_tests_and_texts(dbt: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    apply_files(project, plan_files(project, dbt_files([SHOP], AgeLimits(24, 48)), MARK))
    (project / "profiles.yml").write_text(PROFILES)
    command = [str(dbt), "--warn-error", "parse", "--project-dir", str(project), "--profiles-dir", str(project)]
    read = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **QUIET}, cwd=project)
    assert read.returncode == 0, read.stdout + read.stderr
    manifest = json.loads((project / "target" / "manifest.json").read_text())
    check_manifest(manifest["nodes"], manifest["sources"])


def check_manifest(nodes: dict[str, Any], sources: dict[str, Any]) -> None:
    reads = {name.split(".")[-1]: sorted(node["depends_on"]["nodes"]) for name, node in nodes.items()}
    base, versions = "source.onefold.shop.customer_base", [f"source.onefold.shop.customer_v_{one}" for one in ("abc", "def")]
    assert reads["shop__customer_current"] == [base, "source.onefold.shop.customer_current", *versions]
    assert reads["shop__views_clean__customer"] == [
        "model.onefold.shop__customer_current", "source.onefold.shop__views_clean.customer",
    ]  # fmt: skip
    assert reads["shop__order_line_current__key"] == ["model.onefold.shop__order_line_current"]
    tests = sorted(node["test_metadata"]["name"] for node in nodes.values() if node.get("test_metadata"))
    assert tests == ["not_null", "unique"]
    unified = nodes["model.onefold.shop__customer_unified"]
    assert (unified["group"], unified["columns"]["order"]["description"]) == ("shop", TEMPLATE)
    fresh = {name.split(".")[-1]: one["loaded_at_field"] for name, one in sources.items() if one["loaded_at_field"]}
    assert fresh == {
        "customer_unified": "_landed_at", "order_line": "TIMESTAMP_MILLIS(datastream_metadata.source_timestamp)",
    }  # fmt: skip
    assert sources["source.onefold.shop.order_line"]["identifier"] == "order-line"
