"""Stores of checkpoints: a folder of this machine, or of a bucket. Only one process can work with a checkpoint."""

from __future__ import annotations

import fcntl
import os
import uuid
from pathlib import Path
from typing import IO, Protocol

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.checkpoint_json import from_json, to_json
from onefold.core.errors import Rejected
from onefold.core.folders import local_folder_problems
from onefold.ports.objects import CHECKPOINT_FILE, NEW, ObjectChanged, ObjectStore, check_folder

_IN_USE = "each source needs one checkpoint and one process; end the other one, or name another checkpoint"


class CheckpointStore(Protocol):
    """The store of the checkpoint of one source."""

    def load(self) -> Checkpoint | None:
        """Read the checkpoint, and reserve it for this process. Return None if there is none yet.

        Raises:
            InvalidInput: the document is not a checkpoint.
            Rejected: another process works with the checkpoint.
            TryAgain: an error that may pass.
        """

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint as a whole.

        Raises:
            Rejected: another process works with the checkpoint.
            TryAgain: an error that may pass.
        """

    def close(self) -> None:
        """Leave the checkpoint to the next process."""


class InspectableCheckpointStore(CheckpointStore, Protocol):
    """A store that can be checked before it is used."""

    def problems(self, who: str) -> list[str]:
        """Return what keeps a checkpoint from being written, each with its remedy, without writing anything.

        Raises:
            TryAgain: an error that may pass.
        """

    def peek(self) -> Checkpoint | None:
        """Read the checkpoint without reserving it. Return None if there is none yet.

        Raises:
            InvalidInput: the document is not a checkpoint.
            TryAgain: an error that may pass.
        """


class FolderStore:
    """A file that is replaced by renaming, with a lock of the operating system: the first process keeps it until it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / CHECKPOINT_FILE
        self._lock: IO[bytes] | None = None

    def load(self) -> Checkpoint | None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._lock is None:
            self._lock = _locked(self._folder / "lock")
        return self.peek()

    def save(self, checkpoint: Checkpoint) -> None:
        new = self._path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(to_json(checkpoint))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        _sync_folder(self._folder)

    def problems(self, who: str) -> list[str]:  # noqa: ARG002 rights are those of this machine's user
        return [f"checkpoint: {problem}" for problem in local_folder_problems(self._folder)]

    def peek(self) -> Checkpoint | None:
        return from_json(self._path.read_bytes()) if self._path.exists() else None

    def close(self) -> None:
        if self._lock:
            self._lock.close()
            self._lock = None


class BucketStore:
    """An object that is written only if nobody else has written it since: the process that loaded it last keeps it."""

    def __init__(self, address: str, objects: ObjectStore) -> None:
        self._folder = check_folder(address)
        self._address = f"{self._folder}/{CHECKPOINT_FILE}"
        self._objects = objects
        self._generation = NEW
        self._writer = f',"writer":"{uuid.uuid4().hex}"}}'.encode()

    def load(self) -> Checkpoint | None:
        found = self._objects.find(self._address)
        if found is None:
            return None
        self._generation = found.generation
        checkpoint = from_json(found.data)
        # Saving gives the object a new generation, so that an earlier process cannot save any more.
        self.save(checkpoint)
        return checkpoint

    def save(self, checkpoint: Checkpoint) -> None:
        data = to_json(checkpoint)[:-1] + self._writer
        try:
            self._generation = self._objects.write(self._address, data, self._generation)
        except ObjectChanged as error:
            self._generation = self._objects.write(self._address, data, self._own_generation(error))

    def _own_generation(self, error: Rejected) -> int:
        """Return the generation of the object if this process has written it and the answer was lost.

        Raises:
            Rejected: another process has written the object.
        """
        found = self._objects.find(self._address)
        if found is None or not found.data.endswith(self._writer):
            raise Rejected(f"{error}: {_IN_USE}") from error
        return found.generation

    def problems(self, who: str) -> list[str]:
        return [f"checkpoint: {problem}" for problem in self._objects.folder_problems(self._folder, who)]

    def peek(self) -> Checkpoint | None:
        found = self._objects.find(self._address)
        return from_json(found.data) if found else None

    def close(self) -> None:
        """Do nothing: the next process takes the object over by writing it."""


def open_checkpoint_store(address: str, objects: ObjectStore) -> InspectableCheckpointStore:
    """Return the store of an address: `gs://bucket/folder` among the objects, or a folder of this machine."""
    return BucketStore(address, objects) if address.startswith("gs://") else FolderStore(Path(address))


def _locked(path: Path) -> IO[bytes]:
    """Open and lock a file.

    Raises:
        Rejected: another process has locked the file.
    """
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise Rejected(f"another process works with the checkpoint in {path.parent}: {_IN_USE}") from error
    return file


def _sync_folder(folder: Path) -> None:
    """Write the new name to disk, so that it survives a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
