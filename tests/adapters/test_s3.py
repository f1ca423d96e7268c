"""Objects of S3: the real client of Amazon against moto's server."""

from __future__ import annotations

import boto3
import pytest

import onefold.adapters.s3
from onefold.adapters.s3 import S3Objects
from onefold.core.errors import InvalidInput, Rejected, TryAgain

ADDRESS = "s3://bucket/registry/größe 1?a=b#c/1-0-0"


pytestmark = pytest.mark.usefixtures("s3_server")


@pytest.fixture
def bucket(s3_server: str) -> None:  # noqa: ARG001 the server has to run
    client = boto3.client("s3")
    client.create_bucket(Bucket="bucket")
    client.put_object(Bucket="bucket", Key=ADDRESS.removeprefix("s3://bucket/"), Body=b"content")


@pytest.mark.usefixtures("bucket")
def test_an_object_is_read_by_its_name_whatever_is_in_it() -> None:
    found = S3Objects().find(ADDRESS)
    assert found
    assert found.data == b"content"
    assert found.generation == S3Objects().find(ADDRESS).generation  # type: ignore[union-attr]


@pytest.mark.usefixtures("bucket")
def test_an_object_that_does_not_exist_is_none() -> None:
    assert S3Objects().find("s3://bucket/other") is None


def test_a_bucket_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(Rejected, match=r"s3://no-such-bucket/x: .*NoSuchBucket.*check the bucket"):
        S3Objects().find("s3://no-such-bucket/x")


@pytest.mark.usefixtures("bucket")
def test_an_object_that_is_too_large_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.s3, "MAX_OBJECT", 6)
    with pytest.raises(Rejected, match="more than 6 bytes"):
        S3Objects().find(ADDRESS)


def test_a_server_that_does_not_answer_raises_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(TryAgain, match="s3://bucket/x: S3 does not answer"):
        S3Objects().find("s3://bucket/x")


@pytest.mark.parametrize("address", ["s3://", "s3://B/a", "s3://bucket/", "gs://bucket/a"])
def test_an_address_that_is_not_an_object_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="is not an object of S3"):
        S3Objects().find(address)
