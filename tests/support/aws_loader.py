"""The deployed loader: the packaged function in a process that has boto3 and nothing else, behind a queue of moto's SQS."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from support.aws_values import BUCKET

from infra.package import package_loader

SECONDS = 120
_RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six")
"""What the runtime of Lambda brings: boto3 and what it requires."""
_CALL = """
import json, sys
sys.path[:0] = sys.argv[1:]
import load_events
answer = load_events.handler(json.load(sys.stdin), None)
sys.stderr.write(json.dumps(answer))
"""


@dataclass
class DeployedLoader:
    """A function, its queue with dead letters, and the notification of the bucket.

    Attributes:
        folder: for the package.
        environ: the variables of the function.
        prefix: how the names of objects begin that S3 sends messages about.
        suffix: how they end.
        receives: how often a message is delivered before it is a dead letter.
        lines: the lines that the function has logged.
    """

    folder: Path
    environ: Mapping[str, str]
    prefix: str
    suffix: str
    receives: int = 2

    def __post_init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        runtime = self.folder / "runtime"
        runtime.mkdir()
        for name in _RUNTIME:
            path = Path(str(importlib.import_module(name).__file__))
            target = path.parent if path.name == "__init__.py" else path
            (runtime / target.name).symlink_to(target)
        self._path = [str(package_loader(self.folder / "loader.zip")), str(runtime)]
        self._sqs = boto3.client("sqs")
        self.dead = self._queue("onefold-runs-dead")
        policy = {"deadLetterTargetArn": self._arn(self.dead), "maxReceiveCount": self.receives}
        self.queue = self._queue("onefold-runs", VisibilityTimeout="0", RedrivePolicy=json.dumps(policy))
        self._notify()

    def deliver(self) -> list[str]:
        """Call the function with the messages of the queue, as SQS does, and return the bodies of those that stay."""
        found = self._sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages", [])
        records = [{"messageId": one["MessageId"], "body": one["Body"]} for one in found]
        failed = set(self._failed(records)) if records else set()
        for one in found:
            if one["MessageId"] not in failed:
                self._sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=one["ReceiptHandle"])
        return [one["Body"] for one in found if one["MessageId"] in failed]

    def send(self, body: str) -> None:
        self._sqs.send_message(QueueUrl=self.queue, MessageBody=body)

    def dead_letters(self) -> list[str]:
        found = self._sqs.receive_message(QueueUrl=self.dead, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return [one["Body"] for one in found.get("Messages", [])]

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == event]

    def _failed(self, records: Iterable[Mapping[str, str]]) -> Iterable[str]:
        kept = {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CALL, *self._path], env={**kept, **self.environ},
            input=json.dumps({"Records": list(records)}), capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.lines += [json.loads(line) for line in done.stdout.splitlines()]
        return [one["itemIdentifier"] for one in json.loads(done.stderr)["batchItemFailures"]]

    def _queue(self, name: str, **attributes: str) -> str:
        return str(self._sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def _arn(self, url: str) -> str:
        found = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return str(found["Attributes"]["QueueArn"])

    def _notify(self) -> None:
        rules = [{"Name": "prefix", "Value": self.prefix}, {"Name": "suffix", "Value": self.suffix}]
        queue = {
            "QueueArn": self._arn(self.queue),
            "Events": ["s3:ObjectCreated:*"],
            "Filter": {"Key": {"FilterRules": rules}},
        }
        boto3.client("s3").put_bucket_notification_configuration(
            Bucket=BUCKET, NotificationConfiguration={"QueueConfigurations": [queue]}
        )
