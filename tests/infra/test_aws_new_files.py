"""infra/aws with `shred.event_seconds`: S3's events, from a file in a bucket to a run of the shredder that reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from support.aws_function import DeployedFunction
from support.aws_values import ACCOUNT, APPLICATION, AWS, BUCKET, OWN_KEY, REGION, copy_values, policies, value
from support.fake_emr_serverless import EmrServerless, api_call
from support.hcl_text import expression, resources

from onefold.adapters.emr_serverless import start_call
from onefold.batches.new_files import SHREDDER
from onefold.settings.emr import read_emr, read_words

PLACES = ["s3://acme-collector/good/*/x", f"s3://{BUCKET}/shredded/run=*/bad", "s3://acme.more/*.gz", f"s3://{BUCKET}/raw"]
SHRED = f'{{ events = {json.dumps(PLACES)}, registries = ["s3://acme-registry"], event_seconds = 60 }}'
QUEUE = f"arn:aws:sqs:{REGION}:{ACCOUNT}:onefold-files"


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_values(tmp_path_factory.mktemp("values"))


def allow(sid: str, action: str | list[str], resource: str, **more: Any) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": resource, **more}


def test_the_starter_may_do_exactly_this(values: Path) -> None:
    found = policies(values, shred=SHRED)
    role = f"arn:aws:iam::{ACCOUNT}:role/onefold-shredder"
    passed = {"StringEquals": {"iam:PassedToService": "emr-serverless.amazonaws.com"}}
    log = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws/lambda/onefold-starter:*"
    assert found["starter"] == [
        allow("TakeMessages", ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], QUEUE),
        allow("StartJobs", ["emr-serverless:StartJobRun", "emr-serverless:ListJobRuns"], APPLICATION),
        allow("SeeJobs", "emr-serverless:GetJobRun", f"{APPLICATION}/jobruns/*"),
        allow("GiveJobsTheirRole", "iam:PassRole", role, Condition=passed),
        allow("WriteLog", ["logs:CreateLogStream", "logs:PutLogEvents"], log),
        allow("Decrypt", "kms:Decrypt", OWN_KEY),
    ]
    rules = value(values, "local.rules", shred=SHRED)
    arns = [f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{rules[bucket]}" for bucket in sorted(rules)]
    send = {"Principal": {"Service": "events.amazonaws.com"}, "Condition": {"ArnEquals": {"aws:SourceArn": arns}}}
    assert found["files_queue"] == [allow("NewFiles", "sqs:SendMessage", QUEUE, **send)]
    role_of_starter = resources(AWS)["aws_iam_role.starter"]
    assert expression(role_of_starter, "assume_role_policy") == "local.documents.function_trust"


def test_without_seconds_nothing_of_it_exists(values: Path) -> None:
    without = SHRED.replace(", event_seconds = 60", "")
    assert not {"starter", "files_queue"} & policies(values, shred=without).keys()
    assert value(values, "[local.rules, local.queued, keys(local.logs), local.watched]", shred=without) == [
        {}, ["dead_jobs", "dead_runs", "runs"], ["loader", "shredder"], {},
    ]  # fmt: skip
    made = {name: body for name, body in resources(AWS).items() if name.endswith((".starter", ".files", ".new_files"))}
    assert len(made) == 8
    counts = {expression(body, "count") or expression(body, "for_each") for body in made.values()}
    assert counts == {"local.by_events", "local.rules"}, counts


def test_a_rule_for_each_bucket_has_the_folders_of_events_and_none_in_which_runs_are_written(values: Path) -> None:
    found = value(values, "local.new_files", shred=SHRED)
    assert {bucket: one["detail"] for bucket, one in found.items()} == {
        "acme-collector": {"bucket": {"name": ["acme-collector"]}, "object": {"key": [{"prefix": "good"}]}},
        "acme.more": {"bucket": {"name": ["acme.more"]}},
        BUCKET: {"bucket": {"name": [BUCKET]}, "object": {"key": [{"prefix": "raw"}]}},
    }
    assert {(*one["source"], *one["detail-type"]) for one in found.values()} == {("aws.s3", "Object Created")}
    own = ["s3://acme-collector/a", f"s3://{BUCKET}/x/y", f"s3://{BUCKET}/x", f"s3://{BUCKET}/*"]
    above = SHRED.replace(json.dumps(PLACES), json.dumps(own))
    # A run writes below x/y: a folder above it would start a run for each run.
    assert list(value(values, "local.watched", shred=above, folder="x/y")) == ["acme-collector"]
    longest = SHRED.replace("acme-collector", "a" * 63)
    assert max(map(len, value(values, "local.rules", shred=longest).values())) <= 64


def test_the_starter_makes_the_call_of_the_schedule(values: Path) -> None:
    environ = value(values, "local.starter_environment", shred=SHRED)
    scheduled = api_call(value(values, "local.start_job_input", shred=SHRED), "token")
    assert start_call(read_emr(environ), SHREDDER, read_words(environ), "token") == scheduled
    assert len(json.dumps(environ)) < 4096


def test_a_message_comes_again_after_the_function_has_ended_and_ends_with_the_jobs_that_failed(values: Path) -> None:
    made = resources(AWS)
    timeout = int(str(expression(made["aws_lambda_function.starter"], "timeout")))
    # AWS Lambda, "Using Lambda with Amazon SQS": six times the function's timeout, and the window of a batch.
    assert value(values, "local.waits.files", shred=SHRED) >= 6 * timeout + 300
    redrive = str(expression(made["aws_sqs_queue_redrive_policy.files"], "redrive_policy"))
    assert 'deadLetterTargetArn = aws_sqs_queue.queue["dead_jobs"].arn' in redrive
    mapping = made["aws_lambda_event_source_mapping.files"]
    assert expression(mapping, "maximum_batching_window_in_seconds") == "local.shred.event_seconds"
    assert expression(mapping, "function_response_types") == '["ReportBatchItemFailures"]'
    notification = made["aws_s3_bucket_notification.runs"]
    assert expression(notification, "eventbridge") == "contains(keys(local.watched), var.bucket)"


def deployed(values: Path, folder: Path, shred: str = SHRED) -> DeployedFunction:
    """Deploy the function, its queue, the rules of EventBridge, and the setting of the buckets."""
    environ = value(values, "local.starter_environment", shred=shred)
    function = DeployedFunction(folder, "starter", environ, ("onefold-files", "onefold-jobs-dead"), receives=2)
    events, s3 = boto3.client("events"), boto3.client("s3")
    rules = value(values, "local.rules", shred=shred)
    for bucket, pattern in value(values, "local.new_files", shred=shred).items():
        events.put_rule(Name=rules[bucket], EventPattern=json.dumps(pattern))
        events.put_targets(Rule=rules[bucket], Targets=[{"Id": "1", "Arn": function.arn(function.queue)}])
        s3.create_bucket(Bucket=bucket)
        s3.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration={"EventBridgeConfiguration": {}}
        )  # fmt: skip
    return function


def put(bucket: str, *keys: str) -> None:
    for key in keys:
        boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=b"x")


def test_new_files_of_events_start_one_run_and_no_other_file_does(
    emr_serverless: EmrServerless, values: Path, tmp_path: Path
) -> None:
    emr_serverless.held = True
    function = deployed(values, tmp_path)
    put(BUCKET, "shredded/run=1/bad/part-0", "shredded/run=1/shredding_complete.json", "code/x")
    put("acme-collector", "bad/a.txt")
    assert function.deliver() == []
    assert emr_serverless.states == {}
    put("acme-collector", "good/2026/11/x", "good/2026/12/x")
    put("acme.more", "a.gz")
    assert function.deliver() == []
    assert emr_serverless.states == {"job0": "QUEUED"}
    emr_serverless.states["job0"] = "RUNNING"
    put(BUCKET, "raw/a")
    assert function.deliver() == []
    assert emr_serverless.states == {"job0": "RUNNING", "job1": "QUEUED"}
    assert [line["job"] for line in function.logged("job_started")] == ["job0", "job1"]
    # A service that refuses: the message is kept, and becomes a dead letter.
    emr_serverless.states, emr_serverless.refused = {}, "AccessDeniedException"
    put(BUCKET, "raw/b")
    assert len(function.deliver()) == len(function.deliver()) == 1
    assert function.deliver() == []
    assert len(function.dead_letters()) == 1
    assert "grant emr-serverless:StartJobRun" in function.logged("job_not_started")[0]["reason"]
