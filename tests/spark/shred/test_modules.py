"""Archives of modules in a worker: they are read again where their files have changed, and only there."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path

import pytest

from onefold.spark.shred.modules import keep_modules


def write(archive: Path, *modules: str) -> None:
    with zipfile.ZipFile(archive, "w") as file:
        for name in modules:
            file.writestr(f"{name}.py", f"NAME = {name!r}")


def test_an_archive_is_read_again_only_where_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "modules.zip"
    write(archive, "kept_one")
    monkeypatch.syspath_prepend(str(archive))
    assert importlib.import_module("kept_one").NAME == "kept_one"
    keep_modules()
    keep_modules()
    finder = sys.path_importer_cache[str(archive)]
    before = finder._files  # type: ignore[union-attr]
    importlib.invalidate_caches()
    assert finder._files is before  # type: ignore[union-attr]
    write(archive, "kept_one", "kept_two")
    importlib.invalidate_caches()
    assert importlib.import_module("kept_two").NAME == "kept_two"
    archive.unlink()
    importlib.invalidate_caches()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("kept_three")
