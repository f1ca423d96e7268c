"""Objects as files of this machine, written on a condition as in a bucket: for a registry in a folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.ports.objects import NEW, ObjectChanged, StoredObject, generation_of

LOCK = ".onefold-lock"
"""The file that is locked during a write; it stays, since a process that waits for it would lock a deleted file."""


class FolderObjects:
    """The files of a folder, by their paths. A file's generation is the digest of its content.

    Two processes of one machine may write at the same time, also through a file system that several machines share, if it
    supports locks.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def find(self, address: str) -> StoredObject | None:
        """Return a file's content; None where the file does not exist.

        Raises:
            Rejected: the file cannot be read.
        """
        try:
            data = Path(address).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Rejected(f"{address} cannot be read: {error.strerror}: correct the address, or its rights") from error
        return StoredObject(data, generation_of(data))

    def list_folders(self, address: str) -> list[str]:
        """Return the names of the folders right below a folder.

        Raises:
            NotFound: there is no such folder.
            Rejected: the folder cannot be read.
        """
        try:
            return [entry.name for entry in os.scandir(address) if entry.is_dir()]
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFound(f"there is no folder {address}: correct the address") from error
        except OSError as error:
            raise Rejected(f"{address} cannot be read: {error.strerror}: correct the address, or its rights") from error

    def list_files(self, address: str) -> list[str]:
        """Return the names of all files below a folder, relative to it.

        Raises:
            NotFound: there is no such folder.
            Rejected: a folder cannot be read.
        """
        if not Path(address).is_dir():
            raise NotFound(f"there is no folder {address}: correct the address")

        def refuse(error: OSError) -> None:
            raise Rejected(f"{error.filename} cannot be read: {error.strerror}: correct its rights") from error

        found = os.walk(address, onerror=refuse)
        return [Path(folder, name).relative_to(address).as_posix() for folder, _, names in found for name in names]

    def read_file(self, address: str) -> bytes:
        """Return the content of a file.

        Raises:
            NotFound: there is no such file.
            Rejected: the file cannot be read.
        """
        found = self.find(address)
        if found is None:
            raise NotFound(f"there is no file {address}: correct the address")
        return found.data

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        """Replace a file as a whole, and return its new generation.

        Args:
            address: the path.
            data: the content.
            generation: the generation that the file has to have; `NEW` where it must not exist; None writes in any case.

        Raises:
            ObjectChanged: the file has another generation; nothing was written.
            Rejected: the file cannot be written.
            TryAgain: the disk is full, or fails in another way that may pass.
        """
        path = Path(address)
        try:
            with self._locked():
                found = self.find(address)
                if generation is not None and generation != (found.generation if found else NEW):
                    raise ObjectChanged(f"{address}: written by somebody else since it was read: run the command again")
                _replace(path, data)
        except PermissionError as error:
            raise Rejected(f"{address} cannot be written: {error.strerror}; run as a user who may write there") from error
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise Rejected(f"{address} cannot be written: {error.filename} is in its way; move it elsewhere") from error
        except OSError as error:
            raise TryAgain(f"{address} cannot be written: {error.strerror}: make room, and try again") from error
        return generation_of(data)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from writing between the comparison and the replacement."""
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / LOCK).open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _replace(path: Path, data: bytes) -> None:
    """Write a file next to its place and rename it, so that no reader and no crash sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".onefold-")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.chmod(0o644)  # a temporary file can be read by its owner alone
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Write the new name to disk, so that it survives a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
