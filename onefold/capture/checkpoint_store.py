"""Where a checkpoint lies: in a folder of this machine, or in a bucket. Two processes on one keep each other out."""

from __future__ import annotations

import fcntl
import os
import uuid
from pathlib import Path
from typing import IO, Protocol

from onefold.capture.checkpoint import Checkpoint, from_json, to_json
from onefold.core.errors import Rejected
from onefold.core.folders import local_folder_problems
from onefold.ports.objects import NEW, ObjectChanged, ObjectStore, check_folder

_NAME = "checkpoint.json"
_TAKEN = "each source needs one checkpoint and one process; end the other one, or name another checkpoint"


class CheckpointStore(Protocol):
    def load(self) -> Checkpoint | None:
        """The checkpoint, which is ours from now on; None where there is none yet. Raises Rejected, TryAgain."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace it whole. Raises Rejected where it belongs to another process, and TryAgain."""

    def close(self) -> None:
        """Leave it to the next process."""


class InspectableCheckpointStore(CheckpointStore, Protocol):
    """A store that can be looked at before it is used."""

    def problems(self, who: str) -> list[str]:
        """Return what keeps a checkpoint from being written, each with its remedy. Writes nothing. Raises TryAgain."""

    def peek(self) -> Checkpoint | None:
        """Read the checkpoint, and leave it to whoever it belongs to. Raises as `load` does."""


class FolderStore:
    """A file that is replaced by renaming, and a lock for as long as the process lives: the first one has it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _NAME
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
    """An object that is written only if it is still the one that was read or written last: the latest process has it."""

    def __init__(self, address: str, objects: ObjectStore) -> None:
        self._folder = check_folder(address)
        self._address = f"{self._folder}/{_NAME}"
        self._objects = objects
        self._generation = NEW
        self._writer = f',"writer":"{uuid.uuid4().hex}"}}'.encode()

    def load(self) -> Checkpoint | None:
        found = self._objects.find(self._address)
        if found is None:
            return None
        self._generation = found.generation
        checkpoint = from_json(found.data)
        # Written at once: so another process that still works on it is kept out from here on.
        self.save(checkpoint)
        return checkpoint

    def save(self, checkpoint: Checkpoint) -> None:
        data = to_json(checkpoint)[:-1] + self._writer
        try:
            self._generation = self._objects.write(self._address, data, self._generation)
        except ObjectChanged as error:
            self._generation = self._objects.write(self._address, data, self._own_generation(error))

    def _own_generation(self, error: Rejected) -> int:
        """The answer to an earlier writing may have been lost: then what lies there is ours all the same."""
        found = self._objects.find(self._address)
        if found is None or not found.data.endswith(self._writer):
            raise Rejected(f"{error}: {_TAKEN}") from error
        return found.generation

    def problems(self, who: str) -> list[str]:
        return [f"checkpoint: {problem}" for problem in self._objects.folder_problems(self._folder, who)]

    def peek(self) -> Checkpoint | None:
        found = self._objects.find(self._address)
        return from_json(found.data) if found else None

    def close(self) -> None:
        """Nothing is held: the next process takes it over by writing it."""


def store_at(address: str, objects: ObjectStore) -> InspectableCheckpointStore:
    """Return the store of an address: `gs://bucket/folder` among the objects, or a folder of this machine."""
    return BucketStore(address, objects) if address.startswith("gs://") else FolderStore(Path(address))


def _locked(path: Path) -> IO[bytes]:
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise Rejected(f"another process works with the checkpoint in {path.parent}: {_TAKEN}") from error
    return file


def _sync_folder(folder: Path) -> None:
    """So that the new name survives a crash of the machine, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
