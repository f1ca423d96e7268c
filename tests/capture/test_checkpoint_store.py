"""Stores of checkpoints: what they keep, and which process may save."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_gcs import ObjectStore

from onefold.adapters.gcs import GcsObjects
from onefold.capture.checkpoint import Checkpoint, Progress
from onefold.capture.checkpoint_store import CheckpointStore, open_checkpoint_store
from onefold.core.errors import Rejected, TryAgain
from onefold.mysql.binlog.events import LogPosition

FULL = Checkpoint("shop-db", "shop", 3, Progress(LogPosition(3, "mysql-bin.000007", 1234)))


@pytest.fixture(params=["folder", "bucket"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "new" / "folder")
    request.getfixturevalue("object_store")
    return "gs://bucket/captures/shop"


def test_a_store_returns_the_last_checkpoint_that_was_saved(address: str) -> None:
    store = open_checkpoint_store(address, GcsObjects())
    assert store.load() is None
    for offset in (4, 500):
        store.save(replace(FULL, reached=Progress(LogPosition(3, "mysql-bin.000007", offset))))
    assert loaded_anew(store, address) == replace(FULL, reached=Progress(LogPosition(3, "mysql-bin.000007", 500)))


def loaded_anew(store: CheckpointStore, address: str) -> Checkpoint | None:
    """Return the checkpoint as another process loads it after this one has ended."""
    store.close()
    return open_checkpoint_store(address, GcsObjects()).load()


def test_a_folder_is_reserved_for_the_first_process(tmp_path: Path) -> None:
    first = open_checkpoint_store(str(tmp_path), GcsObjects())
    first.load()
    with pytest.raises(Rejected, match="another process works with the checkpoint"):
        open_checkpoint_store(str(tmp_path), GcsObjects()).load()
    first.save(FULL)


def test_a_crash_while_saving_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    store = open_checkpoint_store(str(tmp_path), GcsObjects())
    store.save(FULL)
    (tmp_path / "checkpoint.new").write_bytes(b'{"half')
    assert loaded_anew(store, str(tmp_path)) == FULL


@pytest.mark.usefixtures("object_store")
def test_a_bucket_is_reserved_for_the_latest_process() -> None:
    first, second = (
        open_checkpoint_store("gs://bucket/a", GcsObjects()),
        open_checkpoint_store("gs://bucket/a", GcsObjects()),
    )
    assert first.load() is None
    first.save(FULL)
    assert second.load() == FULL
    with pytest.raises(Rejected, match="each source needs one checkpoint and one process"):
        first.save(replace(FULL, epoch=9))
    second.save(replace(FULL, epoch=4))
    assert open_checkpoint_store("gs://bucket/a", GcsObjects()).load() == replace(FULL, epoch=4)


@pytest.mark.usefixtures("object_store")
def test_of_two_processes_that_begin_at_once_only_one_saves() -> None:
    first, second = (
        open_checkpoint_store("gs://bucket/a", GcsObjects()),
        open_checkpoint_store("gs://bucket/a", GcsObjects()),
    )
    assert (first.load(), second.load()) == (None, None)
    first.save(FULL)
    with pytest.raises(Rejected):
        second.save(FULL)


def test_a_process_goes_on_after_the_answer_of_a_write_was_lost(object_store: ObjectStore) -> None:
    store = open_checkpoint_store("gs://bucket/a", GcsObjects())
    store.save(FULL)
    object_store.lose_answers = 1
    with pytest.raises(TryAgain, match="503"):
        store.save(replace(FULL, epoch=4))
    store.save(replace(FULL, epoch=5))
    assert open_checkpoint_store("gs://bucket/a", GcsObjects()).load() == replace(FULL, epoch=5)
