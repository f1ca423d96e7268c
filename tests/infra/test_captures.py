"""The sources of `captures`: arguments of the process, rights on objects, documentation, and alerts."""

from __future__ import annotations

import itertools
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from infra.test_captures_refused import parsed
from support.capture import bench_of, eventually
from support.iam_conditions import BUCKET, OBJECT, admits
from support.log_filters import matches
from support.planned import conditions, containers, filters
from support.source_database import SourceDatabase
from support.terraform import ROOT, Plan

from onefold.adapters.gcs import GcsObjects
from onefold.capture.checkpoint import Checkpoint
from onefold.capture.checkpoint_json import to_json
from onefold.capture.checkpoint_store import open_checkpoint_store
from onefold.capture.large_rows import large_rows_at
from onefold.capture.status import CaptureStatus, log_status
from onefold.cli.capture_options import PASSWORD, options_from
from onefold.settings.environment import load_settings

# What is planned, against the code


def test_the_command_accepts_the_arguments_of_a_pool(plan: Plan) -> None:
    given = {name: parsed(container["args"]) for name, container in containers(plan).items()}
    shop, crm = given["shop-db"], given["crm-db"]
    assert (shop["source"], shop["port"], shop["include"], shop["snapshot"]) == ("shop-db", 3306, ("shop_*",), True)
    assert (crm["source"], crm["exclude"], crm["server_id"], crm["snapshot"]) == (
        "CRM",
        ("*._*_gho", "crm.tmp"),
        4000,
        False,
    )
    assert options_from(crm).epoch == 2


def test_the_settings_of_a_pool_are_valid_and_the_password_is_a_reference(plan: Plan) -> None:
    for container in containers(plan).values():
        values = {one["name"]: one.get("value") for one in container["env"]}
        assert values.pop(PASSWORD, "missing") is None
        settings = load_settings(values)
        assert (settings.project, settings.topic_change_records) == ("my-project", "change-records")
        assert (settings.topic_table_created, settings.topic_schema_changes) == ("table-created", "schema-changes")
        assert large_rows_at(settings.large_records, GcsObjects())


def test_the_state_contains_no_password(plan: Plan) -> None:
    assert not {"google_secret_manager_secret", "google_secret_manager_secret_version"} & plan.types


OWN = "projects/_/buckets/my-project-onefold-capture/objects"


@pytest.mark.parametrize(
    ("type_", "name", "admitted"),
    [
        (OBJECT, f"{OWN}/shop-db/checkpoint.json", True),
        (OBJECT, f"{OWN}/records/shop-db/customer_v_abc/1.json", True),
        (OBJECT, f"{OWN}/crm-db/checkpoint.json", False),
        (OBJECT, f"{OWN}/records/crm-db/customer_v_abc/1.json", False),
        (OBJECT, f"{OWN}/shop-db2/checkpoint.json", False),
        (OBJECT, f"{OWN}/records/1.json", False),
        (BUCKET, "projects/_/buckets/my-project-onefold-capture", False),
    ],
)
def test_the_account_of_a_source_reaches_only_its_own_objects(plan: Plan, type_: str, name: str, admitted: bool) -> None:
    only = conditions(plan)['google_storage_bucket_iam_member.capture["shop-db"]']
    assert admits(only, type_, name) is admitted


@pytest.mark.usefixtures("object_store")
def test_the_account_may_write_and_the_sink_may_read_the_objects_of_the_process(plan: Plan) -> None:
    container = containers(plan)["shop-db"]
    folder = next(one["value"] for one in container["env"] if one["name"] == "ONEFOLD_LARGE_RECORDS")
    store = open_checkpoint_store(parsed(container["args"])["checkpoint"], GcsObjects())
    store.save(Checkpoint("shop-db", "shop"))
    checkpoint = GcsObjects().read("gs://my-project-onefold-capture/shop-db/checkpoint.json")
    assert checkpoint.startswith(to_json(Checkpoint("shop-db", "shop"))[:-1])
    record = (
        large_rows_at(folder, GcsObjects()).put("customer_v_abc/1.json", b"{}").replace("gs://", "projects/_/buckets/", 1)
    )
    record = record.replace("my-project-onefold-capture/", "my-project-onefold-capture/objects/")
    found = conditions(plan)
    assert admits(found['google_storage_bucket_iam_member.capture["shop-db"]'], OBJECT, record)
    assert admits(found["google_storage_bucket_iam_member.sink_records"], OBJECT, record)


# The documentation


