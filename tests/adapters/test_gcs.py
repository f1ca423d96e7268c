"""Objects of Cloud Storage: requests, and the outcome of each answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_gcs import ObjectStore

import onefold.adapters.gcs
from onefold.adapters.gcs import GcsObjects
from onefold.core.errors import InvalidInput, OnefoldError, Rejected, TryAgain
from onefold.ports.objects import NEW, ObjectChanged, check_folder

ADDRESS = "gs://bucket/records/customer_v_abc/shop-db/größe 1?a=b#c/1-FF.json"
TRANSIENT = (401, 403, 408, 429, 503)


def test_an_object_is_written_and_read_by_its_name_whatever_is_in_it(object_store: ObjectStore) -> None:
    objects = GcsObjects()
    objects.write(ADDRESS, b"x" * 1_000_000)
    assert list(object_store.objects) == [ADDRESS.removeprefix("gs://")]
    assert [objects.read(ADDRESS), objects.read(ADDRESS)] == [b"x" * 1_000_000] * 2


@pytest.mark.usefixtures("object_store")
def test_an_object_that_somebody_else_wrote_since_is_not_overwritten() -> None:
    objects = GcsObjects()
    first = objects.write(ADDRESS, b"1", NEW)
    second = objects.write(ADDRESS, b"2", first)
    for generation in (NEW, first):
        with pytest.raises(ObjectChanged, match="written by somebody else"):
            objects.write(ADDRESS, b"3", generation)
    found = objects.find(ADDRESS)
    assert found
    assert (found.data, found.generation) == (b"2", second)


@pytest.mark.parametrize(("status", "kind"), [(400, Rejected), *((status, TryAgain) for status in TRANSIENT)])
def test_a_transient_answer_raises_try_again_and_any_other_raises_rejected(
    object_store: ObjectStore, status: int, kind: type[OnefoldError]
) -> None:
    object_store.objects[ADDRESS.removeprefix("gs://")] = (b"1", 1)
    object_store.status = status
    with pytest.raises(kind, match=r"gs://bucket/records"):
        GcsObjects().read(ADDRESS)
    with pytest.raises(kind, match=r"gs://bucket/records"):
        GcsObjects().write(ADDRESS, b"2")


@pytest.mark.usefixtures("object_store")
def test_reading_an_object_that_does_not_exist_raises_rejected() -> None:
    with pytest.raises(Rejected, match="there is no such object"):
        GcsObjects().read(ADDRESS)
    assert GcsObjects().find(ADDRESS) is None


def test_an_object_that_is_too_large_is_not_read(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.gcs, "MAX_OBJECT", 6)
    object_store.objects[ADDRESS.removeprefix("gs://")] = (b"content", 1)
    with pytest.raises(Rejected, match="has 7 bytes"):
        GcsObjects().read(ADDRESS)


def test_a_file_is_read_like_an_object(tmp_path: Path) -> None:
    path = tmp_path / "größe 1%20.json"
    path.write_bytes(b"content")
    assert GcsObjects().read(path.as_uri()) == b"content"
    with pytest.raises(Rejected, match="there is no such file"):
        GcsObjects().read(f"{path.as_uri()}x")


def test_a_server_that_does_not_answer_raises_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    with pytest.raises(TryAgain, match=r"gs://bucket/records"):
        GcsObjects().read(ADDRESS)


@pytest.mark.parametrize("address", ["gs://", "gs://B/a", "s3://bucket/a", "bucket/a"])
def test_an_address_that_is_not_a_folder_of_a_bucket_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="is not a folder of a bucket"):
        check_folder(address)
    assert check_folder("gs://bucket/a/") == "gs://bucket/a"
