"""Objects of a bucket, and the store that reads and writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from onefold.core.errors import InvalidInput, Rejected

NEW = 0
"""The generation of an object that is not there."""
_ADDRESS = re.compile(r"gs://(?P<bucket>[a-z0-9][a-z0-9._-]{1,220}[a-z0-9])/(?P<name>.+)", re.DOTALL)


class ObjectChanged(Rejected):
    """Somebody else has written the object since it was read."""


@dataclass(frozen=True)
class StoredObject:
    data: bytes
    generation: int
    """Every writing of an object has another one."""


def check_folder(address: str) -> str:
    """The address of a folder of a bucket, without a slash at its end.

    Raises:
        InvalidInput: it is none.
    """
    folder = address.rstrip("/")
    if not _ADDRESS.fullmatch(f"{folder}/x"):
        raise InvalidInput(f"{address!r} is no folder of a bucket: write gs://BUCKET/FOLDER")
    return folder


class ObjectStore(Protocol):
    """Objects of buckets, by their addresses, gs://BUCKET/NAME."""

    def find(self, address: str) -> StoredObject | None:
        """Return an object, or None where there is none. Raises Rejected, TryAgain."""

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        """Write an object whole, and return its generation.

        Args:
            generation: the one that was read: with another one there nothing is written, with `NEW` where there is any.

        Raises:
            ObjectChanged: there is another one.
            TryAgain: the store does not answer; try again later.
            Rejected: the store refused for good.
        """

    def folder_problems(self, folder: str, who: str) -> list[str]:
        """Return what keeps objects from being read, written or replaced below a folder, each with its remedy.

        Args:
            folder: gs://BUCKET/FOLDER.
            who: the member of this process, for the command that grants the rights.

        Raises:
            TryAgain: the store does not answer; try again later.
            Rejected: the store refused for good.
        """


class ObjectReader(Protocol):
    """Where records lie that are too large for a message."""

    def read(self, address: str) -> bytes:
        """Raises Rejected where there is no such object, or where it is too large; TryAgain where trouble may pass."""
