"""Folders of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def local_folder_problems(folder: Path) -> list[str]:
    """Return what keeps files from being written in a folder of this machine, which need not be there yet."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        return [f"{folder} cannot be a folder: {place} is a file; name another folder"]
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return [
            f"{folder} cannot be written, this user may not write {place}; name another folder, or run: chmod u+rwx {place}"
        ]
    return []
