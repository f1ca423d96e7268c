"""Shredded events in Terraform: the account of batches has exactly the rights that it needs, and schedules ask for runs."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from infra.test_validation import written
from support.iam_conditions import OBJECT, admits
from support.terraform import Outcome, Plan, Terraform

from onefold.batches.allow_list import AllowList
from onefold.batches.batch import plan_batch
from onefold.batches.request import parse_batch_request
from onefold.batches.shred_arguments import ShredArguments
from onefold.events.registry.resolver import is_resolver, listed
from onefold.settings.batches import batch_problems, read_batch_settings

BATCH = "serviceAccount:onefold-batch@my-project.iam.gserviceaccount.com"
READ, WRITE = "roles/storage.objectViewer", "roles/storage.objectUser"

SHRED = 'module.folder_rights["shred"].folder'


@pytest.fixture
def shreds_plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested("shreds.tftest.hcl").plans["three_shreds"]


def test_batches_read_events_and_schemas_and_write_runs(shreds_plan: Plan) -> None:
    grants = shreds_plan.of("google_storage_bucket_iam_member")
    found = {
        (one["bucket"], one["condition"][0]["description"] if one["condition"] else "", one["role"], one["member"])
        for name, one in grants.items()
        if name.startswith(SHRED)
    }
    assert found == {
        ("lake", "Objects of gs://lake/good", READ, BATCH),
        ("lake", "Objects of gs://lake/recovered", READ, BATCH),
        ("my-project-onefold-registry", "", READ, BATCH),
        ("schemas", "", READ, BATCH),
        ("lake", "Objects of gs://lake/more", READ, BATCH),
        ("schemas", "Objects of gs://schemas/own", READ, BATCH),
        ("central", "", READ, BATCH),
        ("pipeline", "Objects of gs://pipeline/resolver.json", READ, BATCH),
        ("shredded", "Objects of gs://shredded/more", WRITE, BATCH),
        ("shredded", "Objects of gs://shredded/list", WRITE, BATCH),
        ("shredded", "Objects of gs://shredded/web", WRITE, BATCH),
        ("shredded", "Objects of gs://shredded/app", WRITE, BATCH),
    }


def test_a_batch_may_list_every_bucket_that_it_uses_under_no_condition(shreds_plan: Plan) -> None:
    grants = shreds_plan.of("google_storage_bucket_iam_member")
    used = {one["bucket"] for name, one in grants.items() if name.startswith(SHRED)}
    names = [one for name, one in grants.items() if name.startswith("names[")]
    assert {one["bucket"] for one in names} == used == used | {"my-project-onefold-registry"}
    role = "roles/storage.legacyBucketReader"
    assert [(one["member"], one["role"], one["condition"]) for one in names] == [(BATCH, role, [])] * len(used)


@pytest.mark.parametrize(
    ("name", "admitted"),
    [
        ("shredded/objects/web/run=1/part-0", True),
        ("shredded/objects/web", True),
        ("shredded/objects/web2/part-0", False),
        ("shredded/objects/app/part-0", False),
        ("lake/objects/web/part-0", False),
    ],
)
def test_a_batch_writes_runs_below_its_outputs_and_nowhere_else(shreds_plan: Plan, name: str, admitted: bool) -> None:
    grants = shreds_plan.of("google_storage_bucket_iam_member")
    only = grants[f'{SHRED}["gs://shredded/web written"]']["condition"][0]["expression"]
    assert admits(only, OBJECT, f"projects/_/buckets/{name}") is admitted


def test_schedules_send_requests_that_the_launcher_accepts(shreds_plan: Plan) -> None:
    found = shreds_plan.scheduled("shred")
    requests = {name: parse_batch_request(base64.b64decode(job["pubsub_target"][0]["data"])) for name, job in found.items()}
    web, app, more, one = (ShredArguments.parse(requests[name].words) for name in ("web", "app", "more", "list"))
    assert (more.registry, one.registry) == (("gs://schemas/own", "gs://central"), ("gs://pipeline/resolver.json",))
    assert all(listed(arguments.registry).registries for arguments in (web, app, more))  # the job takes what the plan takes
    assert is_resolver(one.registry[0])
    assert (web.events, web.registry) == (
        ("gs://lake/good/2026-*/*.gz", "gs://lake/recovered/"),
        ("gs://my-project-onefold-registry",),
    )
    assert (app.output, app.format, app.input, app.registry) == (
        "gs://shredded/app",
        "csv",
        "self-describing",
        ("gs://schemas",),
    )
    assert (web.unknown, app.unknown) == ("bad_event", "keep_json")
    assert [(one.duplicates_window, one.bad_percent) for one in (web, app)] == [(0, 5), (7, 1)]
    assert (web.layout, app.layout) == ("wide", "tables")
    assert {name: job["schedule"] for name, job in found.items()} == {
        "web": "5 * * * *",
        "app": "*/30 * * * *",
        "more": "5 * * * *",
        "list": "5 * * * *",
    }
    variables = shreds_plan.of("google_cloudfunctions2_function")
    environment = variables['function["launch_batch"]']["service_config"][0]["environment_variables"]
    assert list(batch_problems(environment)) == []
    settings = read_batch_settings(environment)
    for request in requests.values():
        assert plan_batch(request, "1", settings, AllowList("my-project", None, settings)).job == "shred"


def test_the_libraries_are_uploaded_with_the_jobs(shreds_plan: Plan) -> None:
    names = {one["name"].rpartition("/")[2] for one in shreds_plan.of("google_storage_bucket_object").values()}
    assert {"shred.py", "spark.zip", "compiled_libraries.zip"} <= names
    assert "pymysql.zip" not in names


WEB = {"events": ["gs://lake/good"], "output": "gs://shredded/web", "format": "csv", "input": "enriched-tsv"}


def without_libraries(terraform: Terraform, folder: Path, setting: str, given: dict[str, Any]) -> Outcome:
    """Plan a setting with the code of the functions and the jobs alone; the output of its name is expected to refuse it."""
    for name in ("functions.zip", "spark.zip"):
        shutil.copy(terraform.folder.parent / "build" / name, folder)
    path = terraform.folder / "tests" / "without_libraries.tftest.hcl"
    text = written([({**given, "package_folder": str(folder)}, True)])
    path.write_text(re.sub(r"expect_failures = .*", f"expect_failures = [output.{setting}]", text))
    try:
        return terraform.tested(path.name)
    finally:
        path.unlink()


def test_shreds_without_the_libraries_of_their_batches_are_refused(terraform: Terraform, tmp_path: Path) -> None:
    given = {"shreds": {"web": {**WEB, "registry": "gs://schemas"}}}
    outcome = without_libraries(terraform, tmp_path, "shreds", given)
    assert outcome.status == {"round_0": "pass"}, outcome.said
