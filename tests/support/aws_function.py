"""A deployed Lambda function: its package in a process that has boto3 and nothing else, behind a queue of moto's SQS."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import boto3
from support.aws_values import BUCKET

from infra.package import LAMBDAS, package_lambda

SECONDS = 300
_RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six")
"""What the runtime of Lambda brings: boto3 and what it requires."""
_CALL = """
import importlib, json, sys
sys.path[:0] = sys.argv[2:]
answer = importlib.import_module(sys.argv[1]).handler(json.load(sys.stdin), None)
sys.stderr.write(json.dumps(answer))
"""


class DeployedFunction:
    """A function and its queue with dead letters.

    Args of the constructor: a folder for the package, its name, the variables of the function, the names of the queue and of
    the queue of dead letters, and how often a message is delivered before it is a dead letter.

    Attributes:
        queue: the address of the queue.
        lines: the lines that the function has logged.
    """

    def __init__(
        self, folder: Path, name: str, environ: Mapping[str, str], queues: tuple[str, str], receives: int
    ) -> None:  # fmt: skip
        self.environ = environ
        self.receives = receives
        self.lines: list[dict[str, Any]] = []
        runtime = folder / f"{name}_runtime"
        runtime.mkdir()
        for module in _RUNTIME:
            path = Path(str(importlib.import_module(module).__file__))
            target = path.parent if path.name == "__init__.py" else path
            (runtime / target.name).symlink_to(target)
        self._words = [LAMBDAS[name], str(package_lambda(name, folder / f"{name}.zip")), str(runtime)]
        self._sqs = boto3.client("sqs")
        self.dead = self._queue(queues[1])
        policy = {"deadLetterTargetArn": self.arn(self.dead), "maxReceiveCount": receives}
        self.queue = self._queue(queues[0], VisibilityTimeout="0", RedrivePolicy=json.dumps(policy))

    def deliver(self) -> list[str]:
        """Call the function with the messages of the queue, as SQS does, and return the bodies of those that stay."""
        found = self._sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10, AttributeNames=["All"])
        messages = found.get("Messages", [])
        records = [{"messageId": one["MessageId"], "body": one["Body"], "attributes": one["Attributes"]} for one in messages]
        failed = set(self._failed(records)) if records else set()
        for one in messages:
            if one["MessageId"] not in failed:
                self._sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=one["ReceiptHandle"])
        return [one["Body"] for one in messages if one["MessageId"] in failed]

    def send(self, body: str) -> None:
        self._sqs.send_message(QueueUrl=self.queue, MessageBody=body)

    def dead_letters(self) -> list[str]:
        found = self._sqs.receive_message(QueueUrl=self.dead, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return [one["Body"] for one in found.get("Messages", [])]

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    def arn(self, url: str) -> str:
        found = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return str(found["Attributes"]["QueueArn"])

    def _failed(self, records: Iterable[Mapping[str, Any]]) -> Iterable[str]:
        kept = {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CALL, *self._words], env={**kept, **self.environ},
            input=json.dumps({"Records": list(records)}), capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.lines += [json.loads(line) for line in done.stdout.splitlines()]
        return [one["itemIdentifier"] for one in json.loads(done.stderr)["batchItemFailures"]]

    def _queue(self, name: str, **attributes: str) -> str:
        return str(self._sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])


class DeployedLoader(DeployedFunction):
    """The function, and the notification of the bucket.

    Args of the constructor: a folder for the package, the variables of the function, and how the names of objects begin and
    end that S3 sends messages about.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str], prefix: str, suffix: str) -> None:
        super().__init__(folder, "loader", environ, ("onefold-runs", "onefold-runs-dead"), receives=2)
        rules = [{"Name": "prefix", "Value": prefix}, {"Name": "suffix", "Value": suffix}]
        queue = {
            "QueueArn": self.arn(self.queue),
            "Events": ["s3:ObjectCreated:*"],
            "Filter": {"Key": {"FilterRules": rules}},
        }
        boto3.client("s3").put_bucket_notification_configuration(
            Bucket=BUCKET, NotificationConfiguration={"QueueConfigurations": [queue]}
        )
