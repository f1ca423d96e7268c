"""Files of any size: of a bucket, of S3 and of this machine."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest
from support.fake_gcs import ObjectStore

from onefold.adapters.folder_objects import FolderObjects
from onefold.adapters.gcs import GcsObjects
from onefold.adapters.objects_at import ListedObjects
from onefold.adapters.s3 import S3Objects
from onefold.core.errors import NotFound

OBJECTS = {"runs/bad/a": b"1", "runs/bad/b": b"2\n3"}


def check(objects: ListedObjects, address: str) -> None:
    assert objects.read_file(f"{address}/runs/bad/b") == b"2\n3"
    with pytest.raises(NotFound, match="runs/bad/none"):
        objects.read_file(f"{address}/runs/bad/none")


def test_files_of_a_bucket(object_store: ObjectStore) -> None:
    object_store.objects = {f"acme/{name}": (data, 1) for name, data in OBJECTS.items()}
    check(GcsObjects(), "gs://acme")


@pytest.mark.usefixtures("s3_server")
def test_files_of_s3() -> None:
    client = boto3.client("s3")
    client.create_bucket(Bucket="acme")
    for name, data in OBJECTS.items():
        client.put_object(Bucket="acme", Key=name, Body=data)
    check(S3Objects(), "s3://acme")


def test_files_of_this_machine(tmp_path: Path) -> None:
    for name, data in OBJECTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    check(FolderObjects(tmp_path), str(tmp_path))
