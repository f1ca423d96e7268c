"""The messages of buckets about new objects, which may be the manifests of runs of the shredder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote_plus

from onefold.core.errors import InvalidMessage
from onefold.core.text import shortened
from onefold.messages.envelope import json_object

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_MAX_NAME = 1_024
"""Bytes of the name of an object (Cloud Storage, "Objects", object name requirements, 2026-11)."""


@dataclass(frozen=True)
class NewObject:
    """An object that was written.

    Attributes:
        bucket: its bucket.
        name: its name.
    """

    bucket: str
    name: str

    @property
    def address(self) -> str:
        """The address of the object."""
        return f"gs://{self.bucket}/{self.name}"


def parse_new_object(data: bytes) -> NewObject:
    """Return the object that a notification is about: its data are the object's metadata (payload format JSON_API_V1).

    Cloud Storage, "Pub/Sub notifications for Cloud Storage", https://cloud.google.com/storage/docs/pubsub-notifications,
    2026-11.

    Examples:
        >>> parse_new_object(b'{"kind": "storage#object", "bucket": "acme", "name": "a/b"}').address
        'gs://acme/a/b'

    Raises:
        InvalidMessage: the message has another form; the error lists all problems.
    """
    content = json_object(data, "the message")
    bucket, name = content.get("bucket"), content.get("name")
    problems = []
    if not isinstance(bucket, str) or not _BUCKET.fullmatch(bucket):
        problems.append(f"`bucket`: expected the name of a bucket, got {shortened(str(bucket)[:_MAX_NAME])}")
    if not isinstance(name, str) or not name or len(name.encode(errors="replace")) > _MAX_NAME or not name.isprintable():
        problems.append(f"`name`: expected the name of an object, got {shortened(str(name)[:_MAX_NAME])}")
    if problems or not isinstance(bucket, str) or not isinstance(name, str):
        raise InvalidMessage(problems)
    return NewObject(bucket, name)


def parse_s3_objects(data: bytes) -> list[str]:
    """Return the addresses of the objects that a notification of S3 is about; none for a message that names no object.

    Amazon S3, "Event message structure",
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html, 2026-11.

    Examples:
        >>> parse_s3_objects(b'{"Records": [{"s3": {"bucket": {"name": "acme"}, "object": {"key": "a/run%3D1+x"}}}]}')
        ['s3://acme/a/run=1 x']
        >>> parse_s3_objects(b'{"Event": "s3:TestEvent"}')
        []

    Raises:
        InvalidMessage: the message has another form.
    """
    records = json_object(data, "the message").get("Records", [])
    try:
        found = [(one["s3"]["bucket"]["name"], one["s3"]["object"]["key"]) for one in records]
        return [f"s3://{bucket}/{unquote_plus(key)}" for bucket, key in found]
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidMessage("`Records`: expected a list with s3.bucket.name and s3.object.key in each") from error
