"""Runs of the shredder by name, and the files that they take."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

from onefold.core.errors import InvalidInput
from onefold.core.shred_options import FORMATS_OF, FileFormat, Warehouse, implied_warehouse
from onefold.events.shred.counts import EVENTS
from onefold.events.shred.manifest import MANIFEST, run_folder

Value = TypeVar("Value")
_NESTED = ("STRUCT<", "ARRAY<STRUCT<")
"""The beginning of the types of wide columns."""
_NAME = "%Y-%m-%d-%H-%M-%S"
_RUN = re.compile(r"run=([0-9]{4}(?:-[0-9]{2}){5})(?:/(.+))?")
COMMIT = re.compile(r"([0-9]{10})\.json")
"""The name of a file of `_commits`, which is its number."""
BAD = "bad"
"""The folder of bad rows in the folder of a run."""
KEPT = "kept"
"""The folder of entities that were taken from the table of unknown entities, below the output folder."""
COMMITS = "_commits"
"""The folder of the manifests in the order in which their runs finished, below the output folder."""
IDS = "event_ids"
"""The folder of the ids and fingerprints of its events."""
STARTED = "_started"
"""The file by whose creation a run takes its name."""
ABANDONED_AFTER = timedelta(days=15)
"""The age at which a run without a manifest is removed. Dataproc ends a batch after 14 days at most."""

LATE_AFTER = timedelta(hours=1)
"""The age at which a run without a manifest is an alarm."""


@dataclass(frozen=True)
class Commit:
    """A file of `_commits`: the manifest of a run, of which only this is read.

    Attributes:
        run: the name of the run.
        inputs: the files that it has read.
        reasons: the reasons of its bad rows.
        ids: how many ids of events it keeps.
        text: the manifest.
    """

    run: str
    inputs: tuple[str, ...]
    reasons: frozenset[str]
    ids: int
    text: str


class RunForm(NamedTuple):
    """How a run was written: for which warehouse, in which format, with wide columns, and with which window."""

    warehouse: Warehouse
    format: FileFormat
    is_wide: bool
    window_days: int


@dataclass(frozen=True)
class ShredRuns:
    """The runs below an output folder, by name.

    Attributes:
        finished: those with a manifest.
        unfinished: those without one: killed, or still at work.
    """

    finished: frozenset[str]
    unfinished: frozenset[str]

    def abandoned(self, now: datetime) -> list[str]:
        """Return the unfinished runs that nobody can be working on any more."""
        return sorted(run for run in self.unfinished if run < run_name(now - ABANDONED_AFTER))

    def late(self, now: datetime) -> list[str]:
        """Return the unfinished runs that began an hour ago or earlier, and have not been followed by a finished one.

        A finished run that began an hour after another one, or later, has read its files, so it is late no more.

        Examples:
            >>> at = datetime(2026, 11, 23, 10, tzinfo=UTC)
            >>> ShredRuns(frozenset(), frozenset({"2026-11-23-09-00-00", "2026-11-23-09-00-01"})).late(at)
            ['2026-11-23-09-00-00']
            >>> ShredRuns(frozenset({"2026-11-23-10-00-00"}), frozenset({"2026-11-23-09-00-00"})).late(at)
            []
        """
        read_until = run_name(start_of(max(self.finished)) - LATE_AFTER) if self.finished else ""
        return sorted(run for run in self.unfinished if read_until < run <= run_name(now - LATE_AFTER))


def run_name(at: datetime) -> str:
    """Return the name of a run that starts at a time.

    Examples:
        >>> run_name(datetime(2026, 11, 23, 8, 0, 0, tzinfo=UTC))
        '2026-11-23-08-00-00'
    """
    return at.astimezone(UTC).strftime(_NAME)


def start_of(run: str) -> datetime:
    """Return the time that the name of a run says.

    Examples:
        >>> start_of("2026-11-23-08-00-00").isoformat()
        '2026-11-23T08:00:00+00:00'
    """
    return datetime.strptime(run, _NAME).replace(tzinfo=UTC)


def run_of(folder: str) -> str | None:
    """Return the name of the run that a folder belongs to; None for other folders.

    Examples:
        >>> run_of("run=2026-11-23-08-00-00"), run_of("_commits")
        ('2026-11-23-08-00-00', None)
    """
    match = _RUN.fullmatch(folder)
    return match[1] if match and match[2] is None else None


def manifest_path(run: str) -> str:
    """Return the path of a run's manifest below the output folder."""
    return f"{run_folder(run)}/{MANIFEST}"


