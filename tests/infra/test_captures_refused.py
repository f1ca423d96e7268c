"""Validation of `captures`: a plan refuses all invalid entries at once and by name, as the process does at its start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from infra.test_validation import literal
from support.planned import containers
from support.terraform import Outcome, Terraform

from onefold.cli.capture import capture, check_names_of_capture
from onefold.cli.capture_options import options_from
from onefold.core.errors import InvalidInput, InvalidSettings
from onefold.core.version_labels import LabelledNames
from onefold.core.versioned_names import VersionedNames
from onefold.settings.environment import Settings

GIVEN = {"host": "10.0.0.3", "user": "onefold", "secret": "password", "dataset": "shop"}
IMAGE = f"europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:{'0' * 64}"
NAME = "its name must have 2 to 17 lower-case letters, digits and hyphens, begin with a letter, and not be records"
PATTERNS = "include and exclude must be patterns as shop.order* or shop_*"
PORT, EPOCH = "port must be a whole number from 1 to 65535", "epoch must be a whole number, at least 1"
NUMBER = "server_id must be a whole number from 1 to 4294967295"
START, GTID = "start must be FILE:OFFSET, as mysql-bin.000123:4", "gtid must be a set as UUID:1-5 or 0-1-5"
RATE = "copy_rate must be a whole number, at least 1"
WINDOW = "copy_window must be HH:MM-HH:MM with different times, and perhaps a time zone, as 22:00-05:00 Europe/Berlin"
MEMORY, TLS = "memory must be 512Mi at least, as 1Gi", "tls must name secrets by ca, cert and key"
HOST, SECRET = (
    "host must be a name or an address, without port",
    "secret must be the id of a secret of the project, which holds the password",
)
SOURCE, USER = "source must be one line of text: it is part of the key of every row", "user must be one line of text"
ACCOUNT = "service_account must be the e-mail of an account of the project"
SUBNETWORK = "subnetwork must be projects/P/regions/europe-west1/subnetworks/S"
FLUSH = "flush_seconds must be a number from 0.1 to 60"
METRICS = "metrics_port must be a whole number from 1024 to 65535"
VERSION = "secret_version must be latest or a number"
OTHER = "given-batch@my-project.iam.gserviceaccount.com"
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

# Entries that are wrong, each with all that is wrong with it.
CHECKED = {"databases": ["x"]}
SETTLE = "checks: settle_seconds must be a whole number from 0 to 86400"
PER_BATCH = "checks: databases_per_batch must be a whole number from 1 to 200"
FIX = "checks: fix needs a source without , and ="
READER = "checks: secret must be the id of a secret of the project"
UNCHECKED = (
    "checks needs check_schedule, or nothing checks these tables",
    "checks: the entry and each of its databases must be among `sources` of onefold.yaml",
)
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
    ("source-wide", {"source": "\u3000"}, (SOURCE,)),
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
    ("gtid-zero", {"gtid": f"{UUID}:0"}, (GTID,)),
    ("gtid-back", {"gtid": f"{UUID}:1-3:7-5"}, (GTID,)),
    ("gtid-tag-end", {"gtid": f"{UUID}:1-5:tag"}, (GTID,)),
    ("gtid-tag-long", {"gtid": f"{UUID}:{'t' * 33}:1"}, (GTID,)),
    ("start-twice", {"start": "b.1:4", "gtid": "0-1-5"}, ("start and gtid both say where to begin: name one",)),
    ("epoch-zero", {"epoch": 0}, (EPOCH,)),
    ("epoch-half", {"epoch": 1.5}, (EPOCH,)),
    ("number-zero", {"server_id": 0}, (NUMBER,)),
    ("number-large", {"server_id": 4294967296}, (NUMBER,)),
    ("number-one", {"server_id": 7}, ("server_id 7 is that of another entry",)),
    ("number-two", {"server_id": 7}, ("server_id 7 is that of another entry",)),
    ("rate-zero", {"copy_rate": 0}, (RATE,)),
    ("rate-half", {"copy_rate": 0.5}, (RATE,)),
    ("window-word", {"copy_window": "at night"}, (WINDOW,)),
    ("window-hour", {"copy_window": "22:00-24:00"}, (WINDOW,)),
    ("window-none", {"copy_window": "22:00-22:00"}, (WINDOW,)),
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
    ("flush-short", {"flush_seconds": 0.05}, (FLUSH,)),
    ("flush-long", {"flush_seconds": 61}, (FLUSH,)),
    ("metrics-low", {"metrics_port": 1023}, (METRICS,)),
    ("metrics-high", {"metrics_port": 65536}, (METRICS,)),
    ("metrics-half", {"metrics_port": 9464.5}, (METRICS,)),
    ("memory-unit", {"memory": "1G"}, (MEMORY,)),
    ("account-user", {"service_account": "me@example.com"}, (ACCOUNT,)),
    *(
        (name, {"service_account": email}, ("service_account is that of something else: each source needs one of its own",))
        for name, email in {
            "account-taken": OTHER,
            "account-made": "onefold-refresh-view@my-project.iam.gserviceaccount.com",
            "account-source": "capture-two-faults@my-project.iam.gserviceaccount.com",
        }.items()
    ),
    ("two-faults", {"port": 0, "user": ""}, (PORT, USER)),
    ("check-source", {"source": "a,b", "checks": {**CHECKED, "fix": True}}, (*UNCHECKED, FIX)),
    ("check-none", {"checks": {"databases": []}}, UNCHECKED),
    ("check-secret", {"checks": {**CHECKED, "secret": "a/b"}}, (*UNCHECKED, READER)),
    *(
        (name, {"checks": {**CHECKED, "settle_seconds": value}}, (*UNCHECKED, SETTLE))
        for name, value in {"settle-less": -1, "settle-more": 86401, "settle-half": 0.5}.items()
    ),
    *(
        (name, {"checks": {**CHECKED, "databases_per_batch": value}}, (*UNCHECKED, PER_BATCH))
        for name, value in {"check-zero": 0, "check-many": 201, "check-half": 1.5}.items()
    ),
)
# Entries at the edge that are right.
RIGHT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("nightly", {"copy_rate": 1, "copy_window": "00:00-23:59 Etc/GMT+1"}),
    ("daily", {"copy_window": "22:00-05:00"}),
    ("ab", {"port": 1, "memory": "512Mi", "server_id": 1, "epoch": 1, "host": "::1", "gtid": "0-1-5,1-1-7"}),
    ("a2345678901234567", {"port": 65535, "memory": "1024Mi", "server_id": 4294967295, "host": "db.a"}),
    ("shop-db", {"source": "Shop DB", "user": "a b", "tls": {"ca": "A_-1", "cert": "c", "key": "k"}, "tls_any_name": True}),
    ("crm", {"dataset": "mixed", "gtid": f"{UUID}:1-5:7-9:a_1:3", "include": ["a b.*", "?x"]}),
)  # fmt: skip


def written(entries: dict[str, dict[str, Any]], image: str | None = IMAGE) -> str:
    """A file of Terraform's tests with one run."""
    given = {
        "project": "my-project",
        "region": "europe-west1",
        "datasets": ["shop", "registry", "split", "mixed"],
        "version_patterns": {
            "registry": "(?P<base>.+)_(?P<version>[0-9]+)",
            "split": "(?P<base>[a-z]+)_(?P<version>v_.+)",
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


def problems(outcome: Outcome) -> set[str]:
    """What the output `captures` refuses."""
    details = [json.loads(line)["detail"] for line in outcome.said.splitlines()]
    return {line for detail in details for line in detail.splitlines() if line.startswith("captures.")}


def test_all_problems_are_reported_at_once_with_the_name_of_the_entry(terraform: Terraform) -> None:
    outcome = planned(terraform, written({name: entry for name, entry, _ in WRONG}))
    assert outcome.status == {"captures": "error"}
    assert problems(outcome) == {f"captures.{name}: {problem}" for name, _, found in WRONG for problem in found}


def test_without_an_image_only_a_process_elsewhere_is_planned(terraform: Terraform) -> None:
    outcome = planned(terraform, written({"shop-db": {}, "old-db": {"worker_pool": False}}, image=None))
    assert problems(outcome) == {
        "captures.shop-db: capture_image is missing: build it with make image, docs/how-to/deploy.md"
    }


def test_valid_entries_are_planned_and_accepted_by_the_command(terraform: Terraform) -> None:
    outcome = planned(terraform, written(dict(RIGHT)))
    assert outcome.status == {"captures": "pass"}, outcome.said
    found = containers(outcome.plans["captures"])
    assert len(found) == len(RIGHT)
    for container in found.values():
        options_from(parsed(container["args"]))


def parsed(words: list[str]) -> dict[str, Any]:
    """The options as the command has them, without the files that only the container has."""
    here = [word for word in words if not word.startswith(("--tls-ca=", "--tls-cert=", "--tls-key="))]
    return capture.make_context("capture", here).params


# Of the entries above, those whose values the command itself can judge.
REFUSED_AT_START = {
    "source-blank": "source", "start-place": "start", "start-file": "start", "gtid-word": "gtid", "gtid-short": "gtid",
    "source-wide": "source", "gtid-zero": "gtid", "gtid-back": "gtid", "gtid-tag-end": "gtid", "gtid-tag-long": "gtid",
    "window-word": "copy_window", "window-hour": "copy_window", "window-none": "copy_window",
}  # fmt: skip


@pytest.mark.parametrize("name", [*REFUSED_AT_START, "start-twice"])
def test_the_process_refuses_the_same_entries(name: str) -> None:
    (entry,) = (entry for found, entry, _ in WRONG if found == name)
    words = [f"--{option.replace('_', '-')}={value}" for option, value in {"source": "s", **entry}.items()]
    with pytest.raises(InvalidInput):
        options_from(parsed(["--host=h", "--user=u", "--dataset=shop", "--checkpoint=c", *words]))


@pytest.mark.parametrize("pattern", ["(?P<base>.+)_(?P<version>[0-9]+)", "(?P<base>[a-z]+)_(?P<version>.+)"])
def test_the_process_refuses_the_names_of_versions_that_a_plan_refuses(pattern: str) -> None:
    with pytest.raises(InvalidSettings):
        check_names_of_capture(Settings(dataset_names={"shop": VersionedNames(pattern)}), "shop")


def test_the_process_refuses_a_dataset_whose_versions_are_found_by_labels() -> None:
    with pytest.raises(InvalidSettings, match="version_pattern labels of dataset shop does not match the names"):
        check_names_of_capture(Settings(dataset_names={"shop": LabelledNames()}), "shop")
