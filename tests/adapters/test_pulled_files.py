"""Files of pulled rows in a bucket: a name is used once, whoever asks first."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_gcs import ObjectStore

from onefold.adapters.pulled_files import files_at
from onefold.core.errors import OnefoldError

ADDRESS = "gs://pulled/json/a%2Fb/1.json"


def file(folder: Path, data: bytes) -> Path:
    path = folder / "rows"
    path.write_bytes(data)
    return path


def test_a_file_is_created_under_a_free_name_only(object_store: ObjectStore, tmp_path: Path) -> None:
    files = files_at("gs://pulled")
    assert files.create(ADDRESS, file(tmp_path, b"{1}\n"))
    assert not files.create(ADDRESS, file(tmp_path, b"{2}\n"))
    found = files.find(ADDRESS)
    assert found is not None
    assert found.data == b"{1}\n"
    assert len(object_store.objects) == 1


def test_of_two_that_found_a_name_free_one_gets_it(
    object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from google.cloud.storage import Blob

    files = files_at("gs://pulled")
    assert files.create(ADDRESS, file(tmp_path, b"{1}\n"))
    monkeypatch.setattr(Blob, "exists", lambda *_, **__: False)  # the other one wrote after the look
    assert not files.create(ADDRESS, file(tmp_path, b"{2}\n"))
    ((data, _),) = object_store.objects.values()
    assert data == b"{1}\n"


def test_a_file_whose_answer_was_lost_is_not_taken_for_stored(object_store: ObjectStore, tmp_path: Path) -> None:
    object_store.lose_answers = 1
    files = files_at("gs://pulled")
    try:
        is_created = files.create(ADDRESS, file(tmp_path, b"{1}\n"))
    except OnefoldError:
        is_created = False
    assert not is_created
    assert not files.create(ADDRESS, file(tmp_path, b"{2}\n"))


def test_a_bucket_that_refuses_is_an_error(object_store: ObjectStore, tmp_path: Path) -> None:
    object_store.lacks = {"storage.objects.create"}
    with pytest.raises(OnefoldError, match="gs://pulled"):
        files_at("gs://pulled").create(ADDRESS, file(tmp_path, b"{1}\n"))
