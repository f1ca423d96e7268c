"""The files of pulled rows: in a bucket, or in a folder of a laptop."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from onefold.adapters.gcs import GcsObjects
from onefold.core.errors import InvalidInput, Rejected
from onefold.core.text import reason_of
from onefold.ports.objects import FileStore, StoredObject

_FILE = "file://"
_GENERATION = 1
"""Of every file of a folder: a name is used once."""


class FolderFiles:
    """The files of a folder, by their addresses, file:///FOLDER/NAME."""

    def create(self, address: str, path: Path) -> bool:
        """Copy a file to a name that is free, and return whether the name was free. Readers never see a part of a file.

        Raises:
            Rejected: the folder cannot be written.
        """
        target = _path(address)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as copy, path.open("rb") as file:
                shutil.copyfileobj(file, copy)
            try:
                os.link(copy.name, target)  # fails where the name is taken, which a rename would replace
            finally:
                Path(copy.name).unlink()
        except FileExistsError:
            return False
        except OSError as error:
            raise Rejected(
                f"{address} cannot be written: {reason_of(error)}: name another folder, or change its rights"
            ) from error
        return True

    def find(self, address: str) -> StoredObject | None:
        """Return a file; None where there is none."""
        with suppress(FileNotFoundError):
            return StoredObject(_path(address).read_bytes(), _GENERATION)
        return None


def files_at(root: str) -> FileStore:
    """Return the store of the files below a folder.

    Args:
        root: gs://BUCKET, gs://BUCKET/FOLDER or file:///FOLDER.

    Raises:
        InvalidInput: the text is no such folder.
    """
    if root.startswith(f"{_FILE}/"):
        return FolderFiles()
    if root.startswith("gs://"):
        return GcsObjects()
    raise InvalidInput(f"{root!r} is no folder of pulled files: write gs://BUCKET/FOLDER, or file:///FOLDER on a laptop")


def _path(address: str) -> Path:
    return Path(unquote(address.removeprefix(_FILE)))
