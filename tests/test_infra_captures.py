"""The sources of `captures`: what a plan refuses, what the process is told, which objects it reaches, and what alerts."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import infra_expected as expected
import pytest
from capturing import bench_of, eventually
from iam_conditions import BUCKET, OBJECT, admits
from infra_expected_captures import pools
from log_filters import matches
from source_database import SourceDatabase
from terraforming import ROOT, Outcome, Plan, Terraform
from test_infra_validation import literal

from onefold.capture.checkpoint import Checkpoint, to_json
from onefold.capture.checkpoint_stores import store_at
from onefold.capture.large_rows import large_rows_at
from onefold.cli.capturing import PASSWORD, capture, check_names_of_capture, options_from
from onefold.errors import InvalidInput, InvalidSettings
from onefold.objects import StoredObjects
from onefold.settings import Settings, load_settings
from onefold.versioned_names import VersionedNames

GIVEN = {"host": "10.0.0.3", "user": "onefold", "secret": "password", "dataset": "shop"}
IMAGE = f"europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:{'0' * 64}"
NAME = "its name must have 2 to 17 lower-case letters, digits and hyphens, begin with a letter, and not be records"
PATTERNS = "include and exclude must be patterns as shop.order* or shop_*"
PORT, EPOCH = "port must be a whole number from 1 to 65535", "epoch must be a whole number, at least 1"
NUMBER = "server_id must be a whole number from 1 to 4294967295"
START, GTID = "start must be FILE:OFFSET, as mysql-bin.000123:4", "gtid must be a set as UUID:1-5 or 0-1-5"
MEMORY, TLS = "memory must be 512Mi at least, as 1Gi", "tls must name secrets by ca, cert and key"
HOST, SECRET = (
    "host must be a name or an address, without port",
    "secret must be the id of a secret of the project, which holds the password",
)
SOURCE, USER = "source must be one line of text: it is part of the key of every row", "user must be one line of text"
ACCOUNT = "service_account must be the e-mail of an account of the project"
SUBNETWORK = "subnetwork must be projects/P/regions/europe-west1/subnetworks/S"
VERSION = "secret_version must be latest or a number"
OTHER = "given-batch@my-project.iam.gserviceaccount.com"

# Entries that are wrong, each with all that is wrong with it.
WRONG: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("a", {}, (NAME,)),
    ("Shop", {}, (NAME,)),
    ("shop_db", {}, (NAME,)),
    ("1shop", {}, (NAME,)),
    ("shop-", {}, (NAME,)),
    ("a23456789012345678", {}, (NAME,)),
    ("records", {}, (NAME,)),
    ("source-blank", {"source": " "}, (SOURCE,)),
    ("source-lines", {"source": "a\nb"}, (SOURCE,)),
    ("source-taken", {"source": "taken"}, ("source taken is that of another entry: each source is captured once",)),
    ("taken", {}, ("source taken is that of another entry: each source is captured once",)),
    ("host-empty", {"host": ""}, (HOST,)),
    ("host-port", {"host": "db:3306"}, (HOST,)),
    ("host-blank", {"host": "a b"}, (HOST,)),
    ("port-zero", {"port": 0}, (PORT,)),
    ("port-large", {"port": 65536}, (PORT,)),
    ("port-half", {"port": 3306.5}, (PORT,)),
    ("user-empty", {"user": ""}, (USER,)),
    ("secret-path", {"secret": "projects/p/secrets/s"}, (SECRET,)),
    ("secret-empty", {"secret": ""}, (SECRET,)),
    ("version-word", {"secret_version": "newest"}, (VERSION,)),
    ("version-zero", {"secret_version": "0"}, (VERSION,)),
    ("dataset-other", {"dataset": "other"}, ("dataset other is not among datasets: rows of its tables would not land",)),
    (
        "dataset-named",
        {"dataset": "registry"},
        (
            "version_pattern of dataset registry does not match customer_v_123abcdef, as capture names its tables: set "
            "another one, or capture into another dataset",
        ),
    ),
    (
        "dataset-split",
        {"dataset": "split"},
        (
            "version_pattern of dataset split does not match customer_v_123abcdef, as capture names its tables: set "
            "another one, or capture into another dataset",
        ),
    ),
    ("include-empty", {"include": ["shop.*", ""]}, (PATTERNS,)),
    ("exclude-lines", {"exclude": ["a\nb"]}, (PATTERNS,)),
    ("start-place", {"start": "mysql-bin.000123"}, (START,)),
    ("start-file", {"start": "log:4"}, (START,)),
    ("gtid-word", {"gtid": "x"}, (GTID,)),
    ("gtid-short", {"gtid": "0-1"}, (GTID,)),
    ("start-twice", {"start": "b.1:4", "gtid": "0-1-5"}, ("start and gtid both say where to begin: name one",)),
    ("epoch-zero", {"epoch": 0}, (EPOCH,)),
    ("epoch-half", {"epoch": 1.5}, (EPOCH,)),
    ("number-zero", {"server_id": 0}, (NUMBER,)),
    ("number-large", {"server_id": 4294967296}, (NUMBER,)),
    ("number-one", {"server_id": 7}, ("server_id 7 is that of another entry",)),
    ("number-two", {"server_id": 7}, ("server_id 7 is that of another entry",)),
    ("tls-other", {"tls": {"crl": "s"}}, (TLS,)),
    ("tls-path", {"tls": {"ca": "a/b"}}, (TLS,)),
    ("tls-key", {"tls": {"key": "s"}}, ("tls key needs cert",)),
    ("tls-name", {"tls_any_name": True}, ("tls_any_name needs tls ca",)),
    ("network-short", {"network": "default"}, ("network must be projects/P/global/networks/N",)),
    ("subnet-short", {"subnetwork": "default"}, (SUBNETWORK,)),
    ("subnet-far", {"subnetwork": "projects/p/regions/us-east1/subnetworks/s"}, (SUBNETWORK,)),
    ("egress-other", {"egress": "all"}, ("egress must be PRIVATE_RANGES_ONLY or ALL_TRAFFIC",)),
    ("cpu-three", {"cpu": "3"}, ("cpu must be 1, 2, 4 or 8",)),
    ("memory-small", {"memory": "511Mi"}, (MEMORY,)),
    ("memory-unit", {"memory": "1G"}, (MEMORY,)),
    ("account-user", {"service_account": "me@example.com"}, (ACCOUNT,)),
    (
        "account-taken",
        {"service_account": OTHER},
        ("service_account is that of something else: each source needs one of its own",),
    ),
    ("two-faults", {"port": 0, "user": ""}, (PORT, USER)),
)
# Entries at the edge that are right.
RIGHT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ab", {"port": 1, "memory": "512Mi", "server_id": 1, "epoch": 1, "host": "::1", "gtid": "0-1-5,1-1-7"}),
    ("a2345678901234567", {"port": 65535, "memory": "1024Mi", "server_id": 4294967295, "host": "db.a"}),
    ("shop-db", {"source": "Shop DB", "user": "a b", "tls": {"ca": "A_-1", "cert": "c", "key": "k"}, "tls_any_name": True}),
    ("crm", {"dataset": "mixed", "gtid": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7-9", "include": ["a b.*", "?x"]}),
)  # fmt: skip


def written(entries: dict[str, dict[str, Any]], image: str | None = IMAGE) -> str:
    """A file of Terraform's tests with one run."""
    given = {
        "project": "my-project",
        "region": "europe-west1",
        "datasets": ["shop", "registry", "split", "mixed"],
        "version_patterns": {
            "registry": "(?P<base>.+)_(?P<version>[0-9]+)",
            "split": "(?P<base>[a-z]+)_(?P<version>.+)",
            "mixed": "(?P<base>.+)_v_(?P<version>[0-9a-f]+)",
        },
        "service_accounts": {"batch": OTHER},
        "capture_image": image,
        "captures": {name: {**GIVEN, **entry} for name, entry in entries.items()},
    }
    variables = "\n".join(f"  {name} = {literal(value)}" for name, value in given.items())
    head = 'mock_provider "google" {\n  source = "./tests/mocks"\n  override_during = plan\n}\n'
    return f'{head}\nvariables {{\n{variables}\n}}\n\nrun "captures" {{\n  command = plan\n}}\n'


