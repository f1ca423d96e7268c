"""The adapter of Amazon S3: objects, read and written whole. Credentials and endpoint are those of the environment."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from onefold.core.errors import InvalidInput, NotFound, Rejected, TryAgain
from onefold.core.extras import how_to_install
from onefold.core.text import reason_of
from onefold.ports.objects import NEW, ObjectChanged, StoredObject, generation_of

MAX_OBJECT = 64_000_000
"""Bytes, as in Cloud Storage."""
Result = TypeVar("Result")
_ADDRESS = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(?P<name>.+)", re.DOTALL)
_SECONDS = 30
# S3, "Error responses", https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, 2025-11.
_MISSING = frozenset({"NoSuchKey", "404"})
_EXISTS = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})
_TRANSIENT = frozenset({"InternalError", "RequestTimeout", "ServiceUnavailable", "SlowDown", "ExpiredToken", "500", "503"})


class S3Objects:
    """The objects of S3, by their addresses, s3://BUCKET/NAME. The client is created at the first use."""

    def __init__(self) -> None:
        self._client: Any = None

    def find(self, address: str) -> StoredObject | None:
        """Return an object; None where there is no such object.

        Raises:
            InvalidInput: the address is not an object of S3, or boto3 is not installed.
            Rejected: the object is too large, or S3 refuses to return it.
            TryAgain: S3 failed, and may answer later.
        """
        bucket, name = _parts(address)
        data = self._answer(address, lambda client: _content(client, bucket, name))
        if data is not None and len(data) > MAX_OBJECT:
            raise Rejected(f"{address} has more than {MAX_OBJECT:,} bytes: see that the address is right")
        return None if data is None else StoredObject(data, generation_of(data))

    def list_folders(self, address: str) -> list[str]:
        """Return the names of the folders right below a folder.

        Raises:
            NotFound: no object is below it.
            InvalidInput: the address is not a folder of S3, or boto3 is not installed.
            Rejected: S3 refuses to list the bucket.
            TryAgain: S3 failed, and may answer later.
        """
        bucket, name = _parts(f"{address.rstrip('/')}/x")
        found = self._answer(address, lambda client: _folders(client, bucket, name.removesuffix("x")))
        if found is None:
            raise NotFound(f"there is no folder {address}: no object is below it: correct the address")
        return found

    def list_files(self, address: str) -> list[str]:
        """Return the names of all objects below a folder, relative to it.

        Raises:
            NotFound: no object is below it.
            InvalidInput: the address is not a folder of S3, or boto3 is not installed.
            Rejected: S3 refuses to list the bucket.
            TryAgain: S3 failed, and may answer later.
        """
        bucket, name = _parts(f"{address.rstrip('/')}/x")
        if found := self._answer(address, lambda client: _files(client, bucket, name.removesuffix("x"))):
            return found
        raise NotFound(f"there is no folder {address}: no object is below it: correct the address")

    def read_file(self, address: str) -> bytes:
        """Return an object of any size.

        Raises:
            NotFound: there is no such object.
            InvalidInput: the address is not an object of S3, or boto3 is not installed.
            Rejected: S3 refuses to return it.
            TryAgain: S3 failed, and may answer later.
        """
        bucket, name = _parts(address)
        data = self._answer(address, lambda client: _whole(client, bucket, name))
        if data is None:
            raise NotFound(f"there is no object {address}: correct the address")
        return data

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        """Write a whole object, and return its generation.

        Args:
            address: s3://BUCKET/NAME.
            data: the content.
            generation: `NEW` where the object must not exist, which S3 checks; None writes in any case.

        Raises:
            ObjectChanged: the object exists; nothing was written.
            Rejected: S3 refuses to write it.
            TryAgain: S3 failed, and may answer later.
        """
        bucket, name = _parts(address)
        condition = {"IfNoneMatch": "*"} if generation == NEW else {}
        self._answer(address, lambda client: client.put_object(Bucket=bucket, Key=name, Body=data, **condition))
        return generation_of(data)

    def _answer(self, address: str, ask: Callable[[Any], Result]) -> Result | None:
        """Return what S3 answers; None where the object does not exist.

        Raises:
            Rejected: S3 refuses, or there are no credentials.
            TryAgain: S3 failed, and may answer later.
        """
        client = self._connected()
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        try:
            return ask(client)
        except ClientError as error:
            _check_missing(address, error)
            return None
        except NoCredentialsError as error:
            raise Rejected(f"{address}: there are no credentials of AWS; run: aws configure") from error
        except (BotoCoreError, OSError) as error:
            raise TryAgain(f"{address}: S3 does not answer: {reason_of(error)}: try again") from error

    def _connected(self) -> Any:
        """Return the client.

        Raises:
            InvalidInput: boto3 is not installed.
        """
        if self._client is None:
            try:
                import boto3
                from botocore.config import Config
            except ModuleNotFoundError as error:
                raise InvalidInput(f"s3:// needs boto3: {how_to_install('aws')}") from error
            config = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"mode": "standard"})
            self._client = boto3.client("s3", config=config)
        return self._client


def _parts(address: str) -> tuple[str, str]:
    """Return the bucket and the name of an object.

    Raises:
        InvalidInput: the address is not an object of S3.
    """
    match = _ADDRESS.fullmatch(address)
    if not match:
        raise InvalidInput(f"{address!r} is not an object of S3: write s3://BUCKET/NAME")
    return match["bucket"], match["name"]


def _content(client: Any, bucket: str, name: str) -> bytes:
    data: bytes = client.get_object(Bucket=bucket, Key=name)["Body"].read(MAX_OBJECT + 1)
    return data


def _whole(client: Any, bucket: str, name: str) -> bytes:
    data: bytes = client.get_object(Bucket=bucket, Key=name)["Body"].read()
    return data


def _folders(client: Any, bucket: str, prefix: str) -> list[str] | None:
    pages = list(client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, Delimiter="/"))
    if not any(page.get("KeyCount") for page in pages):
        return None
    found = (one["Prefix"] for page in pages for one in page.get("CommonPrefixes", ()))
    return [name.removeprefix(prefix).rstrip("/") for name in found]


def _files(client: Any, bucket: str, prefix: str) -> list[str]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [one["Key"].removeprefix(prefix) for page in pages for one in page.get("Contents", ())]


def _check_missing(address: str, error: Any) -> None:
    """Check that an error means that the object does not exist.

    Raises:
        ObjectChanged: the object exists, and must not.
        TryAgain: S3 failed, and may answer later.
        Rejected: S3 refuses to return the object.
    """
    code = str(error.response.get("Error", {}).get("Code", ""))
    if code in _MISSING:
        return
    if code in _EXISTS:
        raise ObjectChanged(f"{address}: written by somebody else: run the command again") from error
    if code in _TRANSIENT:
        raise TryAgain(f"{address}: {reason_of(error)}: try again") from error
    advice = "grant s3:GetObject and s3:ListBucket" if code == "AccessDenied" else "check the bucket and the region"
    raise Rejected(f"{address}: {error}; {advice}") from error
