"""Folders and small files through Hadoop's file systems, so that `gs://` is as good as a path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput, TryAgain


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Java's exception as one line of ours."""
    try:
        yield
    except Py4JJavaError as error:
        raise InvalidInput(f"{what}: {error.java_exception.getMessage() or error.java_exception.toString()}") from error
    except PySparkException as error:  # what PySpark has made of a few of Java's
        raise InvalidInput(f"{what}: {str(error) or type(error).__name__}") from error


@dataclass(frozen=True)
class Entry:
    """A file below a folder: its path from there, and its length."""

    path: str
    size: int

    @property
    def hidden(self) -> bool:
        """Whether Spark would pass over it: `_SUCCESS`, and not the partition folder `_landed_at=2024-01-01`."""
        return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in self.path.split("/"))


class Folder:
    """A folder, or a single file, by its URI."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self.uri = uri.rstrip("/") or uri
        jvm: Any = spark._jvm
        self._jvm = jvm
        with _told(f"{self.uri} cannot be reached from here"):
            self._path = jvm.org.apache.hadoop.fs.Path(self.uri)
            self._system = self._path.getFileSystem(spark._jsc.hadoopConfiguration())

    def exists(self) -> bool:
        """Raises InvalidInput where that cannot be told, as without the right to look."""
        with self._told("read"):
            return bool(self._system.exists(self._path))

    def files(self) -> list[Entry]:
        """Every file below the folder, in order; a file is its own only entry; of what is not there, none."""
        if not self.exists():
            return []
        with self._told("read"):
            return sorted(self._entries(), key=lambda entry: entry.path)

    def _entries(self) -> Iterator[Entry]:
        listed = self._system.listFiles(self._path, True)
        # The file system's own spelling of the folder, to be cut off.
        whole = self._system.makeQualified(self._path).toString()
        while listed.hasNext():
            status = listed.next()
            path = status.getPath()
            inner = path.toString().removeprefix(whole).lstrip("/")
            yield Entry(inner or path.getName(), status.getLen())

    def has(self, name: str) -> bool:
        with self._told("read", name):
            return bool(self._system.exists(self._inner(name)))

    def read(self, name: str) -> str:
        """A small file.

        Raises:
            InvalidInput: it cannot be read, as where its checksum is another one.
        """
        with self._told("read", name):
            stream = self._system.open(self._inner(name))
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def write(self, name: str, text: str) -> None:
        """A small file, whole or not at all on an object store.

        Raises:
            InvalidInput: it cannot be written.
        """
        with self._told("written", name):
            stream = self._system.create(self._inner(name), True)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()

    def clear(self, *, but: str) -> None:
        """Remove everything in the folder except one file, in the order of the names."""
        there = self.exists()
        with self._told("emptied"):
            paths = [status.getPath() for status in self._system.listStatus(self._path)] if there else []
            for path in sorted(paths, key=lambda path: str(path.getName())):
                if path.getName() != but:
                    self._system.delete(path, True)

    def rename(self, name: str, new: str) -> None:
        """Raises TryAgain where it is not there any more."""
        with self._told("written", new):
            try:
                renamed = self._system.rename(self._inner(name), self._inner(new))
            except Py4JJavaError as error:  # some file systems return false instead
                if error.java_exception.getClass().getSimpleName() != "FileNotFoundException":
                    raise
                renamed = False
        if not renamed:
            raise TryAgain(f"{self.uri}/{name} is gone: another job writes there at the same time; run one of them again")

    def remove(self, name: str) -> None:
        with self._told("removed", name):
            self._system.delete(self._inner(name), True)

    def delete(self) -> None:
        """Remove the folder with all that is in it."""
        with self._told("removed"):
            self._system.delete(self._path, True)

    def qualified(self) -> str:
        """One spelling for one place: `file:/a` for `/a`."""
        return str(self._system.makeQualified(self._path).toString())

    def spelled_in_uris(self, name: str) -> str:
        """Return how Spark spells the name of a file or folder in `_metadata.file_path`."""
        return str(self._jvm.org.apache.hadoop.fs.Path("/" + name).toUri().toString())[1:]

    def escaped(self, name: str) -> str:
        """A file's URI as the rest of the world writes it: `file:///a%20%C3%A9`."""
        whole = str(self._system.makeQualified(self._inner(name)).toUri().toASCIIString())
        return re.sub("^file:/(?!/)", "file:///", whole)

    def _told(self, what: str, name: str = "") -> AbstractContextManager[None]:
        return _told(f"{self.uri}/{name} cannot be {what}" if name else f"{self.uri} cannot be {what}")

    def _inner(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name)
