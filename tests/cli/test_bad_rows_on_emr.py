"""The command `bad-rows retry` over runs in S3, where the variables of EMR Serverless are set."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import boto3
import pytest
from support.aws_values import BUCKET
from support.cli import Run, check_json
from support.fake_emr_serverless import EmrServerless
from support.registries import document
from support.shred_job import scene_with_clicks
from support.shred_scene import ID
from support.shredded_runs import NOON
from support.terraform import ROOT

from infra.package import package_spark
from onefold.events.shred.bad_rows import BadRow
from onefold.events.shred.manifest import MANIFEST, RunManifest

RUN = "2026-11-23-08-00-00"
USER = "iglu:com.acme/user/jsonschema/1-0-0"
BAD = f"s3://{BUCKET}/shredded/run={RUN}/bad/part-0.json"
ROLE = "arn:aws:iam::123456789012:role/onefold-shredder"
WORDS = (
    *("bad-rows", "retry", "--runs", f"s3://{BUCKET}/shredded", "--registry", "s3://acme-registry"),
    *("--warehouse", "redshift", "--input", "self-describing"),
)
ARGUMENTS = [
    *("--events", f"s3://{BUCKET}/shredded/run={RUN}/bad", "--registry", "s3://acme-registry"),
    *(f"--output=s3://{BUCKET}/shredded", "--input=self-describing", "--unknown=bad_event", "--warehouse=redshift"),
]


def put(bucket: str, key: str, body: bytes) -> None:
    boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=body)


@pytest.fixture
def service(emr_serverless: EmrServerless, monkeypatch: pytest.MonkeyPatch) -> EmrServerless:
    """A finished run with a bad row of a schema that was unknown, and the variables of the service."""
    for bucket in (BUCKET, "acme-registry"):
        boto3.client("s3").create_bucket(Bucket=bucket)
    event = json.dumps({"schema": USER, "data": {"id": 1}, "event_id": ID, "collector_tstamp": "2026-11-23T08:00:00Z"})
    bad = BadRow("unknown_schema", (f"the registry has no schema {USER}: add it",), event)
    put(BUCKET, BAD.removeprefix(f"s3://{BUCKET}/"), f"{bad.to_json()}\n".encode())
    manifest = RunManifest(RUN, "csv", "none", "s3://acme-registry", (), (), (), 1, {"unknown_schema": 1}, NOON, NOON)
    put(BUCKET, f"shredded/run={RUN}/{MANIFEST}", manifest.to_json().encode())
    monkeypatch.setenv("ONEFOLD_EMR_APPLICATION", emr_serverless.application)
    monkeypatch.setenv("ONEFOLD_EMR_ROLE", ROLE)
    monkeypatch.setenv("ONEFOLD_EMR_CODE", f"s3://{BUCKET}/code/v1")
    monkeypatch.setenv("ONEFOLD_EMR_LOG", "/onefold/shredder")
    return emr_serverless


def test_a_job_is_started_with_the_bad_rows_that_wait(service: EmrServerless, run: Run) -> None:
    service.held = True
    planned = run(*WORDS, "--dry-run")
    assert planned.out.splitlines() == [
        "1 file of bad rows of 1 run", f"would run s3://{BUCKET}/code/v1/shred.py {' '.join(ARGUMENTS)}",
    ]  # fmt: skip
    check_json(run(*WORDS, "--dry-run", "--json").out)
    assert service.states == {}
    started = run(*WORDS, "--json")
    check_json(started.out)
    call = service.calls["job0"]
    assert started.result == {
        "id": call["clientToken"], "batch": "job0", "created": True, "state": "PENDING", "message": "", "link": "",
        "report": None,
    }  # fmt: skip
    assert (started.code, call["name"], call["executionRoleArn"]) == (0, "onefold-retry", ROLE)
    assert call["jobDriver"]["sparkSubmit"]["entryPointArguments"] == ARGUMENTS


def test_missing_and_wrong_variables_are_named_together(
    service: EmrServerless, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEFOLD_EMR_ROLE")
    monkeypatch.setenv("ONEFOLD_EMR_MINUTES", "0")
    printed = run(*WORDS)
    assert printed.code == 1
    assert "ONEFOLD_EMR_ROLE is not set: set it to the role of its jobs, by its ARN" in printed.err
    assert "ONEFOLD_EMR_MINUTES '0': write it as a whole number" in printed.err
    assert service.states == {}


def test_a_job_that_the_service_refuses_is_an_error_with_the_right_that_is_missing(service: EmrServerless, run: Run) -> None:
    service.refused = "AccessDeniedException"
    printed = run(*WORDS, "--wait")
    assert (printed.code, "grant emr-serverless:StartJobRun" in printed.err) == (1, True)


@pytest.mark.spark
def test_bad_rows_are_shredded_by_the_job_and_none_waits_then(service: EmrServerless, run: Run, tmp_path: Path) -> None:
    scene = scene_with_clicks(tmp_path)
    scene.add_schemas(document("1-0-0", "user"))
    for path in scene.registry.rglob("*"):
        if path.is_file():
            put("acme-registry", path.relative_to(scene.registry).as_posix(), path.read_bytes())
    _upload_code(tmp_path)
    done = run(*WORDS, "--wait", "--json")
    check_json(done.out)
    assert (done.code, done.result["state"]) == (0, "SUCCEEDED"), service.logs
    assert done.result["report"]["tables"] == {"com_acme_user_1": 1}
    assert run(*WORDS).out == "no bad rows wait: nothing to do\n"
    # Without its code the next job fails, and so does the command.
    put(BUCKET, "code/v1/shred.py", b"raise SystemExit(1)")
    put(BUCKET, f"shredded/run={RUN}/bad/part-1.json", b"nonsense\n")
    failed = run(*WORDS, "--wait")
    assert (failed.code, failed.out.splitlines()[-1]) == (1, "FAILED")


def _upload_code(folder: Path) -> None:
    put(BUCKET, "code/v1/shred.py", (ROOT / "spark_jobs" / "shred.py").read_bytes())
    put(BUCKET, "code/v1/spark.zip", package_spark(folder / "spark.zip").read_bytes())
    with zipfile.ZipFile(folder / "libraries.zip", "w") as archive:  # the libraries are those of this machine
        archive.writestr("README", "")
    put(BUCKET, "code/v1/compiled_libraries.zip", (folder / "libraries.zip").read_bytes())
