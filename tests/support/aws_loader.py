"""The deployed loader: the function `onefold-loader`, and the notification of the bucket that fills its queue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import boto3
from support.aws_function import DeployedFunction
from support.aws_values import BUCKET


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
