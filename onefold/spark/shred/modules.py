"""The modules of a worker of PySpark, which lie in archives such as `pyspark.zip`."""

from __future__ import annotations

import gc
import os
import sys
import zipimport


def keep_modules() -> None:
    """Spare the tasks of this process what PySpark does for each of them, and what takes longer than many a task itself.

    Before a task it calls `importlib.invalidate_caches`, and each importer of an archive reads its whole directory: one for
    every package in it, some 80 ms together. From now on an archive is read again where its file has changed. After a
    task it collects garbage among all objects of all modules, some 25 ms; those of today are left out from now on.
    """
    for finder in sys.path_importer_cache.values():
        if isinstance(finder, zipimport.zipimporter) and not isinstance(finder.invalidate_caches, _ReadIfChanged):
            finder.invalidate_caches = _ReadIfChanged(finder)  # type: ignore[method-assign]
    if not gc.get_freeze_count():
        gc.freeze()


class _ReadIfChanged:
    def __init__(self, finder: zipimport.zipimporter) -> None:
        self._finder = finder
        self._state = _state(finder.archive)

    def __call__(self) -> None:
        if (state := _state(self._finder.archive)) != self._state:
            zipimport.zipimporter.invalidate_caches(self._finder)
            self._state = state


def _state(archive: str) -> tuple[int, int] | None:
    try:
        found = os.stat(archive)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size
