"""Files of events that cannot be read. They are set aside, so that all other files go on, until somebody replaces them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

_UNSAFE = (".lz4", ".snappy", ".zst")
"""Forms whose readers take the size of a block from the file, and end the process where the file is not of the form."""

BZIP2, HEAD, TAIL = ".bz2", 4, 11
"""The ending of files of bzip2, and how many bytes at both ends tell that such a file is whole."""
_END_OF_BZIP2, _END_BITS, _CHECKSUM_BITS = 0x177245385090, 48, 32
"""The last mark, after which come a checksum and up to 7 bits of padding (bzip2 1.0.8, compress.c, BZ2_compressBlock)."""


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


def problem_of_bzip2(head: bytes, tail: bytes) -> str | None:
    """Return why a file of bzip2 is not whole; None where it is.

    Hadoop looks for the next block, wherever it may be. So it takes a file without an end, or without a block, for one that
    has no more rows, and raises nothing.

    Args:
        head: the first `HEAD` bytes.
        tail: the last `TAIL` bytes.

    Examples:
        >>> import bz2
        >>> whole = bz2.compress(b"event")
        >>> problem_of_bzip2(whole[:HEAD], whole[-TAIL:])
        >>> problem_of_bzip2(whole[:HEAD], whole[-TAIL - 1 : -1])
        'it is no bzip2, or its end is missing: replace the file'
    """
    bits = int.from_bytes(tail, "big") >> _CHECKSUM_BITS
    ends = any((bits >> padding) % 2**_END_BITS == _END_OF_BZIP2 for padding in range(8))
    if head[:3] == b"BZh" and ends:
        return None
    return "it is no bzip2, or its end is missing: replace the file"
