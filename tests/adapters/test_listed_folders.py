"""The folders right below a folder: in Cloud Storage, in S3 and on this machine."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest
from support.fake_gcs import ObjectStore

from onefold.adapters.folder_objects import FolderObjects
from onefold.adapters.gcs import GcsObjects
from onefold.adapters.objects_at import run_objects_at
from onefold.adapters.s3 import S3Objects
from onefold.core.errors import InvalidInput, NotFound, OnefoldError, Rejected

OBJECTS = ("runs/run=1/a", "runs/run=1/b/c", "runs/run=2/a", "runs/loose", "other/run=3/a", "runs-2/run=4/a")


def test_folders_of_a_bucket_are_listed_page_by_page(object_store: ObjectStore) -> None:
    object_store.objects = {f"acme/{name}": (b"", 1) for name in OBJECTS}
    assert GcsObjects().list_folders("gs://acme/runs/") == ["run=1", "run=2"]
    with pytest.raises(NotFound, match="there is no folder gs://acme/none"):
        GcsObjects().list_folders("gs://acme/none")
    assert GcsObjects().list_folders("gs://acme/runs/run=1/b") == []
    assert GcsObjects().list_folders("gs://acme") == ["other", "runs", "runs-2"]


def test_a_bucket_that_may_not_be_listed_is_an_error(object_store: ObjectStore) -> None:
    object_store.lacks = {"storage.objects.list"}
    with pytest.raises(OnefoldError, match="gs://acme/runs"):
        GcsObjects().list_folders("gs://acme/runs")


@pytest.mark.usefixtures("s3_server")
def test_folders_of_s3_are_listed() -> None:
    client = boto3.client("s3")
    client.create_bucket(Bucket="acme")
    for name in OBJECTS:
        client.put_object(Bucket="acme", Key=name, Body=b"")
    assert sorted(S3Objects().list_folders("s3://acme/runs/")) == ["run=1", "run=2"]
    with pytest.raises(NotFound, match="there is no folder s3://acme/none"):
        S3Objects().list_folders("s3://acme/none")
    assert S3Objects().list_folders("s3://acme/runs/run=1/b") == []
    assert sorted(S3Objects().list_folders("s3://acme")) == ["other", "runs", "runs-2"]
    with pytest.raises(Rejected, match=r"s3://no-such-bucket/runs: .*NoSuchBucket"):
        S3Objects().list_folders("s3://no-such-bucket/runs")


def test_folders_of_this_machine_are_listed(tmp_path: Path) -> None:
    for name in OBJECTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    objects = FolderObjects(tmp_path)
    assert sorted(objects.list_folders(str(tmp_path / "runs"))) == ["run=1", "run=2"]
    assert objects.list_folders(str(tmp_path / "runs" / "run=1" / "b")) == []
    for name in ("none", "runs/loose"):
        with pytest.raises(NotFound, match="there is no folder"):
            objects.list_folders(str(tmp_path / name))


def test_all_files_below_a_folder_are_listed_at_any_depth(object_store: ObjectStore, s3_server: str, tmp_path: Path) -> None:  # noqa: ARG001
    object_store.objects = {f"acme-gs/{name}": (b"", 1) for name in OBJECTS}
    client = boto3.client("s3")
    client.create_bucket(Bucket="acme-files")
    for name in OBJECTS:
        client.put_object(Bucket="acme-files", Key=name, Body=b"")
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    places = ((GcsObjects(), "gs://acme-gs"), (S3Objects(), "s3://acme-files"), (FolderObjects(tmp_path), str(tmp_path)))
    for objects, address in places:
        assert sorted(objects.list_files(f"{address}/runs")) == ["loose", "run=1/a", "run=1/b/c", "run=2/a"]
        with pytest.raises(NotFound, match="there is no folder"):
            objects.list_files(f"{address}/none")


def test_the_address_chooses_the_store() -> None:
    chosen = [type(run_objects_at(one)) for one in ("gs://acme/runs", "s3://acme/runs", "file:///runs")]
    assert chosen == [GcsObjects, S3Objects, FolderObjects]
    with pytest.raises(InvalidInput, match="expected gs://BUCKET/FOLDER"):
        run_objects_at("https://acme.com/runs")
