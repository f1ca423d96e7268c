"""Folders of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def local_folder_problems(folder: Path) -> list[str]:
    """Return what keeps files from being written to a folder of this machine, each problem with its remedy.

    The folder need not exist: then its nearest existing parent has to be a folder in which it can be created.
    """
    nearest = folder.absolute()
    while not nearest.exists():
        nearest = nearest.parent
    if not nearest.is_dir():
        return [f"{folder} cannot be a folder: {nearest} is a file; name another folder"]
    if not os.access(nearest, os.R_OK | os.W_OK | os.X_OK):
        return [
            f"{folder} cannot be written, this user may not write {nearest}; name another folder, or run: "
            f"chmod u+rwx {nearest}"
        ]
    return []
