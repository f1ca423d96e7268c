"""Where a check asks a running capture for copies of tables: a folder next to the checkpoint, with a file for each request.

A request stays until the checkpoint has it. So it is carried out at least once, and a second copy changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from onefold.core.errors import NotFound
from onefold.mysql.catalog import TableName
from onefold.ports.objects import NEW, FileLister, ObjectStore, check_folder

FOLDER = "copies"
"""The folder below that of the checkpoint. Rights are granted by this name (infra/captures_checks.tf)."""


@dataclass(frozen=True)
class PostedCopy:
    """A request for a copy.

    Attributes:
        name: the name of its file.
        table: the table; None where the file is no request.
    """

    name: str
    table: TableName | None


class CopyMailbox(Protocol):
    """Requests for copies of the tables of one source."""

    def post(self, tables: Iterable[TableName]) -> None:
        """Ask for copies of tables.

        Raises:
            TryAgain: an error that may pass.
            Rejected: the folder cannot be written.
        """

    def read(self) -> Sequence[PostedCopy]:
        """Return all requests.

        Raises:
            TryAgain: an error that may pass.
            Rejected: the folder cannot be read.
        """

    def remove(self, names: Iterable[str]) -> None:
        """Remove requests. One that is not there is no error.

        Raises:
            TryAgain: an error that may pass.
            Rejected: a request cannot be removed.
        """


class NoMailbox:
    """A mailbox that nobody writes to."""

    def post(self, tables: Iterable[TableName]) -> None:
        """Ask for nothing."""

    def read(self) -> Sequence[PostedCopy]:
        """Return no request."""
        return ()

    def remove(self, names: Iterable[str]) -> None:
        """Remove nothing."""


class FolderMailbox:
    """A folder of this machine."""

    def __init__(self, checkpoint: Path) -> None:
        self._folder = checkpoint / FOLDER

    def post(self, tables: Iterable[TableName]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for table in tables:
            new = self._folder / f"{uuid.uuid4().hex}.new"
            new.write_bytes(_to_json(table))
            new.replace(self._folder / _name(table))

    def read(self) -> Sequence[PostedCopy]:
        return [PostedCopy(path.name, _from_json(path.read_bytes())) for path in sorted(self._folder.glob("*.json"))]

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)


class MailboxObjects(ObjectStore, FileLister, Protocol):
    """The objects of a bucket, which can be listed and deleted."""

    def delete(self, address: str) -> None:
        """Delete an object. One that is not there is no error.

        Raises:
            TryAgain: the store does not answer; try again later.
            Rejected: the store refuses, and a retry does not help.
        """


class BucketMailbox:
    """A folder of a bucket. Names are new ones, so that who posts needs no right but that to create objects."""

    def __init__(self, checkpoint: str, objects: MailboxObjects) -> None:
        self._folder = f"{check_folder(checkpoint)}/{FOLDER}"
        self._objects = objects

    def post(self, tables: Iterable[TableName]) -> None:
        for table in tables:
            name = f"{uuid.uuid4().hex}-{_name(table)}"
            self._objects.write(f"{self._folder}/{name}", _to_json(table), NEW)

    def read(self) -> Sequence[PostedCopy]:
        try:
            names = sorted(self._objects.list_files(self._folder))
        except NotFound:
            return ()
        found = ((name, self._objects.find(f"{self._folder}/{name}")) for name in names)
        return [PostedCopy(name, _from_json(stored.data)) for name, stored in found if stored]

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._objects.delete(f"{self._folder}/{name}")


def open_mailbox(checkpoint: str, objects: MailboxObjects) -> CopyMailbox:
    """Return the mailbox of a checkpoint: `gs://bucket/folder` among the objects, or a folder of this machine."""
    return BucketMailbox(checkpoint, objects) if checkpoint.startswith("gs://") else FolderMailbox(Path(checkpoint))


def _name(table: TableName) -> str:
    return f"{hashlib.sha256(_to_json(table)).hexdigest()[:32]}.json"


def _to_json(table: TableName) -> bytes:
    return json.dumps({"database": table.database, "table": table.table}).encode()


def _from_json(data: bytes) -> TableName | None:
    try:
        content = json.loads(data)
    except ValueError:
        return None
    if not isinstance(content, dict):
        return None
    database, table = content.get("database"), content.get("table")
    return TableName(database, table) if isinstance(database, str) and isinstance(table, str) else None
