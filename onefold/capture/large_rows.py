"""Rows too large for a message: each is written as an object, always under the same name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, unquote

from onefold.capture.records import Record
from onefold.core.errors import Rejected
from onefold.core.folders import local_folder_problems
from onefold.core.names import versioned_name
from onefold.ports.objects import ObjectStore, check_folder

_DIGEST = 16


class LargeRows(Protocol):
    """Where large rows are written."""

    def put(self, name: str, data: bytes) -> str:
        """Write an object, and return the address where it can be read.

        Raises:
            TryAgain: an error that may pass.
        """

    def problems(self, who: str) -> list[str]:
        """Return what keeps objects from being written, each with its remedy, without writing anything.

        Raises:
            TryAgain: an error that may pass.
        """


def object_name(record: Record, data: bytes) -> str:
    """Return the object name for a record. The digest in it separates records of one position or one chunk."""
    metadata = record["metadata"]
    table = versioned_name(metadata["table_name"], metadata["table_version"])
    sequence = metadata["change_sequence_number"].replace("/", "-")
    tenant = "/".join(_segment(metadata[part]) for part in ("source", "database_name"))
    return f"{table}/{tenant}/{sequence}-{hashlib.sha256(data).hexdigest()[:_DIGEST]}.json"


def _segment(name: str) -> str:
    """Return a part of an object's name: `/`, `.` and `..` are escaped, because they would lead to another folder."""
    return quote(name, safe=" ").replace(".", "%2E") if set(name) == {"."} else quote(name, safe=" ")


@dataclass(frozen=True)
class NoLargeRows:
    """No folder for large rows is named."""

    def put(self, name: str, data: bytes) -> str:
        """Refuse the row.

        Raises:
            Rejected: always.
        """
        raise Rejected(
            f"a row of {len(data)} bytes is too large for a message ({name}): name a folder of a bucket for such rows, with "
            "--bucket gs://BUCKET/FOLDER, and start again"
        )

    def problems(self, who: str) -> list[str]:  # noqa: ARG002 no problem: a source may have no large rows
        return []


@dataclass(frozen=True)
class LargeRowsFolder:
    """A folder of this machine."""

    folder: Path

    def put(self, name: str, data: bytes) -> str:
        path = self.folder.resolve() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path.as_uri()

    def problems(self, who: str) -> list[str]:  # noqa: ARG002 rights are those of this machine's user
        return [f"large rows: {problem}" for problem in local_folder_problems(self.folder)]


class LargeRowsBucket:
    """A folder of a bucket, `gs://bucket/folder`."""

    def __init__(self, folder: str, objects: ObjectStore) -> None:
        self._folder = check_folder(folder)
        self._objects = objects

    def put(self, name: str, data: bytes) -> str:
        address = f"{self._folder}/{name}"
        self._objects.write(address, data)
        return address

    def problems(self, who: str) -> list[str]:
        return [f"large rows: {problem}" for problem in self._objects.folder_problems(self._folder, who)]


def large_rows_at(address: str | None, objects: ObjectStore) -> LargeRows:
    """Return where large rows go: a bucket's folder, a folder of this machine (`file://` or a path), or nowhere."""
    if address is None:
        return NoLargeRows()
    if address.startswith("gs://"):
        return LargeRowsBucket(address, objects)
    return LargeRowsFolder(Path(unquote(address.removeprefix("file://")) if address.startswith("file://") else address))
