"""Validation of variables: a plan refuses every value that the functions would refuse at their start."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from support.settings_form import settings_in
from support.terraform import Terraform

from onefold.core.errors import InvalidSettings
from onefold.settings.environment import load_settings

pytestmark = pytest.mark.heavy

KEY = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys"
SUBNETWORKS = "projects/p/regions/europe-west1/subnetworks"
DOTS = "projects/a..b/regions/europe-west1/subnetworks/s"
# By variable of Terraform, values that the code refuses in the variable of the environment that is made of it.
REFUSED: dict[str, tuple[Any, ...]] = {
    "view_name": ("{table}_v_1", "{table}_v_0af", "{table}", "unified", "{table!r}", "{table}.x", "{table}{x}",
                  "onefold_leaf_{table}", "onefold_tmp_{table}"),
    "view_dataset": ("{dataset}-x", "{dataset}.x", "{x}", "{dataset}\n"),
    "plain_dataset": ("bases", "{dataset}{table}", "{dataset}-x", "{dataset}{x}", "{dataset}\n"),
    "changes_dataset": ("a-b", "a.b", "d" * 1025),
    "batch_ttl": ("9m", "15d", "337h", "9999d", "1", "4 h", "4h\n"),
    "batch_folders": (["gs://b/x"], ["gs://bucket/../x"], ["gs://bucket/x/.."], ["gs://bucket/a*"], ["x"]),
    "batch_properties": ({"spark.a": "b\nc"}, {"spark.a": "b\u0000"}, {"spark.a": "\u200b"}, {"other": "1"}),
    "labels": ({"onefold_x": "1"}, {"A": "1"}, {"a": "B"}, {f"l{n}": "1" for n in range(28)}),
    "kms_key": (f"{KEY}/k\n", f"{KEY}/k k", f"{KEY}/{'k' * 64}", f"{KEY}/k".replace("/p/", "/a..b/")),
    "subnetwork": (f"{SUBNETWORKS}/s\n", f"{SUBNETWORKS}/S", f"{SUBNETWORKS}/s s", DOTS),
    "prefix": ("goog-",),
    "datasets": (["a-b"], ["a.b"], ["d" * 1025]),
}  # fmt: skip
# Values at the edge, that neither refuses.
TAKEN: dict[str, tuple[Any, ...]] = {
    "view_name": ("{table}_v", "{table}_v_1_x", "{table}_v_backup", "{dataset}_{table}_all"),
    "plain_dataset": ("{dataset}", "bases_{dataset}"),
    "batch_ttl": ("10m", "14d", "336h"),
    "batch_folders": (["gs://bucket/a.b/c"], ["gs://buc/x=1/"], ["gs://bucket"]),
    "batch_properties": ({"spark.a": "b c, =ü€"}, {"dataproc.x": ""}, {}),
    "labels": ({f"l{n}": "1" for n in range(27)}, {"a": ""}, {}),
    "kms_key": (f"{KEY}/{'k' * 63}", None, f"{KEY}/K_-1", f"{KEY}/k".replace("/p/", "/example.com:a-b/")),
    "prefix": ("goo-", "eu-", ""),
}
# Cloud Scheduler refuses these when the job is made; the code never sees them.
IMPOSSIBLE = (
    "75 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8", "* * * *", "* * * * * *", "a * * * *",
    "1-75 * * * *", "*/0 * * * *", "1, * * * *", "-1 * * * *", "* * * foo *",
)  # fmt: skip
POSSIBLE = ("59 23 31 12 7", "*/5 0-6,22 1 jan-mar MON-FRI", "0 0 * * 0", "05 04 * * *", "1,2,3 */2 1-15/3 * sun")


def environment(values: dict[str, Any]) -> dict[str, str]:
    """What infra/ makes of its variables for the function launch_batch, as far as the tables above go."""
    prefix = values.get("prefix", "")
    found = {
        "ONEFOLD_DATASETS": ",".join(values.get("datasets", ["shop"])),
        "ONEFOLD_VIEW_NAME": values.get("view_name", "{table}_unified"),
        "ONEFOLD_VIEW_DATASET": values.get("view_dataset", "{dataset}"),
        "ONEFOLD_CHANGES_DATASET": values.get("changes_dataset") or "",
        "ONEFOLD_PLAIN_DATASET": values.get("plain_dataset", ""),
        "ONEFOLD_TOPIC_DEAD_LETTER": f"{prefix}dead-letter",
        "ONEFOLD_BATCH_TTL": values.get("batch_ttl", "4h"),
        "ONEFOLD_BATCH_FOLDERS": ",".join(values.get("batch_folders", [])),
        "ONEFOLD_BATCH_PROPERTIES": json.dumps(values.get("batch_properties", {})),
        "ONEFOLD_BATCH_LABELS": ",".join(f"{k}={v}" for k, v in {"app": "onefold", **values.get("labels", {})}.items()),
        "ONEFOLD_BATCH_KMS_KEY": values.get("kms_key") or "",
        "ONEFOLD_BATCH_SUBNET": values.get("subnetwork") or "",
    }
    return {name: value for name, value in found.items() if value}


def one_of_each(table: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """As many rounds as there are values of the variable with the most, each with a value of every variable that has one."""
    rounds = itertools.zip_longest(*table.values(), fillvalue=...)
    return [{name: value for name, value in zip(table, one, strict=True) if value is not ...} for one in rounds]


def written(table: list[tuple[dict[str, Any], bool]]) -> str:
    """A file of Terraform's tests with a run for each round, which expects that every value is refused, or none is."""
    runs = []
    for number, (values, refused) in enumerate(table):
        given = "\n".join(f"    {name} = {literal(value)}" for name, value in values.items())
        failures = f"  expect_failures = [{', '.join(f'var.{name}' for name in values)}]\n" if refused else ""
        runs.append(f'run "round_{number}" {{\n  command = plan\n  variables {{\n{given}\n  }}\n{failures}}}\n')
    head = 'mock_provider "google" {\n  source = "./tests/mocks"\n  override_during = plan\n}\n'
    reported = 'variables {\n  project = "my-project"\n  region = "europe-west1"\n  datasets = ["shop"]\n}\n'
    return "\n".join((head, reported, *runs))


