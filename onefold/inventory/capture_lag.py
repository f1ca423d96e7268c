"""How far captures are behind their sources, by the dataset that they write, as their checkpoints tell.

A checkpoint is read here without the code of capture: the function of pages has no client of MySQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onefold.core.errors import AccessDenied, InvalidInput, Rejected
from onefold.ports.objects import CHECKPOINT_FILE, ObjectFinder


@dataclass(frozen=True)
class CaptureLag:
    """The captures that write a dataset.

    Attributes:
        seconds: the lag of the one that is furthest behind; None where there is none, or one of them is not known.
        warnings: the checkpoints that do not tell it, and why.
    """

    seconds: int | None = None
    warnings: tuple[str, ...] = ()


NO_LAG = CaptureLag()


def read_lag(dataset: str, checkpoints: Sequence[str], objects_at: Callable[[str], ObjectFinder], now: float) -> CaptureLag:
    """Read the checkpoints of captures, of which those into other datasets do not count.

    Args:
        dataset: the dataset that captures write.
        checkpoints: the folders of the checkpoints: gs://BUCKET/FOLDER, or folders of this machine, also as file:///FOLDER.
        objects_at: returns the store of a folder.
        now: the present time, in seconds since 1970.

    Raises:
        TryAgain: an error that may pass.
    """
    found: list[int | None] = []
    warnings = []
    for folder in checkpoints:
        try:
            place = _place(folder)
            written, as_of = _dataset_and_time(objects_at(place), place)
        except (AccessDenied, InvalidInput, Rejected) as error:
            warnings.append(f"the page does not say how far a capture is behind its source: {error}")
            continue
        if written == dataset:
            found.append(None if as_of is None else max(0, int(now) - as_of))
    known = [lag for lag in found if lag is not None]
    return CaptureLag(max(known) if known and len(known) == len(found) and not warnings else None, tuple(warnings))


def _place(folder: str) -> str:
    """Return the address of the folder of a checkpoint, as captures take it.

    Raises:
        InvalidInput: no capture has a checkpoint there.
    """
    path = folder.removeprefix("file://")
    if not path.strip() or ("://" in path and not path.startswith("gs://")):
        raise InvalidInput(
            f"{folder!r} is no folder of a checkpoint: expected gs://BUCKET/FOLDER or a folder of this machine"
        )
    return path.rstrip("/") or "/"


def _dataset_and_time(objects: ObjectFinder, folder: str) -> tuple[str, int | None]:
    """Return the dataset that a capture writes, and the time up to which it has read; None while that is not known.

    Raises:
        InvalidInput: there is no checkpoint, or it cannot be read.
    """
    stored = objects.find(f"{folder.rstrip('/')}/{CHECKPOINT_FILE}")
    if stored is None:
        raise InvalidInput(f"there is no checkpoint in {folder}: name the folder of capture's --checkpoint, or start it")
    try:
        body = json.loads(stored.data)
        dataset, as_of = body["dataset"], body.get("as_of")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"the checkpoint in {folder} cannot be read: see `onefold capture status`") from error
    if not isinstance(dataset, str) or not (as_of is None or type(as_of) is int):
        raise InvalidInput(f"the checkpoint in {folder} has no dataset or no time: see `onefold capture status`")
    return dataset, as_of
