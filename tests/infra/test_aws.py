"""infra/aws: its policies, as Terraform makes them of the variables, and what moto's IAM lets their holders do."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from botocore.exceptions import ClientError
from support.aws_arguments import problems
from support.aws_values import ACCOUNT, AWS, BUCKET, GIVEN, REGION, copy_values, only_checks, policies, refused_by, run
from support.hcl_references import circle, references, unknown_names
from support.hcl_text import expression, resources

BUCKET_ARN = f"arn:aws:s3:::{BUCKET}"
LIST = {
    "Sid": "ListFiles",
    "Effect": "Allow",
    "Action": "s3:ListBucket",
    "Resource": BUCKET_ARN,
    "Condition": {"StringLikeIfExists": {"s3:prefix": ["shredded", "shredded/*"]}},
}
LIST_FOR_COPY = {**LIST, "Condition": {"StringLike": {"s3:prefix": ["shredded", "shredded/*"]}}}
READ = {"Sid": "ReadFiles", "Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{BUCKET_ARN}/shredded/*"}
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1"
SECRET = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:loader-AbCdEf"
_STATEMENTS = ["redshift-data:DescribeStatement", "redshift-data:GetStatementResult", "redshift-data:CancelStatement"]


def allow(sid: str, action: str | list[str], resource: str | list[str], **more: Any) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": resource, **more}


def loader_of(target: str, *sign_in: str | list[str]) -> list[dict[str, Any]]:
    own = {"StringEquals": {"redshift-data:statement-owner-iam-userid": "${aws:userid}"}}
    return [
        allow("RunStatements", ["redshift-data:ExecuteStatement", "redshift-data:BatchExecuteStatement"], target),
        allow("ReadOwnStatements", _STATEMENTS, "*", Condition=own),
        allow("SignIn", *sign_in),
        LIST,
        READ,
        allow("WriteListsOfFiles", "s3:PutObject", f"{BUCKET_ARN}/shredded/run=*/copy/*"),
    ]


@pytest.fixture
def values(tmp_path: Path) -> Path:
    return copy_values(tmp_path)


def test_every_policy_says_exactly_this(values: Path) -> None:
    target = f"arn:aws:redshift-serverless:{REGION}:{ACCOUNT}:workgroup/0-1-2"
    user = f"arn:aws:redshift:{REGION}:{ACCOUNT}:dbuser:events/IAMR:loader"
    writes = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
    assert policies(values) == {
        "copy_trust": [
            {
                "Effect": "Allow",
                "Principal": {"Service": ["redshift.amazonaws.com", "redshift-serverless.amazonaws.com"]},
                "Action": "sts:AssumeRole",
                "Condition": {"StringLike": {"sts:ExternalId": [user]}},
            }
        ],
        "copy": [LIST_FOR_COPY, READ],
        "loader": loader_of(target, "redshift-serverless:GetCredentials", [target]),
        "shredder": [LIST, allow("WriteRuns", writes, f"{BUCKET_ARN}/shredded/*")],
        "bucket": [
            {
                "Sid": "DenyPlainHttp",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "s3:*",
                "Resource": [BUCKET_ARN, f"{BUCKET_ARN}/*"],
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            }
        ],
    }


def test_a_cluster_a_secret_and_a_key_change_what_they_have_to(values: Path) -> None:
    serverless = policies(values)
    cluster = policies(values, workgroup="null", cluster="main")
    target = f"arn:aws:redshift:{REGION}:{ACCOUNT}:cluster:main"
    name = f"arn:aws:redshift:{REGION}:{ACCOUNT}:dbname:main/dev"
    assert cluster["loader"] == loader_of(target, "redshift:GetClusterCredentialsWithIAM", [name])
    users = cluster["copy_trust"][0]["Condition"]["StringLike"]["sts:ExternalId"]
    assert users == [f"arn:aws:redshift:{REGION}:{ACCOUNT}:dbuser:main/IAMR:loader"]
    assert {kind: cluster[kind] for kind in ("copy", "shredder", "bucket")} == {
        kind: serverless[kind] for kind in ("copy", "shredder", "bucket")
    }
    secret = policies(values, secret=SECRET, kms_key=KEY)
    assert secret["loader"][2] == allow("SignIn", "secretsmanager:GetSecretValue", [SECRET])
    encrypt = allow("Encrypt", ["kms:Decrypt", "kms:GenerateDataKey"], KEY)
    assert [secret[kind][-1] for kind in ("copy", "loader", "shredder")] == [
        allow("Decrypt", "kms:Decrypt", KEY),
        encrypt,
        encrypt,
    ]
    elsewhere = policies(values, partition="aws-cn", region="cn-north-1", folder="a/b")
    assert elsewhere["copy"][1]["Resource"] == f"arn:aws-cn:s3:::{BUCKET}/a/b/*"


def test_every_validation_refuses_what_it_says(values: Path) -> None:
    only_checks(values)
    wrong = {
        "account": "1234", "region": "europe", "partition": "azure", "bucket": "Acme.Events", "folder": "/x/",
        "db_users": "[]", "secret": "loader", "kms_key": "alias", "days": "1.5", "cluster": "main",
        "schema": "Atomic", "since": "last week", "budget": "-1", "catalog": "Acme",
        "external": '{ schema = "Spectrum", views = "events" }',
    }  # fmt: skip
    # Both a workgroup and a cluster are the mistake of `workgroup`.
    said = run(values, "plan", "-input=false", "-no-color", **{**GIVEN, **wrong}).stderr
    blocks = {
        block.split('"')[1]: "validation {" in block for block in (AWS / "variables.tf").read_text().split("variable ")[1:]
    }
    validated = {name for name, has in blocks.items() if has}
    assert validated == (set(wrong) - {"cluster"}) | {"workgroup"}
    assert {name for name in validated if re.search(rf"{name}(\.\w+| or cluster)? must", said)} == validated
    accepted = run(values, "plan", "-input=false", "-no-color", **GIVEN)
    assert not accepted.returncode, accepted.stderr


WRONG_SHRED = """{
  events = "s3://acme/good", registries = [], resolver_buckets = ["acme"], input = "", format = "avro", schedule = "",
  minutes = "180", vcpus = 8.5, unknown = "", bad_percent = 101, event_seconds = 0, duplicates_window = "7",
  bad_percents = 5, duplicate_window = 7, registry = "s3://acme", verbose = true }"""


def test_a_plan_refuses_all_that_is_wrong_with_shred_at_once(values: Path) -> None:
    only_checks(values)
    refused = refused_by(values, WRONG_SHRED)
    for name in ("bad_percents is", "duplicate_window is", "registry is", "verbose is"):
        assert f"shred.{name} no attribute of shred: write " in refused
    assert "no attribute of shred: write bad_percent. " in refused
    assert "no attribute of shred: write duplicates_window. " in refused
    assert "no attribute of shred: write bad_percent or duplicates_window or event_seconds or events or format" in refused
    parts = ("events", "registries", "resolver_buckets", "input", "format", "schedule", "minutes", "vcpus", "unknown",
             "bad_percent", "event_seconds", "duplicates_window")  # fmt: skip
    assert {name for name in parts if f"shred.{name} must" in refused} == set(parts)
    for events in (f"s3://{BUCKET}/shredded/run=*/bad", f"s3://acme/{'x' * 2500}"):
        shred = f'{{ events = ["{events}"], registries = ["s3://acme-registry"], event_seconds = 60 }}'
        assert "shred.event_seconds must go with events outside of the runs" in refused_by(values, shred)


def test_the_lifecycle_deletes_runs_and_never_what_tells_which_files_were_read() -> None:
    rules = re.findall(r'id += "(.+?)".+?(?=id +=|\Z)', text := (AWS / "bucket.tf").read_text(), re.DOTALL)
    assert rules == ["old-versions", "loaded-runs"]
    old, runs = text[text.index('"old-versions"') :].split('"loaded-runs"')
    assert re.search(r"^ +expiration \{", old, re.MULTILINE) is None
    assert re.findall(r'prefix += "(.+?)"', runs) == ["${var.folder}/run="]  # and so not _commits/ and _set_aside/


@pytest.fixture
def enforced(s3_server: str, values: Path) -> Iterator[str]:
    """Return moto's server with a bucket and a role for each policy; from then on it asks IAM about each call."""
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    boto3.client("s3").put_object(Bucket=BUCKET, Key="shredded/run=1/part-0", Body=b"x")
    boto3.client("s3").put_object(Bucket=BUCKET, Key="other/part-0", Body=b"x")
    boto3.client("s3").put_object(Bucket=BUCKET, Key="good/part-0", Body=b"x")
    boto3.client("s3").put_object(Bucket=BUCKET, Key="code/v1/spark.zip", Body=b"x")
    shred = f'{{ events = ["s3://{BUCKET}/good"], registries = ["https://acme.com"] }}'
    for name, statements in policies(values, shred=shred).items():
        if name in ("copy", "loader", "shredder", "job", "function", "schedules"):
            _make_role(name, statements)
    yield s3_server
    requests.post(f"{s3_server}/moto-api/reset-auth", data=b"inf", timeout=300)


