"""Files of events that cannot be read. They are set aside, so that all other files go on, until somebody replaces them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

_UNSAFE = (".lz4", ".snappy", ".zst")
"""Forms whose readers take the size of a block from the file, and end the process where the file is not of the form."""


@dataclass(frozen=True)
class StoredFile:
    """A file of events as it is stored: its size in bytes, and when it was written, in milliseconds since 1970."""

    size: int
    modified: int


@dataclass(frozen=True)
class SetAside:
    """A file that is set aside.

    Attributes:
        file: its address, as a manifest would have it.
        size: its size in bytes.
        modified: when it was written, in milliseconds since 1970.
        reason: why it cannot be read, and what to do.
        found_at: when that was found.
    """

    file: str
    size: int
    modified: int
    reason: str
    found_at: str

    @classmethod
    def of(cls, address: str, file: StoredFile, reason: str, now: datetime) -> SetAside:
        """Return the record of a file that cannot be read.

        Args:
            address: of the file.
            file: as it is stored.
            reason: why it cannot be read.
            now: the present time.
        """
        return cls(address, file.size, file.modified, reason, now.isoformat())

    @property
    def name(self) -> str:
        """The name of the file with this record."""
        return f"{hashlib.sha256(self.file.encode()).hexdigest()[:32]}.json"

    def to_json(self) -> str:
        """Return the content of the record's file."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"

    def is_of(self, file: StoredFile | None) -> bool:
        """Return whether a file is still as it was: one that was replaced is read."""
        return file == StoredFile(self.size, self.modified)


def parse_set_aside(text: str) -> SetAside | None:
    """Return a record; None where the text is none, so that its file is read, and set aside, again.

    Examples:
        >>> parse_set_aside("{}")
    """
    try:
        return SetAside(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return None


def problem_of_name(address: str) -> str | None:
    """Return why a file of this name cannot be read; None where the name does not tell.

    Examples:
        >>> problem_of_name("gs://lake/a:b.txt.gz")
        >>> problem_of_name("file:/lake/a:b.txt")
        'its name has a colon, with which Hadoop reads no file of this machine: rename it'
    """
    for ending in _UNSAFE:
        if address.endswith(ending):
            return (
                f"its name ends in {ending}, and .gz, .bz2 and .deflate are unpacked: unpack it, or rename it if it is text"
            )
    if address.startswith("file:") and ":" in address.removeprefix("file:"):
        return "its name has a colon, with which Hadoop reads no file of this machine: rename it"
    return None


def problems_of_names(files: Mapping[str, StoredFile]) -> dict[str, str]:
    """Return the files whose names tell that they cannot be read, each with the reason."""
    return {address: problem for address in files if (problem := problem_of_name(address))}