def test_every_field_of_a_source_is_described() -> None:
    block = (
        (ROOT / "infra" / "modules" / "typed" / "main.tf")
        .read_text()
        .partition('variable "captures" {')[2]
        .partition("\n}")[0]
    )
    fields = set(re.findall(r"^    (\w+) +=", block, re.MULTILINE))
    page = (ROOT / "docs" / "how-to" / "deploy-capture.md").read_text().partition("\n## Fields\n")[2].partition("\n## ")[0]
    described = {name for row in re.findall(r"^\| (`.+?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert "secret" in fields
    assert described == fields


def test_the_documented_container_shows_no_password_and_its_arguments_are_accepted() -> None:
    page = (ROOT / "docs" / "how-to" / "deploy-capture.md").read_text()
    (block,) = re.findall(r"^docker run (.*(?:\n  .*)*)", page, re.MULTILINE)
    words = block.replace("\\\n", " ").split()
    image = next(place for place, word in enumerate(words) if "@sha256:" in word)
    assert not any("PASSWORD" in word for word in words)
    given = [word for word in words[image + 1 :] if not word.startswith("--password-from=")]
    assert len(given) == len(words) - image - 2
    assert options_from(parsed(given)).snapshot


def test_no_page_puts_a_password_into_the_metadata_of_an_instance() -> None:
    for page in (*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("*.yaml"), *(ROOT / "infra").glob("*.tf")):
        text = page.read_text()
        assert "create-with-container" not in text, page
        assert "container-env" not in text, page


# Lines of the log


POOL = {"type": "cloud_run_worker_pool", "labels": {"worker_pool_name": "capture-shop-db"}}


@pytest.mark.parametrize(
    ("entry", "counted"),
    [
        ({"severity": "INFO", "resource": POOL, "jsonPayload": {"event": "captured"}}, True),
        ({"severity": "NOTICE", "resource": POOL, "jsonPayload": {"event": "captured"}}, False),
        ({"severity": "INFO", "resource": POOL, "jsonPayload": {"event": "swept"}}, False),
        ({"severity": "INFO", "resource": {"type": "gce_instance"}, "jsonPayload": {"event": "captured"}}, False),
    ],
)
def test_only_the_line_of_each_minute_is_counted(plan: Plan, entry: dict[str, Any], counted: bool) -> None:
    assert matches(filters(plan)["google_logging_metric.captured"], entry) is counted


@pytest.mark.parametrize(("lag", "is_late"), [(901, True), (900, False), (0, False), (None, False)])
def test_an_incident_is_opened_by_the_lag_and_not_by_a_quiet_source(
    plan: Plan, capsys: pytest.CaptureFixture[str], lag: int | None, is_late: bool
) -> None:
    log_status("INFO", CaptureStatus("shop-db", None, lag, 100_000, 0, 0, 0, 0, {}, ()))
    fields = json.loads(capsys.readouterr().out)
    entry = {"severity": fields.pop("severity"), "resource": POOL, "jsonPayload": fields}
    filter_ = filters(plan)['google_monitoring_alert_policy.log["capture is late"]']
    assert matches(filter_, entry) is is_late


def test_cloud_run_asks_for_the_health_at_the_port_of_the_process(plan: Plan) -> None:
    container = containers(plan)["crm-db"]
    (probe,) = container["liveness_probe"]
    (request,) = probe["http_get"]
    assert (request["path"], request["port"]) == ("/healthz", parsed(container["args"])["metrics_port"])
    assert not containers(plan)["shop-db"]["liveness_probe"]


def test_the_real_lines_of_a_process_are_counted_and_alert(
    plan: Plan, source: SourceDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.run("CREATE TABLE t (a INT, `b c` INT, `b-c` INT)")
    entries: list[dict[str, Any]] = []

    def logged(filter_: str) -> list[dict[str, Any]]:
        """The lines so far that pass, as Cloud Run logs them: the severity is the entry's own."""
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
        entries.extend({"severity": line.pop("severity"), "resource": POOL, "jsonPayload": line} for line in lines)
        return [entry for entry in entries if matches(filter_, entry)]

    passing = filters(plan)
    with bench_of(source, tmp_path).running() as process:
        process.clock = itertools.count(time.monotonic(), 61).__next__  # each look is a minute later
        counted = eventually(lambda: logged(passing["google_logging_metric.captured"]))
    assert counted[0]["jsonPayload"]["tables_in_quarantine"] == 1
    (reported,) = logged(passing['google_monitoring_alert_policy.log["table in quarantine"]'])
    (alert,) = plan.of("google_monitoring_alert_policy")['log["table in quarantine"]']["conditions"]
    (matched,) = alert["condition_matched_log"]
    labels = {
        name: re.fullmatch(r"EXTRACT\(jsonPayload\.(\w+)\)", value) for name, value in matched["label_extractors"].items()
    }
    assert {name: reported["jsonPayload"][found[1]] for name, found in labels.items() if found} == {
        "kind": "structure",
        "database": source.name,
        "table": "t",
    }


@pytest.mark.parametrize(("severity", "reported"), [("CRITICAL", True), ("WARNING", False)])
def test_a_table_that_goes_into_quarantine_alerts_once(plan: Plan, severity: str, reported: bool) -> None:
    filter_ = filters(plan)['google_monitoring_alert_policy.log["table in quarantine"]']
    assert matches(filter_, {"severity": severity, "jsonPayload": {"event": "quarantined"}}) is reported
    assert not matches(filter_, {"severity": severity, "jsonPayload": {"event": "quarantine_left"}})