def planned(terraform: Terraform, text: str) -> Outcome:
    path = Path(terraform.folder / "tests" / "captures.tftest.hcl")
    path.write_text(text)
    try:
        return terraform.tested(path.name)
    finally:
        path.unlink()


def faults(outcome: Outcome) -> set[str]:
    """What the output `captures` refuses."""
    details = [json.loads(line)["detail"] for line in outcome.said.splitlines()]
    return {line for detail in details for line in detail.splitlines() if line.startswith("captures.")}


def test_everything_that_is_wrong_is_said_at_once_and_by_name(terraform: Terraform) -> None:
    outcome = planned(terraform, written({name: entry for name, entry, _ in WRONG}))
    assert outcome.status == {"captures": "error"}
    assert faults(outcome) == {f"captures.{name}: {fault}" for name, _, found in WRONG for fault in found}


def test_without_an_image_only_a_process_elsewhere_is_planned(terraform: Terraform) -> None:
    outcome = planned(terraform, written({"shop-db": {}, "old-db": {"worker_pool": False}}, image=None))
    assert faults(outcome) == {"captures.shop-db: capture_image is missing: build it with make image, docs/deploy.md"}


def test_what_is_right_is_planned_and_taken_by_the_command(terraform: Terraform) -> None:
    outcome = planned(terraform, written(dict(RIGHT)))
    assert outcome.status == {"captures": "pass"}, outcome.said
    found = pools(outcome.plans["captures"])
    assert len(found) == len(RIGHT)
    for pool in found.values():
        options_from(parsed(arguments(pool)))


