"""The Dataproc adapter over real gRPC: its requests, field by field, and the outcome of each answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import google.auth.exceptions
import grpc
import pytest
from google.api_core.exceptions import ServiceUnavailable
from google.api_core.retry import Retry, if_exception_type
from google.auth.credentials import AnonymousCredentials
from google.cloud import dataproc_v1
from support.batches import BATCH_SETTINGS, REQUEST, SETTINGS
from support.dataproc_stage import ALLOWED, BATCH, PARENT, Stage

import onefold.adapters.dataproc
from onefold.adapters.dataproc import connect
from onefold.batches.batch import plan_batch
from onefold.batches.launch import launch
from onefold.batches.request import BatchRequest
from onefold.core.errors import InvalidSettings, OnefoldError, Rejected, TryAgain
from onefold.ports.batches import Batch, BatchExists, BatchState
from onefold_lab.dataproc import ApiError, LocalDataproc

# Requests.


def test_a_batch_is_sent_field_by_field(stage: Stage) -> None:
    settings = replace(
        BATCH_SETTINGS,
        runtime_version="3.0.13",
        subnet="projects/my-project/regions/europe-west1/subnetworks/batches",
        bucket="stage",
        kms_key="projects/keys/locations/europe-west1/keyRings/ring/cryptoKeys/key",
        properties={"spark.executor.instances": "4"},
        passed_on={"ONEFOLD_VIEW_NAME": "{table}_all"},
        config=True,
        ttl=timedelta(hours=6),
    )
    stage.batches.create(plan_batch(REQUEST, "1", settings, ALLOWED))
    (request,) = stage.requests
    assert dataproc_v1.CreateBatchRequest.to_dict(request, always_print_fields_with_no_presence=False) == {
        "parent": PARENT,
        "batch_id": BATCH.id,
        "request_id": BATCH.request_id,
        "batch": {
            "labels": dict(BATCH.labels),
            "pyspark_batch": {
                "main_python_file_uri": "gs://code/v1/reconcile.py",
                "python_file_uris": ["gs://code/v1/spark.zip"],
                "file_uris": ["gs://code/v1/onefold.checked.json"],
                "args": ["--keys=id", "--changes=bigquery:shop.customer", "--base=bigquery:shop.customer_base"],
            },
            "runtime_config": {
                "version": "3.0.13",
                "properties": {
                    "spark.executor.instances": "4",
                    "spark.dataproc.driverEnv.ONEFOLD_VIEW_NAME": "{table}_all",
                },
            },
            "environment_config": {
                "execution_config": {
                    "service_account": "spark@my-project.iam.gserviceaccount.com",
                    "authentication_config": {"user_workload_authentication_type": 1},
                    "subnetwork_uri": "projects/my-project/regions/europe-west1/subnetworks/batches",
                    "staging_bucket": "stage",
                    "kms_key": "projects/keys/locations/europe-west1/keyRings/ring/cryptoKeys/key",
                    "ttl": "21600s",
                }
            },
        },
    }


def test_settings_without_a_value_are_left_to_dataproc(stage: Stage) -> None:
    stage.batches.create(BATCH)
    execution = dataproc_v1.Batch.to_dict(stage.requests[0].batch, always_print_fields_with_no_presence=False)[
        "environment_config"
    ]["execution_config"]
    assert execution == {
        "service_account": "spark@my-project.iam.gserviceaccount.com",
        "authentication_config": {"user_workload_authentication_type": 1},
    }


# Answers.


def test_a_batch_is_read_with_its_state_and_its_message(stage: Stage) -> None:
    assert stage.batches.get(BATCH.id) is None
    created = stage.batches.create(BATCH)
    assert (created.id, created.state) == (BATCH.id, BatchState.PENDING)
    stage.end(BATCH.id, "out of memory")
    found = stage.batches.get(BATCH.id)
    assert found
    assert (found.id, found.state, found.message, found.labels) == (
        BATCH.id,
        BatchState.FAILED,
        "out of memory",
        BATCH.labels,
    )


def test_an_identifier_that_is_taken_raises_batch_exists(stage: Stage) -> None:
    stage.batches.create(BATCH)
    with pytest.raises(BatchExists, match=f"batch {BATCH.id} exists already"):
        stage.batches.create(OtherRequest(**vars(BATCH)))


class OtherRequest(Batch):
    """A batch with the same identifier and another request identifier."""

    request_id = "another"


def test_the_same_request_twice_is_one_batch(stage: Stage) -> None:
    assert stage.batches.create(BATCH) == stage.batches.create(BATCH)


def test_concurrent_deliveries_create_one_batch_for_each_attempt(stage: Stage) -> None:
    def deliver(_: int) -> str:
        return launch(stage.batches, REQUEST, "1", SETTINGS).batch.id

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(deliver, range(8))) == {BATCH.id}
        stage.end(BATCH.id, "failed")
        assert set(threads.map(deliver, range(8))) == {f"{BATCH.id}-2"}
    assert len(stage.batches.active({"onefold_table": "customer"})) == 1


def test_another_message_waits_for_the_batch_of_its_table(stage: Stage) -> None:
    launch(stage.batches, REQUEST, "1", SETTINGS)
    with pytest.raises(TryAgain, match="has not ended"):
        launch(stage.batches, REQUEST, "2", SETTINGS)
    assert launch(stage.batches, BatchRequest("reconcile", "shop", "Größe", ("--keys=id",)), "3", SETTINGS).created
    stage.end(BATCH.id)
    assert launch(stage.batches, REQUEST, "2", SETTINGS).created


# Errors.


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    retry = Retry(if_exception_type(ServiceUnavailable), initial=0.01, maximum=0.01, timeout=0.1)
    monkeypatch.setattr(onefold.adapters.dataproc, "_RETRY", retry)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.UNAVAILABLE, TryAgain),
        (grpc.StatusCode.DEADLINE_EXCEEDED, TryAgain),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, TryAgain),
        (grpc.StatusCode.INTERNAL, TryAgain),
        (grpc.StatusCode.ABORTED, TryAgain),
        (grpc.StatusCode.UNKNOWN, TryAgain),
        (grpc.StatusCode.PERMISSION_DENIED, TryAgain),
        (grpc.StatusCode.UNAUTHENTICATED, TryAgain),
        (grpc.StatusCode.INVALID_ARGUMENT, Rejected),
        (grpc.StatusCode.FAILED_PRECONDITION, Rejected),
        (grpc.StatusCode.NOT_FOUND, Rejected),
        (grpc.StatusCode.UNIMPLEMENTED, Rejected),
    ],
)
def test_every_answer_of_the_api_is_transient_or_final(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, code: grpc.StatusCode, kind: type[OnefoldError]
) -> None:
    monkeypatch.setattr(LocalDataproc, "_store", refusing(code))
    with pytest.raises(OnefoldError, match=f"Dataproc in {PARENT}: .*not today") as raised:
        stage.batches.create(BATCH)
    assert type(raised.value) is kind


def refusing(code: grpc.StatusCode) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise ApiError(code, "not today")

    return refuse


def test_a_request_is_tried_again_during_a_short_outage(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [refusing(grpc.StatusCode.UNAVAILABLE), LocalDataproc._store]
    monkeypatch.setattr(LocalDataproc, "_store", lambda *arguments: answers.pop(0)(*arguments))
    assert stage.batches.create(BATCH).state is BatchState.PENDING
    assert not answers


@pytest.mark.usefixtures("impatient")
def test_a_server_that_does_not_answer_raises_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAPROC_EMULATOR_HOST", "127.0.0.1:9")
    refused = r"no answer from 127\.0\.0\.1:9 \(Connection refused.*\)"
    expected = rf"{PARENT}: {refused}: start the stand-in .*unset DATAPROC_EMULATOR_HOST"
    with pytest.raises(TryAgain, match=expected):
        connect("my-project", BATCH_SETTINGS).get("b")


# Clients.


def test_the_client_is_that_of_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATAPROC_EMULATOR_HOST", raising=False)
    monkeypatch.setattr("google.auth.default", lambda **_: (AnonymousCredentials(), "found"))  # type: ignore[no-untyped-call]
    batches = connect(None, BATCH_SETTINGS)
    assert batches._client.api_endpoint == "europe-west1-dataproc.googleapis.com:443"
    assert (batches.project, batches.region) == ("found", "europe-west1")
    assert connect("my-project", BATCH_SETTINGS).project == "my-project"


def test_a_missing_setting_project_or_credential_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATAPROC_EMULATOR_HOST", raising=False)
    with pytest.raises(InvalidSettings, match="ONEFOLD_BATCH_REGION"):
        connect("my-project", replace(BATCH_SETTINGS, region=None))
    monkeypatch.setattr("google.auth.default", lambda **_: (AnonymousCredentials(), None))  # type: ignore[no-untyped-call]
    with pytest.raises(Rejected, match="set ONEFOLD_PROJECT"):
        connect(None, BATCH_SETTINGS)

    def none(**_: Any) -> Any:
        raise google.auth.exceptions.DefaultCredentialsError("nobody")  # type: ignore[no-untyped-call]

    monkeypatch.setattr("google.auth.default", none)
    with pytest.raises(Rejected, match="gcloud auth application-default login"):
        connect(None, BATCH_SETTINGS)
