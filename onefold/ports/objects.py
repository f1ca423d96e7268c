"""Objects of Cloud Storage, and the stores that read and write them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from onefold.core.errors import InvalidInput, Rejected

NEW = 0
"""The generation of an object that does not exist."""
CHECKPOINT_FILE = "checkpoint.json"
"""The object of a capture's checkpoint in its folder."""
_ADDRESS = re.compile(r"gs://(?P<bucket>[a-z0-9][a-z0-9._-]{1,220}[a-z0-9])/(?P<name>.+)", re.DOTALL)


class ObjectChanged(Rejected):
    """Another process has written the object since it was read."""


@dataclass(frozen=True)
class StoredObject:
    """The content of an object, and its generation, which differs after each write."""

    data: bytes
    generation: int


def generation_of(data: bytes) -> int:
    """Return a generation for a store that has none: the digest of the content.

    Equal contents have the same generation, which is right where a content is the whole state.
    """
    return int.from_bytes(hashlib.sha256(data).digest()) | 1  # the lowest bit is set, so that it is never NEW


def check_folder(address: str) -> str:
    """Return the address of a folder of a bucket, without a slash at its end.

    Examples:
        >>> check_folder("gs://bucket/large/")
        'gs://bucket/large'

    Raises:
        InvalidInput: the text is not such an address.
    """
    folder = address.rstrip("/")
    if not _ADDRESS.fullmatch(f"{folder}/x"):
        raise InvalidInput(f"{address!r} is not a folder of a bucket: write gs://BUCKET/FOLDER")
    return folder


class ObjectFinder(Protocol):
    """Objects by address, read one by one."""

    def find(self, address: str) -> StoredObject | None:
        """Return the newest generation of an object; None where the object does not exist.

        Raises:
            TryAgain: the store does not answer; try again later.
            Rejected: the store refuses, and a retry does not help.
        """


class FolderLister(Protocol):
    """Folders by address."""

    def list_folders(self, address: str) -> list[str]:
        """Return the names of the folders right below a folder, in any order.

        Raises:
            NotFound: there is no such folder; in a bucket, no object below it.
            TryAgain: the store does not answer; try again later.
            Rejected: the store refuses, and a retry does not help.
        """


class FileLister(Protocol):
    """Files by address."""

    def list_files(self, address: str) -> list[str]:
        """Return the names of all files below a folder, at any depth, relative to it, in any order.

        Raises:
            NotFound: there is no such folder; in a bucket, no object below it.
            TryAgain: the store does not answer; try again later.
            Rejected: the store refuses, and a retry does not help.
        """


class FileReader(Protocol):
    """Files of any size by address, read whole."""

    def read_file(self, address: str) -> bytes:
        """Return the content of a file.

        Raises:
            NotFound: there is no such file.
            TryAgain: the store does not answer; try again later.
            Rejected: the store refuses, and a retry does not help.
        """


class ListedFiles(ObjectFinder, FileLister, Protocol):
    """Files by address, to read and to list."""


class ObjectWriter(ObjectFinder, Protocol):
    """Objects by address, written whole and on a condition. A read after a write returns what was written."""

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        """Write a whole object, and return its new generation. Readers see the old content or the new, never a mixture.

        Args:
            address: the address, such as gs://BUCKET/NAME.
            data: the content.
            generation: the generation that the object has to have for the write to happen; `NEW` where the object must not
                exist; None writes in any case.

        Raises:
            ObjectChanged: the object has another generation; nothing was written.
            TryAgain: the store does not answer, and the object may have been written; try again later.
            Rejected: the store refuses, and a retry does not help.
        """


class ObjectStore(ObjectWriter, Protocol):
    """Objects of buckets by address, gs://BUCKET/NAME."""

    def folder_problems(self, folder: str, who: str) -> list[str]:
        """Return why objects below a folder cannot be read, written or replaced, each reason with its remedy.

        Args:
            folder: gs://BUCKET/FOLDER.
            who: the member of this process, for the command that grants the rights.

        Raises:
            TryAgain: the store does not answer; try again later.
            Rejected: the store refuses, and a retry does not help.
        """


class FileStore(Protocol):
    """Files of pulled rows, gs://BUCKET/NAME or file:///FOLDER/NAME. A name that is taken is never written again."""

    def create(self, address: str, path: Path) -> bool:
        """Store a file under a name that is free.

        Args:
            address: the name.
            path: the content, a file of this machine.

        Returns:
            False where the name is taken: nothing was written.

        Raises:
            TryAgain: the store does not answer, and the file may have been written; try again later.
            Rejected: the store refuses, and a retry does not help.
        """

    def find(self, address: str) -> StoredObject | None:
        """Return a small file with its generation; None where there is none."""


class ObjectReader(Protocol):
    """The store of records that are too large for a message."""

    def read(self, address: str) -> bytes:
        """Return the content of an object.

        Raises:
            Rejected: the object does not exist, may not be read, or is too large.
            TryAgain: an error that may pass.
        """