def arguments(pool: dict[str, Any]) -> list[str]:
    (container,) = pool["template"][0]["containers"]
    found: list[str] = container["args"]
    return found


def parsed(words: list[str]) -> dict[str, Any]:
    """The options as the command has them, without the files that only the container has."""
    here = [word for word in words if not word.startswith(("--tls-ca=", "--tls-cert=", "--tls-key="))]
    return capture.make_context("capture", here).params


# Of the entries above, those whose values the command itself can judge.
REFUSED_AT_START = {
    "source-blank": "source", "start-place": "start", "start-file": "start", "gtid-word": "gtid", "gtid-short": "gtid",
}  # fmt: skip


@pytest.mark.parametrize("name", [*REFUSED_AT_START, "start-twice"])
def test_the_process_refuses_it_too(name: str) -> None:
    (entry,) = (entry for found, entry, _ in WRONG if found == name)
    words = [f"--{option}={value}" for option, value in {"source": "s", **entry}.items()]
    with pytest.raises(InvalidInput):
        options_from(parsed(["--host=h", "--user=u", "--dataset=shop", "--checkpoint=c", *words]))


@pytest.mark.parametrize("pattern", ["(?P<base>.+)_(?P<version>[0-9]+)", "(?P<base>[a-z]+)_(?P<version>.+)"])
def test_the_process_refuses_the_names_of_versions_that_a_plan_refuses(pattern: str) -> None:
    with pytest.raises(InvalidSettings):
        check_names_of_capture(Settings(dataset_names={"shop": VersionedNames(pattern)}), "shop")


# What is planned, against the code


@pytest.fixture
def plan(tested: Callable[[str], Outcome]) -> Plan:
    return tested("exact.tftest.hcl").plans["exact"]


def test_the_command_takes_what_a_pool_gives_it(plan: Plan) -> None:
    given = {name: parsed(arguments(pool)) for name, pool in pools(plan).items()}
    shop, crm = given['capture["shop-db"]'], given['capture["crm-db"]']
    assert (shop["source"], shop["port"], shop["include"], shop["snapshot"]) == ("shop-db", 3306, ("shop_*",), True)
    assert (crm["source"], crm["exclude"], crm["server_id"], crm["snapshot"]) == (
        "CRM",
        ("*._*_gho", "crm.tmp"),
        4000,
        False,
    )
    assert options_from(crm).epoch == 2


def test_the_settings_of_a_pool_are_valid_and_the_password_is_a_reference(plan: Plan) -> None:
    for pool in pools(plan).values():
        (container,) = pool["template"][0]["containers"]
        values = {one["name"]: one.get("value") for one in container["env"]}
        assert values.pop(PASSWORD, "missing") is None
        settings = load_settings(values)
        assert (settings.project, settings.topic_change_records) == ("my-project", "change-records")
        assert (settings.topic_table_created, settings.topic_schema_changes) == ("table-created", "schema-changes")
        assert large_rows_at(settings.large_records)


def test_no_password_passes_through_the_state(plan: Plan) -> None:
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
def test_a_source_reaches_its_own_objects_alone(plan: Plan, type_: str, name: str, admitted: bool) -> None:
    only = expected.conditions(plan)['google_storage_bucket_iam_member.capture["shop-db"]']
    assert admits(only, type_, name) is admitted