def literal(value: Any) -> str:
    # JSON is HCL but for the start of a template, which no value here has.
    return json.dumps(value, ensure_ascii=True)


def cron(schedules: tuple[str, ...], refused: bool) -> list[tuple[dict[str, Any], bool]]:
    """Each schedule as that of a refresh, of a merge, and of a batch."""
    batch = {"dataset": "shop", "table": "customer"}
    return [
        ({"refresh_schedule": one, "merge_schedule": one, "reconcile_schedules": [{**batch, "schedule": one}]}, refused)
        for one in schedules
    ]


@pytest.mark.parametrize(("variable", "value"), [(name, value) for name, values in REFUSED.items() for value in values])
def test_the_library_refuses_the_settings(variable: str, value: Any) -> None:
    with pytest.raises(InvalidSettings):
        load_settings(environment({variable: value}))


@pytest.mark.parametrize(("variable", "value"), [(name, value) for name, values in TAKEN.items() for value in values])
def test_the_library_accepts_the_settings(variable: str, value: Any) -> None:
    load_settings(environment({variable: value}))


@pytest.mark.long
def test_a_plan_refuses_and_accepts_the_same_settings(terraform: Terraform) -> None:
    # Of two that a third one is validated by, each is wrong alone: else the third would not be looked at.
    alone = [{name: value} for name in ("datasets", "view_dataset") for value in REFUSED[name]]
    together = one_of_each({name: values for name, values in REFUSED.items() if name not in ("datasets", "view_dataset")})
    rounds = [(values, True) for values in (*alone, *together)] + [(values, False) for values in one_of_each(TAKEN)]
    rounds += cron(IMPOSSIBLE, refused=True) + cron(POSSIBLE, refused=False)
    path = Path(terraform.folder / "tests" / "rounds.tftest.hcl")
    path.write_text(written(rounds))
    try:
        outcome = terraform.tested(path.name)
    finally:
        path.unlink()
    failed = [rounds[int(name.removeprefix("round_"))] for name, status in outcome.status.items() if status != "pass"]
    assert not failed, outcome.said
    assert len(outcome.status) == len(rounds)


# A naming of another dataset, or of none that is deployed, is one that a function knows all the same.
NAMED_LIKE_A_VERSION: dict[str, dict[str, Any]] = {
    "without_datasets": {"datasets": [], "view_name": "{table}_v_1"},
    "beside_a_naming_of_its_own": {
        "version_patterns": {"shop": "(?P<base>.+)_r(?P<version>[0-9]+)"},
        "view_name": "{table}_v_1",
    },
    "in_a_dataset_of_the_file": {"view_name": "{table}_x7"},
}
TABLES_SETTINGS = "datasets: {crm: {version_pattern: '(?P<base>.+)_x(?P<version>[0-9]+)'}}\n"


@pytest.mark.long
def test_no_name_of_a_view_matches_any_version_pattern(terraform: Terraform, tmp_path: Path) -> None:
    settings = tmp_path / "onefold.yaml"
    settings.write_text(TABLES_SETTINGS)
    runs = []
    for name, values in NAMED_LIKE_A_VERSION.items():
        with pytest.raises(InvalidSettings, match="named like a versioned table"):
            load_settings(environment(values), settings)
        given = "\n".join(f"    {name} = {literal(value)}" for name, value in values.items())
        failures = "var.view_name" if values.get("datasets", True) else "var.view_name, check.datasets"
        runs.append(
            f'run "{name}" {{\n  command = plan\n  variables {{\n{given}\n  }}\n  expect_failures = [{failures}]\n}}\n'
        )
    path = terraform.folder / "tests" / "named.tftest.hcl"
    path.write_text("\n".join((written([]), *runs)))
    try:
        with settings_in(terraform.folder.parent, TABLES_SETTINGS):
            outcome = terraform.tested(path.name)
    finally:
        path.unlink()
    assert outcome.status == dict.fromkeys(NAMED_LIKE_A_VERSION, "pass"), outcome.said
