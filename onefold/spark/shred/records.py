"""The records of files of events, as workers read them: lines, as text."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from onefold.spark.shred.stores import Stores

CHUNK_BYTES = 1 << 20
"""The bytes of plain text that are read at once."""
BATCH_RECORDS = 2_000
"""The records of a batch: their rows are in the memory as objects."""
_FEW_BYTES = 64 << 10
"""The bytes that are unpacked at once, which may become a thousand times as many, and those in which an end of a line is
searched."""
_MARK = b"\xef\xbb\xbf"
"""The mark with which some programs begin a file of UTF-8."""
_UNPACKERS: dict[str, tuple[str, Callable[[], Any]]] = {
    ".gz": ("gzip", lambda: zlib.decompressobj(31)),
    ".bz2": ("bzip2", bz2.BZ2Decompressor),
    ".deflate": ("zlib", zlib.decompressobj),
}


class DamagedContent(Exception):
    """The content of a file is not what its name says, whoever reads it and however often."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.address, self.reason = address, reason


class UnreadFile(OSError):
    """A file that its store does not give."""


@dataclass(frozen=True)
class FilePart:
    """A part of a file of events: the records that begin in it.

    Attributes:
        address: of the file.
        start: the number of the first byte.
        end: the number of the byte after the last one.
    """

    address: str
    start: int
    end: int


def is_packed(address: str) -> bool:
    """Return whether a file has to be unpacked, from its begin to its end.

    Examples:
        >>> is_packed("gs://lake/a.gz"), is_packed("gs://lake/a.GZ")
        (True, False)
    """
    return address.endswith(tuple(_UNPACKERS))


def read_records(stores: Stores, parts: Iterable[FilePart], chunk: int = CHUNK_BYTES) -> Iterator[list[str]]:
    """Yield the records of some parts in batches, of which the last one may be small. An empty line is no record.

    Args:
        stores: the stores of the files.
        parts: the parts.
        chunk: how many bytes of plain text to read at once.

    Raises:
        DamagedContent: a file cannot be unpacked.
        UnreadFile: a file cannot be read for another reason.
    """
    waiting: list[str] = []
    for lines in read_lines(stores, parts, chunk):
        waiting += texts_of(lines)
        while len(waiting) >= BATCH_RECORDS:
            yield waiting[:BATCH_RECORDS]
            del waiting[:BATCH_RECORDS]
    if waiting:
        yield waiting


def read_lines(stores: Stores, parts: Iterable[FilePart], chunk: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the lines of some parts: some whole lines at once, without the end of the last one.

    Args:
        stores: the stores of the files.
        parts: the parts.
        chunk: how many bytes of plain text to read at once.

    Raises:
        DamagedContent: a file cannot be unpacked.
        UnreadFile: a file cannot be read for another reason.
    """
    for part in parts:
        try:
            yield from _whole_lines(_without_mark(part, _content(stores, part, chunk)))
        except OSError as error:  # Arrow's errors do not all name the file
            raise UnreadFile(f"{part.address} cannot be read: {' '.join(str(error).split())}") from error


def texts_of(lines: bytes) -> list[str]:
    r"""Return lines as text, without the carriage return of a line that ends with both; empty ones are left out.

    Bytes that are not UTF-8 become halves of surrogate pairs, which no event may have and a bad row keeps.

    Examples:
        >>> texts_of(b"a\r\n\n\r\n\xff")
        ['a', '\udcff']
    """
    try:
        text = lines.decode()
    except UnicodeDecodeError:
        text = lines.decode(errors="surrogateescape")
    found = text.split("\n")
    if "\r" in text:
        found = [line.removesuffix("\r") for line in found]
    return [line for line in found if line]


def bytes_of(lines: bytes) -> list[bytes]:
    r"""Return the same lines as bytes, each of which `texts_of` makes a text: for those who need a few of them.

    Examples:
        >>> bytes_of(b"a\r\n\n\r\n\xff")
        [b'a\r', b'\xff']
    """
    return [line for line in lines.split(b"\n") if line not in (b"", b"\r")]


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes, cut at ends of lines, which are left out there."""
    begun: list[bytes] = []
    for chunk in chunks:
        head, end, tail = chunk.rpartition(b"\n")
        if end:
            yield b"".join([*begun, head])
            begun = []
        begun.append(tail)
    yield b"".join(begun)


def _without_mark(part: FilePart, chunks: Iterator[bytes]) -> Iterator[bytes]:
    if part.start == 0:
        yield next(chunks, b"").removeprefix(_MARK)
    yield from chunks


def _content(stores: Stores, part: FilePart, chunk: int) -> Iterator[bytes]:
    """Yield the bytes of the records that begin in a part.

    Raises:
        DamagedContent: the file cannot be unpacked.
        OSError: the file cannot be read.
    """
    system, path = stores.find(part.address)
    if is_packed(part.address):
        with system.open_input_stream(path, compression=None) as packed:
            yield from _unpacked(part.address, packed)
        return
    with system.open_input_file(path) as file:
        begin, end = (_next_line(file, place, chunk) for place in (part.start, part.end))
        file.seek(begin)
        while begin < end and (data := file.read(min(chunk, end - begin))):
            begin += len(data)
            yield data


def _next_line(file: Any, place: int, chunk: int) -> int:
    """Return where the first line begins that does not begin before a byte; the size of the file where there is none."""
    if place in (0, file.size()):
        return place
    place -= 1
    file.seek(place)
    while data := file.read(min(chunk, _FEW_BYTES)):
        found: int = data.find(b"\n")
        if found >= 0:
            return place + found + 1
        place += len(data)
    return place


def _unpacked(address: str, packed: Any) -> Iterator[bytes]:
    """Yield the content of a file, which may be several ones in a row; an empty file has none.

    Raises:
        DamagedContent: the file is not what its name says, or is not whole.
    """
    name, new = next(unpacker for ending, unpacker in _UNPACKERS.items() if address.endswith(ending))
    unpacker: Any = None
    while data := packed.read(_FEW_BYTES):
        while data:
            unpacker = new() if unpacker is None or unpacker.eof else unpacker
            try:
                yield unpacker.decompress(data)
            except (zlib.error, OSError) as error:
                raise DamagedContent(address, f"it is no {name}, or it is damaged: replace the file") from error
            data = unpacker.unused_data
    if unpacker is not None and not unpacker.eof:
        raise DamagedContent(address, f"it is no {name}, or its end is missing: replace the file")
