"""Writes the rows of one key range to files of limited size, each under a name that is free."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from onefold.ports.objects import FileStore
from onefold.pull.read.pulled import PulledFile

MAX_FILE = 2_000_000_000
"""Bytes as they are stored: BigQuery loads compressed files of at most 4 GB ("Quotas and limits", load jobs, 2026-11)."""
_LEVEL = 1
"""Of compression: reading the source and writing JSON take longer than that."""


class _Stored:
    """A file that counts what is written to it, which is what is stored, and digests it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = 0
        self.digest = hashlib.md5(usedforsecurity=False)

    def write(self, data: bytes) -> int:
        self.size += len(data)
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def _gzip_file(stored: _Stored) -> gzip.GzipFile:
    """Return a file that compresses what is written: by ISA-L, which takes a quarter of the time, where it is installed."""
    try:
        from isal.igzip import IGzipFile
    except ImportError:
        kind = gzip.GzipFile
    else:
        kind = IGzipFile
    # Without a name and a time in its header, the same rows give the same bytes.
    return kind("", "wb", _LEVEL, stored, mtime=0)


class PartWriter:
    """Writes lines to one file after the other, on the disk of this machine, and stores each file when it is complete.

    Memory: one block of lines.
    """

    def __init__(
        self,
        store: FileStore,
        address_of: Callable[[int], str],
        numbers: Iterator[int] | None = None,
        *,
        compress: bool = False,
        limit: int = MAX_FILE,
    ) -> None:
        """Begin without a file.

        Args:
            store: takes the files.
            address_of: returns the address of a file by its number.
            numbers: the numbers to try, which several writers may share; 0, 1, 2 and so on by default.
            compress: whether files are compressed with gzip.
            limit: the most bytes of a file, as it is stored.
        """
        self._store, self._address_of, self._compress, self._limit = store, address_of, compress, limit
        self._numbers = itertools.count() if numbers is None else numbers
        self._done: list[PulledFile] = []
        self._days: Counter[date] = Counter()
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="onefold_pull_")))
        self._open_file()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Remove what is on the disk of this machine."""
        self._raw.close()
        self._stack.close()

    def write(self, lines: bytes, days: Mapping[date, int]) -> None:
        """Append whole lines; a file that they would make too large is stored before.

        Args:
            lines: lines with their line breaks.
            days: the number of lines of each day.
        """
        self._out.flush()
        # Compressed lines are not larger than plain ones, but for a few bytes.
        if self._days and self._stored.size + len(lines) > self._limit:
            self._store_file()
            self._open_file()
        self._out.write(lines)
        self._days.update(days)

    def close(self) -> tuple[PulledFile, ...]:
        """Store the last file, and return all files in order; none without a line.

        Raises:
            TryAgain: the store does not answer.
            Rejected: the store refuses a file.
        """
        if self._days:
            self._store_file()
            self._days = Counter()
        return tuple(self._done)

    def _open_file(self) -> None:
        self._path = self._folder / f"{len(self._done)}"
        self._raw = self._path.open("wb")
        self._stored = _Stored(self._raw)
        self._out: gzip.GzipFile | _Stored = _gzip_file(self._stored) if self._compress else self._stored
        self._days = Counter()

    def _store_file(self) -> None:
        if isinstance(self._out, gzip.GzipFile):
            self._out.close()
        self._raw.close()
        while not self._store.create(address := self._address_of(next(self._numbers)), self._path):
            pass
        days = tuple(sorted(self._days.items()))
        digest = self._stored.digest.hexdigest()
        self._done.append(PulledFile(address, self._days.total(), self._stored.size, digest, days))
        self._path.unlink()
