"""Folders and small files through Hadoop's file systems, so that `gs://` works like a path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput, TryAgain
from onefold.core.text import reason_of


@contextmanager
def _java_errors(what: str) -> Iterator[None]:
    """Turn Java's exceptions into one line that begins with `what`.

    Raises:
        InvalidInput: Java has raised an exception.
    """
    try:
        yield
    except Py4JJavaError as error:
        raise InvalidInput(f"{what}: {error.java_exception.getMessage() or error.java_exception.toString()}") from error
    except PySparkException as error:  # PySpark translates a few of Java's exceptions itself
        raise InvalidInput(f"{what}: {reason_of(error)}") from error


@dataclass(frozen=True)
class FolderEntry:
    """A file below a folder: its path from that folder, its length in bytes, and its time in milliseconds since 1970."""

    path: str
    size: int
    modified: int = field(default=0, compare=False)

    @property
    def hidden(self) -> bool:
        """Whether Spark passes over the file: over `_SUCCESS`, but not over the partition folder `_landed_at=2024-01-01`."""
        return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in self.path.split("/"))


class Folder:
    """A folder, or a single file, by its URI."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self.uri = uri.rstrip("/") or uri
        jvm: Any = spark._jvm
        self._jvm = jvm
        with _java_errors(f"{self.uri} cannot be reached from here"):
            self._path = jvm.org.apache.hadoop.fs.Path(self.uri)
            self._system = self._path.getFileSystem(spark._jsc.hadoopConfiguration())

    def exists(self) -> bool:
        """Return whether the folder or file exists.

        Raises:
            InvalidInput: the file system refuses an answer, for example without the right to read.
        """
        with self._java_errors("read"):
            return bool(self._system.exists(self._path))

    def is_file(self) -> bool:
        """Return whether the address is that of a single file, which exists.

        Raises:
            InvalidInput: the file system refuses an answer.
        """
        with self._java_errors("read"):
            return bool(self._system.exists(self._path) and self._system.getFileStatus(self._path).isFile())

    def children(self) -> list[str]:
        """Return the names of the files and folders in the folder, sorted; none if the folder does not exist.

        Raises:
            InvalidInput: the file system refuses an answer.
        """
        if not self.exists():
            return []
        with self._java_errors("read"):
            return sorted(str(status.getPath().getName()) for status in self._system.listStatus(self._path))

    def files(self) -> list[FolderEntry]:
        """Return every file below the folder, sorted by path; a single file is its own only entry.

        Returns:
            An empty list if the folder does not exist.
        """
        if not self.exists():
            return []
        with self._java_errors("read"):
            return sorted(self._entries(), key=lambda entry: entry.path)

    def _entries(self) -> Iterator[FolderEntry]:
        listed = self._system.listFiles(self._path, True)
        # The file system's own spelling of the folder, which its paths of files begin with.
        prefix = self._system.makeQualified(self._path).toString()
        while listed.hasNext():
            status = listed.next()
            path = status.getPath()
            inner = path.toString().removeprefix(prefix).lstrip("/")
            yield FolderEntry(inner or path.getName(), status.getLen(), status.getModificationTime())

    def has(self, name: str) -> bool:
        with self._java_errors("read", name):
            return bool(self._system.exists(self._inner(name)))

    def read(self, name: str) -> str:
        """Return the text of a small file.

        Raises:
            InvalidInput: the file cannot be read, for example because its checksum differs.
        """
        with self._java_errors("read", name):
            stream = self._system.open(self._inner(name))
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def read_bytes(self, start: int, length: int) -> bytes:
        """Return some bytes of a single file.

        Args:
            start: the number of the first byte.
            length: how many bytes; the file has to have them.

        Raises:
            InvalidInput: the file cannot be read.
        """
        with self._java_errors("read"):
            stream = self._system.open(self._path)
            try:
                stream.seek(start)
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream, length))
            finally:
                stream.close()

    def make(self, name: str) -> None:
        """Create a folder below the folder, where there is none."""
        with self._java_errors("written", name):
            self._system.mkdirs(self._inner(name))

    def write(self, name: str, text: str) -> None:
        """Write a small file. An object store shows it whole or not at all.

        Raises:
            InvalidInput: the file cannot be written.
        """
        with self._java_errors("written", name):
            stream = self._system.create(self._inner(name), True)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()

    def clear(self, *, but: str) -> None:
        """Remove everything in the folder except one file, in the order of the names."""
        exists = self.exists()
        with self._java_errors("emptied"):
            paths = [status.getPath() for status in self._system.listStatus(self._path)] if exists else []
            for path in sorted(paths, key=lambda path: str(path.getName())):
                if path.getName() != but:
                    self._system.delete(path, True)

    def rename(self, name: str, new: str) -> None:
        """Rename a file below the folder.

        Raises:
            TryAgain: the file does not exist any more.
        """
        with self._java_errors("written", new):
            renamed = self._try_to_rename(name, new)
        if not renamed:
            raise TryAgain(f"{self.uri}/{name} is gone: another job writes there at the same time; run one of them again")

    def _try_to_rename(self, name: str, new: str) -> bool:
        """Return whether the file was renamed.

        Raises:
            Py4JJavaError: the file system has failed, not because the file is missing.
        """
        try:
            return bool(self._system.rename(self._inner(name), self._inner(new)))
        except Py4JJavaError as error:  # other file systems return false for a missing file
            if error.java_exception.getClass().getSimpleName() != "FileNotFoundException":
                raise
            return False

    def remove(self, name: str) -> None:
        with self._java_errors("removed", name):
            self._system.delete(self._inner(name), True)

    def delete(self) -> None:
        """Remove the folder with everything in it."""
        with self._java_errors("removed"):
            self._system.delete(self._path, True)

    def qualified(self) -> str:
        """Return the one spelling of the folder that can be compared with others: `file:/a` for `/a`."""
        return str(self._system.makeQualified(self._path).toString())

    def spelled_in_uris(self, name: str) -> str:
        """Return how Spark spells the name of a file or folder in `_metadata.file_path`."""
        return str(self._jvm.org.apache.hadoop.fs.Path("/" + name).toUri().toString())[1:]

    def escaped(self, name: str) -> str:
        """Return a file's URI as other libraries expect it: `file:///a%20%C3%A9`, where Hadoop writes `file:/a é`."""
        uri = str(self._system.makeQualified(self._inner(name)).toUri().toASCIIString())
        return re.sub("^file:/(?!/)", "file:///", uri)

    def _java_errors(self, what: str, name: str = "") -> AbstractContextManager[None]:
        return _java_errors(f"{self.uri}/{name} cannot be {what}" if name else f"{self.uri} cannot be {what}")

    def _inner(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name)
