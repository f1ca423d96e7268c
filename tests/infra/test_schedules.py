"""The messages that the schedules publish: the functions parse them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from support.planned import environment
from support.terraform import Outcome, Plan

from onefold.batches.allow_list import AllowList
from onefold.batches.batch import plan_batch
from onefold.batches.request import parse_batch_request
from onefold.messages.table_created import DatasetHint, parse_event
from onefold.settings.environment import load_settings


def sent(plan: Plan) -> dict[str, list[bytes]]:
    """Return the messages that the schedules publish, by the purpose of the topic."""
    found: dict[str, list[bytes]] = {}
    for job in plan.of("google_cloud_scheduler_job").values():
        (target,) = job["pubsub_target"]
        found.setdefault(Path(target["topic_name"]).name, []).append(base64.b64decode(target["data"]))
    return found


def test_the_schedules_publish_messages_that_the_functions_parse(options_plan: Plan) -> None:
    messages = sent(options_plan)
    assert [parse_event(data) for data in messages["table-created"]] == [DatasetHint("crm"), DatasetHint("shop")]
    found = [parse_batch_request(data) for data in messages["batch-requests"]]
    requests = {request.table: request for request in found if request.table}
    assert requests.keys() == {"customer", "größe"}
    settings = load_settings(environment(options_plan, "launch_batch"))
    allow_list = AllowList("my-project", settings.datasets, settings.batch)
    batch = plan_batch(requests["größe"], "1", settings.batch, allow_list)
    assert batch.arguments[:3] == ("--keys=a,b", "--mode=rebuild", "--changes=bigquery:shop.größe")
    merges = [request for request in found if request.table is None]
    assert {plan_batch(request, "1", settings.batch, allow_list).arguments for request in merges} == {
        ("--late-hours=24", "--parallel=16", "--dataset=shop"),
        ("--late-hours=24", "--parallel=16", "--dataset=crm"),
    }


def test_a_merge_has_no_arguments_but_those_that_are_set(plan: Plan) -> None:
    merges = [json.loads(data) for data in sent(plan)["batch-requests"] if b"reconcile" in data and b"table" not in data]
    assert {"job": "reconcile", "dataset": "shop"} in merges
    assert all(merge.keys() == {"job", "dataset"} for merge in merges)


def test_the_nightly_check_can_be_left_out(tested: Callable[[str], Outcome]) -> None:
    plans = tested("options.tftest.hcl").plans
    assert plans["all_options"].scheduled("refresh").keys() == {"shop", "crm"}
    assert not plans["no_net"].scheduled("refresh")


def test_the_schedules_are_those_of_the_variables(options_plan: Plan) -> None:
    found = {
        (job["description"], job["schedule"], job["time_zone"])
        for job in options_plan.of("google_cloud_scheduler_job").values()
    }
    assert found == {
        ("Checks all views of shop.", "17 3 * * *", "Europe/Berlin"),
        ("Checks all views of crm.", "17 3 * * *", "Europe/Berlin"),
        ("Merges all tables of shop that have new rows.", "30 * * * *", "Europe/Berlin"),
        ("Merges all tables of crm that have new rows.", "30 * * * *", "Europe/Berlin"),
        ("Writes the page of shop.", "0 6 * * *", "Europe/Berlin"),
        ("Writes the page of crm.", "0 6 * * *", "Europe/Berlin"),
        ("Batch: reconcile shop.customer.", "30 4 * * *", "Europe/Berlin"),
        ("Batch: reconcile shop.größe.", "40 4 * * *", "Europe/Berlin"),
    }