def inputs_of(text: str, place: str) -> tuple[str, ...]:
    """Return the files that a manifest lists as read, whatever version of the algorithm wrote the manifest.

    Args:
        text: the manifest.
        place: its address, for errors.

    Raises:
        InvalidInput: the text is not a manifest.
    """
    try:
        inputs = json.loads(text)["inputs"]
    except (ValueError, KeyError, TypeError, RecursionError):
        inputs = None
    if not isinstance(inputs, list) or not all(isinstance(one, str) for one in inputs):
        raise InvalidInput(
            f"{place} is not a manifest, so it is unknown which files were read: restore it, or remove its run"
        )
    return tuple(inputs)


def form_of(text: str, place: str) -> RunForm:
    """Return how a manifest says that its run was written.

    Args:
        text: the manifest.
        place: its address, for errors.

    Raises:
        InvalidInput: the text is not a manifest.
    """
    try:
        found = json.loads(text)
        warehouse = found.get("warehouse") or implied_warehouse(found["format"])
        types = [type_ for table in found["tables"] if table["name"] == EVENTS for _, type_ in table["columns"]]
        is_wide = any(type_.startswith(_NESTED) for type_ in types)
        form = RunForm(warehouse, found["format"], is_wide, found.get("duplicates", {}).get("window_days", 0))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        form = None
    if form is None or form.format not in FORMATS_OF.get(form.warehouse, ()) or type(form.window_days) is not int:
        raise InvalidInput(
            f"{place} is no manifest, so it is unknown how its run was written: restore it, or remove the run"
        )
    return form


def parse_commit(text: str, place: str) -> Commit:
    """Return what a file of `_commits` says.

    Args:
        text: the content of the file.
        place: its address, for errors.

    Raises:
        InvalidInput: another program has written or changed the file.
    """
    try:
        found = json.loads(text)
        run, reasons = found["run"], frozenset(found.get("reasons", ()))
        ids = found.get("duplicates", {}).get("ids", 0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        run = None
    if not isinstance(run, str) or run_of(run_folder(run)) is None:
        raise InvalidInput(f"{place} is not the manifest of a run: restore it, or remove it if no run has written it")
    return Commit(run, inputs_of(text, place), reasons, ids, text)


def not_taken(found: Mapping[str, Value], taken: Collection[str]) -> dict[str, Value]:
    """Return the files that no manifest lists, with what is known of them.

    Examples:
        >>> not_taken({"gs://in/a": 1, "gs://in/b": 2}, {"gs://in/a"})
        {'gs://in/b': 2}
    """
    known = frozenset(taken)
    return {address: found[address] for address in sorted(found) if address not in known}


def is_unfinished(path: str, finished: Collection[str]) -> bool:
    """Return whether a file below the output folder is one of the bad rows of a run without a manifest.

    Args:
        path: the path below the output folder.
        finished: the names of the finished runs.

    Examples:
        >>> is_unfinished("run=2026-11-23-08-00-00/bad/part-0.json", ()), is_unfinished("kept/a.json", ())
        (True, False)
    """
    match = _RUN.fullmatch(path)
    return match is not None and (match[2] or "").startswith(f"{BAD}/") and match[1] not in finished


def problems_of_input(path: str, finished: Collection[str]) -> str | None:
    """Return why a file below the output folder cannot be an input; None for bad rows of a finished run and kept entities.

    Args:
        path: the path below the output folder.
        finished: the names of the finished runs.

    Examples:
        >>> problems_of_input("run=2026-11-23-08-00-00/bad/part-0.json", {"2026-11-23-08-00-00"})
        >>> problems_of_input("kept/run=2026-11-23-08-00-00/0f0b-00000.json", ())
        >>> problems_of_input("run=2026-11-23-08-00-00/events/part-0", ())
        'holds rows of a run: name its folder bad, or other events'
    """
    if path.startswith(f"{KEPT}/"):
        return None
    match = _RUN.fullmatch(path)
    if match is None or not (match[2] or "").startswith(f"{BAD}/"):
        return "holds rows of a run: name its folder bad, or other events"
    return (
        None if match[1] in finished else "belongs to a run that is not finished, whose inputs are read again: leave it out"
    )
