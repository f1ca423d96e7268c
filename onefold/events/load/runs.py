"""The folder of the runs of a shredder: which runs are complete, and their manifests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from onefold.core.errors import InvalidInput, NotFound
from onefold.events.shred.manifest import MANIFEST, RunManifest, ShreddedTable, parse_manifest, run_folder
from onefold.events.shred.runs import run_of, start_of
from onefold.ports.objects import FolderLister, ObjectFinder

_SCHEME = re.compile("[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_BUCKET = re.compile("(?:gs|s3)://[^/]")
_SINCE = re.compile("(?:[0-9]{4}(?:-[0-9]{2}){0,5})?")


class RunObjects(ObjectFinder, FolderLister, Protocol):
    """The objects of a folder of runs."""


@dataclass(frozen=True)
class FolderRuns:
    """The runs below one folder.

    Attributes:
        address: the folder, as `runs_address` returns it.
        objects: reads its objects.
        since: the name of the first run, or its beginning as `2026-11`; earlier ones are passed over. Empty for all runs.
    """

    address: str
    objects: RunObjects
    since: str = ""

    def __post_init__(self) -> None:
        """Check the first run.

        Raises:
            InvalidInput: it is no beginning of the name of a run.
        """
        if not _SINCE.fullmatch(self.since):
            expected = "expected the beginning of a run's name, as 2026-11 or 2026-11-23"
            raise InvalidInput(f"--since or ONEFOLD_EVENTS_SINCE {self.since!r}: {expected}")

    def list(self) -> list[str]:
        """Return the addresses of the folders of all runs, complete or not, the oldest first.

        Raises:
            InvalidInput: there is no such folder.
        """
        try:
            names = self.objects.list_folders(_read_address(self.address))
        except NotFound as error:
            raise InvalidInput(f"{self.address}: there is no such folder: name the --output of the shredder") from error
        first = run_folder(self.since)
        return [f"{self.address}/{name}" for name in sorted(names) if _is_run(name) and name >= first]

    def is_complete(self, run: str) -> bool:
        """Return whether a run has a manifest, valid or not."""
        return self.objects.find(_read_address(f"{run}/{MANIFEST}")) is not None

    def manifest(self, run: str) -> RunManifest | None:
        """Return the manifest of a run; None where the run is not complete.

        Args:
            run: the address of its folder.

        Raises:
            OtherAlgorithm: another version of the algorithm wrote the files.
            InvalidInput: the manifest is not valid, or it is that of another run.
        """
        place = f"{run}/{MANIFEST}"
        found = self.objects.find(_read_address(place))
        if found is None:
            return None
        manifest = parse_manifest(found.data, place)
        if not run.endswith(f"/{run_folder(manifest.run)}"):
            raise InvalidInput(f"{place} is the manifest of {run_folder(manifest.run)}: bring it back to its own folder")
        return manifest


def runs_address(text: str) -> str:
    """Return the address of a folder in the one form by which the manifest table knows its runs.

    Args:
        text: gs://BUCKET/FOLDER, s3://BUCKET/FOLDER, s3a://BUCKET/FOLDER, or a folder of this machine, also as file:/FOLDER.

    Examples:
        >>> runs_address("s3a://acme/shredded/"), runs_address("/tmp/../shredded"), runs_address("file:/tmp/runs")
        ('s3://acme/shredded', 'file:///shredded', 'file:///tmp/runs')

    Raises:
        InvalidInput: the address has another form.
    """
    address = re.sub("^s3[an]://", "s3://", text.strip()).rstrip("/")
    path = re.sub("^file:(?://)?(?=/(?!/))", "", address)
    if not _SCHEME.match(path):
        return f"file://{Path(path or '/').resolve()}"
    if not _BUCKET.match(address):
        raise InvalidInput(f"{text!r}: expected gs://BUCKET/FOLDER, s3://BUCKET/FOLDER or a folder of this machine")
    return address


def started_at(run: str) -> datetime:
    """Return when a run was begun, which its name says.

    Examples:
        >>> str(started_at("s3://acme/shredded/run=2026-11-23-08-00-00"))
        '2026-11-23 08:00:00+00:00'
    """
    return start_of(run.rpartition("/run=")[2])


def file_address(run: str, table: ShreddedTable, name: str) -> str:
    """Return the address of a file of rows.

    Args:
        run: the address of the folder of the run.
        table: the table.
        name: the name of the file.
    """
    return f"{run}/{table.folder}/{name}"


def _is_run(name: str) -> bool:
    try:
        return (run := run_of(name)) is not None and bool(start_of(run))
    except ValueError:  # no time has these numbers
        return False


def _read_address(address: str) -> str:
    return address.removeprefix("file://")
