"""How far captures into a dataset are behind their sources, as their checkpoints tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onefold.adapters.objects_at import objects_at
from onefold.capture.checkpoint import Checkpoint, Progress
from onefold.capture.checkpoint_store import FolderStore
from onefold.inventory.capture_lag import CaptureLag, read_lag

NOW = 1_800_000_000.9


def checkpoint(folder: Path, dataset: str, as_of: int | None) -> str:
    """The folder of a checkpoint as capture itself writes it."""
    store = FolderStore(folder)
    store.load()
    store.save(Checkpoint(source="shop-db", dataset=dataset, epoch=1, reached=Progress(as_of=as_of)))
    store.close()
    return str(folder)


def lag_of(*folders: str) -> CaptureLag:
    return read_lag("shop", folders, objects_at, NOW)


def test_the_capture_that_is_furthest_behind_says_the_lag_of_a_dataset(tmp_path: Path) -> None:
    folders = [checkpoint(tmp_path / str(behind), "shop", int(NOW) - behind) for behind in (7, 90)]
    other = checkpoint(tmp_path / "other", "crm", int(NOW) - 1_000)
    assert lag_of(*folders, other) == CaptureLag(90)
    assert lag_of(f"file://{folders[0]}/") == CaptureLag(7)
    assert lag_of(other) == lag_of() == CaptureLag()


def test_a_clock_that_is_ahead_makes_no_lag_below_zero(tmp_path: Path) -> None:
    assert lag_of(checkpoint(tmp_path / "a", "shop", int(NOW) + 5)) == CaptureLag(0)


def test_a_capture_that_does_not_know_its_lag_makes_that_of_the_dataset_unknown(tmp_path: Path) -> None:
    folders = [checkpoint(tmp_path / "a", "shop", int(NOW) - 7), checkpoint(tmp_path / "b", "shop", None)]
    assert lag_of(*folders) == CaptureLag()


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (None, "there is no checkpoint"),
        (b"{", "cannot be read"),
        (b"[]", "cannot be read"),
        (b"[" * 200_000, "cannot be read"),
        ({"as_of": 1}, "cannot be read"),
        ({"dataset": 1, "as_of": 1}, "has no dataset or no time"),
        ({"dataset": "shop", "as_of": "1"}, "has no dataset or no time"),
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_named_and_the_lag_is_unknown(
    document: Any, reason: str, tmp_path: Path
) -> None:
    good = checkpoint(tmp_path / "good", "shop", int(NOW) - 7)
    (tmp_path / "bad").mkdir()
    if document is not None:
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        (tmp_path / "bad" / "checkpoint.json").write_bytes(data)
    found = lag_of(good, str(tmp_path / "bad"))
    assert found.seconds is None
    (warning,) = found.warnings
    assert reason in warning
    assert str(tmp_path / "bad") in warning


@pytest.mark.parametrize("folder", ["http://127.0.0.1:9/shop", "s3://bucket/shop", "", "file://", "/"])
def test_where_no_capture_has_a_checkpoint_nobody_looks_and_the_lag_is_unknown(folder: str, tmp_path: Path) -> None:
    found = lag_of(checkpoint(tmp_path / "good", "shop", int(NOW) - 7), folder)
    (warning,) = found.warnings
    expected = "there is no checkpoint in /:" if folder == "/" else f"{folder!r} is no folder of a checkpoint"
    assert (found.seconds, expected in warning) == (None, True)
