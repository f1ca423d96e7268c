"""Files that are written on a condition, as objects of a bucket are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onefold.adapters.folder_objects import LOCK, FolderObjects
from onefold.core.errors import Rejected
from onefold.ports.objects import NEW, ObjectChanged


def test_a_file_is_written_and_read_with_its_generation(tmp_path: Path) -> None:
    objects, path = FolderObjects(tmp_path), str(tmp_path / "größe" / "1-0-0")
    assert objects.find(path) is None
    first = objects.write(path, b"1", NEW)
    second = objects.write(path, b"2", first)
    for wrong in (NEW, first):
        with pytest.raises(ObjectChanged, match="written by somebody else"):
            objects.write(path, b"3", wrong)
    found = objects.find(path)
    assert found
    assert (found.data, found.generation) == (b"2", second)
    objects.write(path, b"3")
    assert Path(path).read_bytes() == b"3"
    assert Path(path).stat().st_mode & 0o777 == 0o644


def test_nothing_is_left_but_the_files_and_the_lock(tmp_path: Path) -> None:
    FolderObjects(tmp_path).write(str(tmp_path / "a"), b"1")
    assert sorted(os.listdir(tmp_path)) == [LOCK, "a"]


def test_a_place_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Rejected, match=r"file/a cannot be written: .* is in its way"):
        FolderObjects(tmp_path).write(str(tmp_path / "file" / "a"), b"1")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Rejected, match=r"folder cannot be (read|written)"):
        FolderObjects(tmp_path).write(str(tmp_path / "folder"), b"1")
