"""The settings of Spark batches are checked all at once, and are required only where a batch is launched."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.batches import BATCH_SETTINGS, ENVIRON

from onefold.core.errors import InvalidSettings
from onefold.settings.batches import VARIABLES, BatchSettings
from onefold.settings.environment import load_settings

KEY = "projects/keys/locations/europe-west1/keyRings/ring_1/cryptoKeys/key-1"


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(name: str, value: str) -> BatchSettings:
    return load_settings({f"ONEFOLD_BATCH_{name}": value}).batch


def test_settings_of_batches_are_read_with_the_other_settings() -> None:
    assert load_settings(ENVIRON).batch == BATCH_SETTINGS


@pytest.mark.parametrize(
    ("name", "value", "attribute", "expected"),
    [
        ("REGION", "northamerica-northeast1", "region", "northamerica-northeast1"),
        ("RUNTIME_VERSION", "", "runtime_version", "3.0"),
        ("RUNTIME_VERSION", "3.0.13", "runtime_version", "3.0.13"),
        ("SUBNET", "batches", "subnet", "batches"),
        ("SUBNET", "projects/p/regions/r1/subnetworks/s", "subnet", "projects/p/regions/r1/subnetworks/s"),
        ("BUCKET", "stage.example", "bucket", "stage.example"),
        ("BUCKET", "stage", "folders", ("gs://stage",)),
        ("KMS_KEY", KEY, "kms_key", KEY),
        ("FOLDERS", "gs://lake/a/,gs://lake", "folders", ("gs://lake/a", "gs://lake")),
        ("CODE", "gs://code/v1/", "code", "gs://code/v1"),
        ("TTL", "90m", "ttl", timedelta(minutes=90)),
        ("TTL", "14d", "ttl", timedelta(days=14)),
        ("SOURCE_BUCKETS", "ads=pull-ads, b=c_d", "source_buckets", {"ads": "pull-ads", "b": "c_d"}),
        ("CHECKPOINTS", "a=gs://state/a,B b=/var/c", "checkpoints", {"a": "gs://state/a", "B b": "/var/c"}),
        ("LABELS", "team=data, cost_center=", "labels", {"team": "data", "cost_center": ""}),
        ("PROPERTIES", "spark.a.b=1, spark.c=x=y", "properties", {"spark.a.b": "1", "spark.c": "x=y"}),
        ("PROPERTIES", '{"spark.a": "1,2", "dataproc.b": ""}', "properties", {"spark.a": "1,2", "dataproc.b": ""}),
    ],
)
def test_every_variable_is_read(name: str, value: str, attribute: str, expected: Any) -> None:
    assert getattr(read(name, value), attribute) == expected


def test_named_folders_take_the_place_of_the_bucket() -> None:
    environ = {"ONEFOLD_BATCH_BUCKET": "stage", "ONEFOLD_BATCH_FOLDERS": "gs://lake"}
    assert load_settings(environ).batch.folders == ("gs://lake",)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("REGION", "europe", "write it as europe-west1"),
        ("REGION", "europe-west1/../x", "write it as europe-west1"),
        ("RUNTIME_VERSION", "latest", "write it as 3.0"),
        ("SERVICE_ACCOUNT", "me@example.com", "write it as name@project.iam.gserviceaccount.com"),
        ("SUBNET", "a/b", "subnetworks/NAME"),
        ("BUCKET", "gs://stage", "without gs://"),
        ("SOURCE_BUCKETS", "ads=gs://pull-ads", "'ads=gs://pull-ads': write source=bucket, without gs://"),
        ("SOURCE_BUCKETS", "ads", "write"),
        ("CHECKPOINTS", "a=s3://x/y", "'a=s3://x/y': write source=gs://bucket/folder"),
        ("KMS_KEY", "key", "cryptoKeys/K"),
        ("KMS_KEY", f"{KEY}/cryptoKeyVersions/1", "cryptoKeys/K"),
        ("KMS_KEY", KEY.replace("ring", "größe"), "cryptoKeys/K"),
        ("FOLDERS", "lake", "'lake' is not a folder"),
        ("FOLDERS", "gs://lake/../x", "is not a folder"),
        ("FOLDERS", "gs://lake/*", "is not a folder"),
        ("CODE", "/code", "write it as gs://bucket/folder"),
        ("TTL", "4", "write it as 90m, 4h or 2d"),
        ("TTL", "9m", "is not between 10m and 14d"),
        ("TTL", "15d", "is not between 10m and 14d"),
        ("LABELS", "Team=data", "'Team=data': keys and values are lower-case letters"),
        ("LABELS", "onefold_job=x", "not with onefold_"),
        ("LABELS", ",".join(f"a{number}=x" for number in range(29)), "takes 28 labels"),
        ("PROPERTIES", "spark.a", "write name=value"),
        ("PROPERTIES", "yarn.a=1", "'yarn.a': the names of properties begin with spark."),
        ("PROPERTIES", "spark.a=1,spark.a=2", "each name comes once"),
        ("PROPERTIES", '{"spark.a": 1}', "in quotes"),
        ("PROPERTIES", '{"spark.a": {"b": "c"}}', "in quotes"),
        ("PROPERTIES", '{"spark.a": "\\u0000"}', "a line of text"),
        ("PROPERTIES", "{", "ONEFOLD_BATCH_PROPERTIES: "),
    ],
)
def test_a_wrong_variable_is_reported_with_a_remedy(name: str, value: str, words: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read(name, value)
    (problem,) = refused.value.problems
    assert problem.startswith(f"ONEFOLD_BATCH_{name}")
    assert words in problem


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(InvalidSettings) as refused:
        load_settings(dict.fromkeys(VARIABLES, "!"))
    assert {problem.split(":")[0].split(" ")[0] for problem in refused.value.problems} == set(VARIABLES)


def test_no_variable_is_needed_where_no_batch_is_launched() -> None:
    assert load_settings({}).batch == BatchSettings()


def test_all_missing_variables_are_reported_where_a_batch_is_launched() -> None:
    BATCH_SETTINGS.check_complete()
    with pytest.raises(InvalidSettings) as refused:
        BatchSettings().check_complete()
    assert [problem.split(" ")[0] for problem in refused.value.problems] == [
        "ONEFOLD_BATCH_REGION",
        "ONEFOLD_BATCH_SERVICE_ACCOUNT",
        "ONEFOLD_BATCH_CODE",
    ]


def test_jobs_get_the_settings_that_they_read(tmp_path: Path) -> None:
    environ = {"ONEFOLD_DATASETS": "shop", "ONEFOLD_VIEW_NAME": "{table}_all", "ONEFOLD_TOPIC_DEAD_LETTER": "dead"}
    batch = load_settings(environ).batch
    assert (batch.passed_on, batch.config) == ({"ONEFOLD_DATASETS": "shop", "ONEFOLD_VIEW_NAME": "{table}_all"}, False)
    (tmp_path / "onefold.yaml").write_text("tables: {customer: {keys: [id]}}")
    assert load_settings(environ).batch.config