@pytest.mark.usefixtures("object_store")
def test_what_the_process_writes_lies_where_its_account_may_write_and_the_sink_may_read(plan: Plan) -> None:
    pool = pools(plan)['capture["shop-db"]']
    (container,) = pool["template"][0]["containers"]
    folder = next(one["value"] for one in container["env"] if one["name"] == "ONEFOLD_LARGE_RECORDS")
    store = store_at(parsed(arguments(pool))["checkpoint"])
    store.save(Checkpoint("shop-db", "shop"))
    checkpoint = StoredObjects().read("gs://my-project-onefold-capture/shop-db/checkpoint.json")
    assert checkpoint.startswith(to_json(Checkpoint("shop-db", "shop"))[:-1])
    record = large_rows_at(folder).put("customer_v_abc/1.json", b"{}").replace("gs://", "projects/_/buckets/", 1)
    record = record.replace("my-project-onefold-capture/", "my-project-onefold-capture/objects/")
    conditions = expected.conditions(plan)
    assert admits(conditions['google_storage_bucket_iam_member.capture["shop-db"]'], OBJECT, record)
    assert admits(conditions["google_storage_bucket_iam_member.sink_records"], OBJECT, record)


# The documentation


def test_every_field_of_a_source_is_described() -> None:
    block = (ROOT / "infra" / "variables.tf").read_text().partition('variable "captures" {')[2].partition("\n}")[0]
    fields = set(re.findall(r"^    (\w+) +=", block, re.MULTILINE))
    page = (ROOT / "docs" / "deploy.md").read_text().partition("\n## Capture\n")[2].partition("\n## ")[0]
    described = {name for row in re.findall(r"^\| (`.+?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert "secret" in fields
    assert described == fields


def test_the_documented_container_has_no_password_in_sight_and_its_arguments_are_taken() -> None:
    page = (ROOT / "docs" / "capture-run.md").read_text()
    (block,) = re.findall(r"^    docker run (.*(?:\n      .*)*)", page, re.MULTILINE)
    words = block.replace("\\\n", " ").split()
    image = next(place for place, word in enumerate(words) if "@sha256:" in word)
    assert not any("PASSWORD" in word for word in words)
    given = [word for word in words[image + 1 :] if not word.startswith("--password-file=")]
    assert len(given) == len(words) - image - 2
    assert options_from(parsed(given)).snapshot


def test_nothing_tells_to_put_a_password_into_the_metadata_of_an_instance() -> None:
    for page in (*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("*.yaml"), *(ROOT / "infra").glob("*.tf")):
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
def test_the_line_of_each_minute_is_counted_and_no_other(plan: Plan, entry: dict[str, Any], counted: bool) -> None:
    assert matches(expected.filters(plan)["google_logging_metric.captured"], entry) is counted


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

    filters = expected.filters(plan)
    with bench_of(source, tmp_path).running() as process:
        process.clock = itertools.count(time.monotonic(), 61).__next__  # each look is a minute later
        counted = eventually(lambda: logged(filters["google_logging_metric.captured"]))
    assert counted[0]["jsonPayload"]["tables_in_quarantine"] == 1
    (told,) = logged(filters['google_monitoring_alert_policy.log["table in quarantine"]'])
    (alert,) = plan.of("google_monitoring_alert_policy")['log["table in quarantine"]']["conditions"]
    (matched,) = alert["condition_matched_log"]
    labels = {
        name: re.fullmatch(r"EXTRACT\(jsonPayload\.(\w+)\)", value) for name, value in matched["label_extractors"].items()
    }
    assert {name: told["jsonPayload"][found[1]] for name, found in labels.items() if found} == {
        "kind": "structure",
        "database": source.name,
        "table": "t",
    }


@pytest.mark.parametrize(("severity", "told"), [("CRITICAL", True), ("WARNING", False)])
def test_a_table_that_goes_into_quarantine_alerts_once(plan: Plan, severity: str, told: bool) -> None:
    filter_ = expected.filters(plan)['google_monitoring_alert_policy.log["table in quarantine"]']
    assert matches(filter_, {"severity": severity, "jsonPayload": {"event": "quarantined"}}) is told
    assert not matches(filter_, {"severity": severity, "jsonPayload": {"event": "quarantine_left"}})
