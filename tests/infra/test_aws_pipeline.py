"""infra/aws with `shred`: the policies of what runs by itself, the call that starts a job, and the way of a message."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from botocore.validate import validate_parameters
from support.aws_values import ACCOUNT, APPLICATION, AWS, BUCKET, OWN_KEY, REGION, copy_values, policies, value
from support.fake_emr_serverless import api_call
from support.hcl_text import expression, resources

from onefold.adapters.redshift.connection import RedshiftConnection
from onefold.batches.shred_arguments import ShredArguments
from onefold.settings.redshift import read_redshift

EVENTS = '["s3://acme-collector/good/*/x", "s3://acme-events/shredded/run=*/bad"]'
SHRED = f'{{ events = {EVENTS}, registries = ["s3://acme-registry", "https://iglu.acme.com"] }}'
SECRET = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:x"
IN_ACCOUNT = {"aws:SourceAccount": ACCOUNT}
QUEUE, DEAD_JOBS = (f"arn:aws:sqs:{REGION}:{ACCOUNT}:onefold-{name}" for name in ("runs", "jobs-dead"))
LOGS = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group"
ENCRYPT = {"Sid": "Encrypt", "Effect": "Allow", "Action": ["kms:Decrypt", "kms:GenerateDataKey"], "Resource": OWN_KEY}


@pytest.fixture
def values(tmp_path: Path) -> Path:
    return copy_values(tmp_path)


def allow(action: str | list[str], resource: str | list[str], sid: str | None = None, **more: Any) -> dict[str, Any]:
    return {**({"Sid": sid} if sid else {}), "Effect": "Allow", "Action": action, "Resource": resource, **more}


def trust(service: str, **more: Any) -> list[dict[str, Any]]:
    return [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole", **more}]


def listed(bucket: str, *prefixes: str) -> dict[str, Any]:
    return allow("s3:ListBucket", f"arn:aws:s3:::{bucket}", Condition={"StringLikeIfExists": {"s3:prefix": list(prefixes)}})


def test_nothing_runs_by_itself_without_shred(values: Path) -> None:
    assert set(policies(values)) == {"copy_trust", "copy", "loader", "shredder", "bucket"}
    made = resources(AWS)
    own = {name for name, body in made.items() if not re.search(r"^  (count|for_each) +=", body, re.MULTILINE)}
    assert {name.split(".")[0] for name in own} == {
        *("aws_s3_bucket", "aws_s3_bucket_public_access_block", "aws_s3_bucket_ownership_controls", "aws_s3_bucket_policy"),
        *("aws_s3_bucket_versioning", "aws_s3_bucket_lifecycle_configuration", "aws_iam_role", "aws_iam_role_policy"),
        *("aws_s3_bucket_server_side_encryption_configuration", "aws_iam_policy"),
    }


def test_every_policy_of_what_runs_by_itself_says_exactly_this(values: Path) -> None:
    found = policies(values, shred=SHRED)
    place = {"StringEquals": IN_ACCOUNT}
    assert found["job_trust"] == trust(
        "emr-serverless.amazonaws.com", Condition={**place, "ArnLike": {"aws:SourceArn": APPLICATION}}
    )
    assert found["schedules_trust"] == trust("scheduler.amazonaws.com", Condition=place)
    assert found["function_trust"] == trust("lambda.amazonaws.com")
    assert found["function"] == [
        allow(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], QUEUE, "TakeMessages"),
        allow(["logs:CreateLogStream", "logs:PutLogEvents"], f"{LOGS}:/aws/lambda/onefold-loader:*", "WriteLog"),
    ]
    role = f"arn:aws:iam::{ACCOUNT}:role/onefold-shredder"
    passed = {"StringEquals": {"iam:PassedToService": "emr-serverless.amazonaws.com"}}
    assert found["schedules"] == [
        allow("emr-serverless:StartJobRun", APPLICATION, "StartJobs"),
        allow("iam:PassRole", role, "GiveJobsTheirRole", Condition=passed),
        allow("sqs:SendMessage", [QUEUE, DEAD_JOBS], "SendMessages"),
        ENCRYPT,
    ]
    writes = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    assert found["job"] == [
        listed("acme-collector", "good", "good/*"),
        listed(BUCKET, "shredded", "shredded/*"),
        listed("acme-registry", "*"),
        listed(BUCKET, "code", "code/*"),
        allow(
            "s3:GetObject",
            [
                *(f"arn:aws:s3:::acme-collector/good{end}" for end in ("", "/*")),
                *(f"arn:aws:s3:::{BUCKET}/shredded{end}" for end in ("", "/*")),
                "arn:aws:s3:::acme-registry/*",
                *(f"arn:aws:s3:::{BUCKET}/code{end}" for end in ("", "/*")),
            ],
            "ReadInputs",
        ),
        allow(writes, f"{LOGS}:/onefold/shredder:*", "WriteLog"),
        allow("logs:DescribeLogGroups", f"{LOGS}:*", "FindLog"),
    ]
    assert [found[name][-1] for name in ("loader", "shredder")] == [ENCRYPT, ENCRYPT]


def test_only_named_services_of_this_account_send_and_use_the_key(values: Path) -> None:
    found = policies(values, shred=SHRED)
    (manifests,), (failed,), (alarms,) = (found[name] for name in ("runs_queue", "dead_jobs_queue", "alarms_topic"))
    bucket = {"ArnEquals": {"aws:SourceArn": f"arn:aws:s3:::{BUCKET}"}, "StringEquals": IN_ACCOUNT}
    rule = {"ArnEquals": {"aws:SourceArn": f"arn:aws:events:{REGION}:{ACCOUNT}:rule/onefold-failed-jobs"}}
    assert [manifests[name] for name in ("Principal", "Action", "Resource", "Condition")] == [
        {"Service": "s3.amazonaws.com"}, "sqs:SendMessage", QUEUE, bucket,
    ]  # fmt: skip
    assert [failed[name] for name in ("Principal", "Action", "Resource", "Condition")] == [
        {"Service": "events.amazonaws.com"}, "sqs:SendMessage", DEAD_JOBS, rule,
    ]  # fmt: skip
    senders = ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"]
    topic = f"arn:aws:sns:{REGION}:{ACCOUNT}:onefold-alarms"
    assert [alarms[name] for name in ("Principal", "Action", "Resource", "Condition")] == [
        {"Service": senders}, "sns:Publish", topic, {"StringEquals": IN_ACCOUNT},
    ]  # fmt: skip
    account, messages, logs = value(values, "local.key_statements", shred=SHRED)
    assert (account["Principal"], account["Action"]) == ({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "kms:*")
    services = ["s3.amazonaws.com", "events.amazonaws.com", *senders]
    assert [messages[name] for name in ("Principal", "Action", "Condition")] == [
        {"Service": services}, ["kms:Decrypt", "kms:GenerateDataKey"], {"StringEqualsIfExists": IN_ACCOUNT},
    ]  # fmt: skip
    assert logs["Principal"] == {"Service": f"logs.{REGION}.amazonaws.com"}
    assert logs["Condition"] == {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": f"{LOGS}:*"}}


def test_no_policy_names_all_resources_but_where_the_service_knows_no_other(values: Path) -> None:
    whole = {
        (name, one["Sid"])
        for name, statements in policies(values, shred=SHRED).items()
        for one in statements
        if one.get("Resource") == "*"
    }
    # Statements have no ARN, and their owner is a condition.
    assert whole == {("loader", "ReadOwnStatements")}


def test_the_loader_may_sign_in_as_its_role_and_copy_as_that_user(values: Path) -> None:
    users = policies(values, shred=SHRED)["copy_trust"][0]["Condition"]["StringLike"]["sts:ExternalId"]
    assert users == [
        f"arn:aws:redshift:{REGION}:{ACCOUNT}:dbuser:events/{user}" for user in ("IAMR:loader", "IAMR:onefold-loader")
    ]
    users = policies(values, shred=SHRED, secret=SECRET)["copy_trust"][0]["Condition"]["StringLike"]["sts:ExternalId"]
    assert users == [f"arn:aws:redshift:{REGION}:{ACCOUNT}:dbuser:events/IAMR:loader"]


def test_the_call_that_starts_a_job_is_one_of_emr_serverless(values: Path) -> None:
    text = value(values, "local.start_job_input", shred=SHRED)
    assert '"ClientToken":"<aws.scheduler.execution-id>"' in text  # as the scheduler looks for it
    given = api_call(text, "1a")
    shape = get_session().get_service_model("emr-serverless").operation_model("StartJobRun").input_shape
    validate_parameters(given, shape)
    assert (given["applicationId"], given["executionRoleArn"]) == ("00abc", f"arn:aws:iam::{ACCOUNT}:role/onefold-shredder")
    logging = given["configurationOverrides"]["monitoringConfiguration"]["cloudWatchLoggingConfiguration"]
    assert logging == {
        "enabled": True, "logGroupName": "/onefold/shredder", "logTypes": {"SPARK_DRIVER": ["STDOUT", "STDERR"]},
    }  # fmt: skip


def test_the_job_gets_the_arguments_that_it_knows(values: Path) -> None:
    submit = value(values, "local.start_job", shred=SHRED)["JobDriver"]["SparkSubmit"]
    arguments = ShredArguments.parse(submit["EntryPointArguments"])
    assert arguments.events == ("s3://acme-collector/good/*/x", "s3://acme-events/shredded/run=*/bad")
    assert (arguments.registry, arguments.output) == (
        ("s3://acme-registry", "https://iglu.acme.com"),
        f"s3://{BUCKET}/shredded",
    )
    assert (arguments.warehouse, arguments.format, arguments.input) == ("redshift", "csv", "enriched-tsv")
    in_parquet = value(values, "local.start_job", shred=SHRED.replace("{", '{ format = "parquet",', 1))
    assert "--format=parquet" in in_parquet["JobDriver"]["SparkSubmit"]["EntryPointArguments"]
    assert (arguments.unknown, arguments.bad_percent, arguments.duplicates_window) == ("bad_event", 5, 0)
    windowed = value(values, "local.start_job", shred=SHRED.replace("{", "{ duplicates_window = 7,", 1))["JobDriver"]
    assert ShredArguments.parse(windowed["SparkSubmit"]["EntryPointArguments"]).duplicates_window == 7
    code = f"s3://{BUCKET}/code/v1"
    assert submit["EntryPoint"] == f"{code}/shred.py"
    assert submit["SparkSubmitParameters"].split() == [
        "--py-files", f"{code}/spark.zip", "--conf", f"spark.archives={code}/compiled_libraries.zip",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("variables", "connection"),
    [
        ({}, {"workgroup": "events"}),
        ({"workgroup": "null", "cluster": "main"}, {"cluster": "main"}),
        ({"secret": SECRET}, {"workgroup": "events", "secret": SECRET}),
    ],
    ids=["workgroup", "cluster", "secret"],
)  # fmt: skip
def test_the_function_finds_redshift_by_its_environment(
    values: Path, variables: dict[str, str], connection: dict[str, str]
) -> None:
    settings = read_redshift(value(values, "local.loader_environment", shred=SHRED, **variables))
    assert (settings.runs, settings.external) == (f"s3://{BUCKET}/shredded", None)
    role = f"arn:aws:iam::{ACCOUNT}:role/onefold-copy"
    assert RedshiftConnection(**settings.connection) == RedshiftConnection("dev", "atomic", role, **connection)


def test_a_message_comes_again_after_the_function_has_ended_and_ends_among_the_dead_letters(values: Path) -> None:
    function = resources(AWS)["aws_lambda_function.loader"]
    waits = value(values, "local.waits", shred=SHRED)
    assert waits["runs"] > int(str(expression(function, "timeout")))
    assert value(values, "local.receives", shred=SHRED) == 5
    redrive = expression(resources(AWS)["aws_sqs_queue_redrive_policy.runs"], "redrive_policy")
    assert (
        redrive
        == 'jsonencode({ deadLetterTargetArn = aws_sqs_queue.queue["dead_runs"].arn, maxReceiveCount = local.receives })'
    )
    mapping = resources(AWS)["aws_lambda_event_source_mapping.runs"]
    assert expression(mapping, "function_response_types") == '["ReportBatchItemFailures"]'


def test_only_manifests_of_runs_are_messages() -> None:
    notification = resources(AWS)["aws_s3_bucket_notification.runs"]
    assert expression(notification, "filter_prefix") == '"${var.folder}/run="'
    assert expression(notification, "filter_suffix") == '"/shredding_complete.json"'


def test_one_key_encrypts_all_that_keeps_data() -> None:
    made = resources(AWS)
    key = {
        name: next(
            (found for field in ("kms_master_key_id", "kms_key_id", "kms_key_arn") if (found := expression(body, field))),
            None,
        )
        for name, body in made.items()
    }
    kinds = (
        "sqs_queue.",
        "sns_topic.",
        "log_group.",
        "lambda_function.",
        "scheduler_schedule.",
        "encryption_configuration.",
    )
    keeping = [name for name in made if any(kind in name for kind in kinds)]
    assert len(keeping) == 8
    assert {name: key[name] for name in keeping} == dict.fromkeys(keeping, "local.key_arn")


def test_failed_jobs_are_kept_with_the_calls_that_could_not_be_made(values: Path) -> None:
    pattern = value(values, "local.failed_jobs", shred=SHRED)
    detail = {"jobRunId": "00j", "applicationId": "00abc", "releaseLabel": "emr-spark-8.0.0", "state": "FAILED"}
    event = {"source": "aws.emr-serverless", "detail-type": "EMR Serverless Job Run State Change", "detail": detail}
    assert _matches(pattern, event)
    assert not _matches(pattern, {**event, "detail": {**detail, "state": "SUCCESS"}})
    assert not _matches(pattern, {**event, "detail": {**detail, "applicationId": "00xyz"}})


def _matches(pattern: Any, event: Any) -> bool:
    """Return whether an event has one of the values of each field of a pattern."""
    return all(
        _matches(wanted, event[name]) if isinstance(wanted, dict) else event.get(name) in wanted
        for name, wanted in pattern.items()
    )


BY_EVENTS = SHRED.replace(" }", ", event_seconds = 60 }")


@pytest.mark.parametrize(("shred", "made"), [("null", 0), (BY_EVENTS, 1)], ids=["by hand", "by itself"])
def test_the_number_of_each_resource_follows_from_the_variables(values: Path, shred: str, made: int) -> None:
    found = {
        name: re.findall(r"^  (?:count|for_each) += (.+)$", body, re.MULTILINE)[0]
        for name, body in resources(AWS).items()
        if re.search(r"^  (?:count|for_each) += (?!length\(aws_)", body, re.MULTILINE)
    }
    given = ", ".join(f'"{name}" = try(length({one}), {one})' for name, one in found.items())
    counts = value(values, f"{{ {given} }}", shred=shred, alert_email="data@acme.com", budget="300")
    assert counts.keys() == found.keys()
    assert (min(counts.values()), max(counts.values()) > 1) == (made, made == 1), counts