def _make_role(name: str, statements: list[dict[str, Any]]) -> None:
    iam = boto3.client("iam")
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=_document([trust]))
    # Conditions are left to the comparison above.
    plain = [{key: value for key, value in one.items() if key != "Condition"} for one in statements]
    iam.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=_document(plain))


def _document(statements: list[dict[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def allowed(server: str, role: str, key: str) -> set[str]:
    """Return which operations on an object the holder of a role may do."""
    taken = boto3.client("sts").assume_role(RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{role}", RoleSessionName="test")
    given = taken["Credentials"]
    s3 = boto3.client(
        "s3", aws_access_key_id=given["AccessKeyId"], aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )  # fmt: skip
    requests.post(f"{server}/moto-api/reset-auth", data=b"0", timeout=300)
    calls = {
        "put": lambda: s3.put_object(Bucket=BUCKET, Key=key, Body=b"x"),
        "get": lambda: s3.get_object(Bucket=BUCKET, Key=key),
        "delete": lambda: s3.delete_object(Bucket=BUCKET, Key=key),
    }
    done = {name for name, call in calls.items() if _goes(call)}
    requests.post(f"{server}/moto-api/reset-auth", data=b"1000000", timeout=300)
    return done


def _goes(call: Any) -> bool:
    try:
        call()
    except ClientError as error:
        return error.response["Error"]["Code"] not in ("AccessDenied", "403")
    return True


@pytest.mark.parametrize(
    ("role", "key", "operations"),
    [
        ("copy", "shredded/run=1/part-0", {"get"}),
        ("copy", "other/part-0", set()),
        ("loader", "shredded/run=1/part-0", {"get"}),
        ("loader", "shredded/run=1/copy/com_acme_click_1.json", {"get", "put"}),
        ("loader", "other/run=1/copy/com_acme_click_1.json", set()),
        ("shredder", "shredded/run=1/part-0", {"get", "put", "delete"}),
        ("shredder", "other/part-0", set()),
        ("job", "code/v1/spark.zip", {"get"}),
        ("job", "good/part-0", {"get"}),
        ("job", "other/part-0", set()),
        ("function", "shredded/run=1/part-0", set()),
        ("schedules", "shredded/run=1/part-0", set()),
    ],
)
def test_a_holder_of_a_policy_may_do_this_and_no_more(enforced: str, role: str, key: str, operations: set[str]) -> None:
    assert allowed(enforced, role, key) == operations


def test_the_bucket_is_closed_encrypted_and_versioned() -> None:
    found = resources(AWS)
    closed = found["aws_s3_bucket_public_access_block.events"]
    names = ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")
    assert [expression(closed, name) for name in names] == ["true"] * 4
    assert expression(found["aws_s3_bucket_versioning.events"], "status") == '"Enabled"'
    algorithm = expression(found["aws_s3_bucket_server_side_encryption_configuration.events"], "sse_algorithm")
    assert algorithm == 'local.has_key ? "aws:kms" : "AES256"'
    assert expression(found["aws_s3_bucket.events"], "prevent_destroy") == "true"
    assert expression(found["aws_iam_role.copy"], "assume_role_policy") == "local.documents.copy_trust"
    granted = {name: expression(body, "policy") for name, body in found.items() if expression(body, "policy")}
    assert granted == {
        "aws_s3_bucket_policy.events": "local.documents.bucket",
        "aws_iam_role_policy.copy": "local.documents.copy",
        "aws_iam_policy.loader": "local.documents.loader",
        "aws_iam_policy.shredder": "local.documents.shredder",
        "aws_kms_key.onefold": "local.key_document",
        "aws_iam_role_policy.shredder": "local.documents.job",
        "aws_iam_role_policy.loader": "local.documents.function",
        "aws_iam_role_policy.schedules": "local.documents.schedules",
        "aws_iam_role_policy.starter": "local.documents.starter",
        "aws_sqs_queue_policy.queue": "local.documents[each.value]",
        "aws_sns_topic_policy.alarms": "local.documents.alarms_topic",
    }


def test_every_argument_is_one_of_the_provider_and_none_is_missing(tmp_path: Path) -> None:
    assert problems(AWS) == []
    folder = Path(shutil.copytree(AWS, tmp_path / "aws"))
    wrong = {
        "sse_algorithm ": "algorithm ",
        "noncurrent_days": "days_old",
        "filter {}": "filters {}",
        "bucket = ": "name = ",
    }
    for old, new in wrong.items():
        text = (AWS / "bucket.tf").read_text()
        assert old in text
        (folder / "bucket.tf").write_text(text.replace(old, new, 1))
        assert problems(folder), new


def test_the_configuration_fits_the_provider(tmp_path: Path) -> None:
    shutil.copytree(AWS, tmp_path / "aws", ignore=shutil.ignore_patterns(".terraform*"))
    ready = run(tmp_path / "aws", "init", "-backend=false", "-input=false", "-no-color")
    if ready.returncode:
        assert "provider" in ready.stderr, ready.stderr
        pytest.skip("the provider of AWS is not here: `terraform init` fetches it where its registry can be reached")
    done = run(tmp_path / "aws", "validate", "-no-color")
    assert not done.returncode, done.stdout + done.stderr


def test_every_name_is_of_something_and_there_is_no_circle(tmp_path: Path) -> None:
    found = references(AWS)
    assert {"var.shred", "local.documents", "aws_lambda_function.loader"} < found.keys()
    assert unknown_names(found) == set()
    assert circle(found) == []
    folder = Path(shutil.copytree(AWS, tmp_path / "aws"))
    text = (folder / "generated.tf").read_text()
    (folder / "generated.tf").write_text(text.replace("local.key_document", "local.documents.job"))
    assert "local.documents" in circle(references(folder))
    (folder / "generated.tf").write_text(text.replace("local.key_document", "local.key_documents"))
    assert unknown_names(references(folder)) == {"local.key_documents"}
