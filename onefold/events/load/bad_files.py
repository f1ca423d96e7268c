"""The files of bad rows that no run has read again: those of finished runs that no manifest lists as an input."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from onefold.core.errors import InvalidInput, NotFound
from onefold.events.load.runs import FolderRuns, RunObjects
from onefold.events.shred.manifest import MANIFEST
from onefold.events.shred.runs import BAD, COMMIT, COMMITS, KEPT, RunForm, form_of, inputs_of
from onefold.ports.objects import FileLister, FileReader

_READERS = 16


class BadObjects(RunObjects, FileLister, FileReader, Protocol):
    """The objects of a folder of runs, and the files in its folders."""


class BadFile(NamedTuple):
    """A file of bad rows: the folder of its run, without that of the runs, the address of its own folder, and its name."""

    run: str
    folder: str
    name: str

    @property
    def address(self) -> str:
        """The address of the file."""
        return f"{self.folder}/{self.name}"


@dataclass(frozen=True)
class BadFiles:
    """The bad rows of the runs below one folder.

    Attributes:
        address: the folder of the runs, as `runs_address` returns it.
        objects: reads its objects.
    """

    address: str
    objects: BadObjects

    def waiting(self, names: Collection[str] = ()) -> list[BadFile]:
        """Return the files of bad rows that no run has read, those of the oldest run first, and of kept entities.

        Bad rows of a run without a manifest do not count: its inputs are read again. The folder of a run whose kept entities
        were taken from the table of unknown entities may be gone.

        Args:
            names: the names of runs, `2026-11-23-08-00-00`; empty for all.

        Raises:
            InvalidInput: there is no such folder or run, or a manifest cannot be read.
        """
        runs = FolderRuns(self.address, self.objects).list()
        if unknown := sorted({f"{self.address}/run={name}" for name in names} - set(runs)):
            raise InvalidInput([f"there is no run {run}: correct its name" for run in unknown])
        with ThreadPoolExecutor(_READERS) as pool:
            inputs = dict(zip(runs, pool.map(self._inputs, runs), strict=True))
            commits = list(pool.map(self._commit, self._files(f"{self.address}/{COMMITS}")))
            chosen = [run for run in runs if inputs[run] is not None and (not names or run.rpartition("run=")[2] in names)]
            listed = list(pool.map(lambda run: self._files(f"{run}/{BAD}"), chosen))
        taken = {_one_form(place) for found in (*inputs.values(), *commits) for place in found or ()}
        files = [
            BadFile(run.rpartition("/")[2], f"{run}/{BAD}", name)
            for run, found in zip(chosen, listed, strict=True)
            for name in sorted(found)
        ]
        files += [file for file in self._kept() if not names or file.run.removeprefix("run=") in names]
        return [file for file in files if not file.name.startswith((".", "_")) and file.address not in taken]

    def forms(self) -> list[RunForm]:
        """Return how the finished runs were written, those of the oldest first.

        Raises:
            InvalidInput: a manifest cannot be read.
        """
        with ThreadPoolExecutor(_READERS) as pool:
            return list(filter(None, pool.map(self._form, FolderRuns(self.address, self.objects).list())))

    def lines(self, file: BadFile) -> Iterator[str]:
        """Yield the bad rows of a file, each as a line of JSON.

        Raises:
            NotFound: the file is gone.
            TryAgain: the store does not answer.
        """
        for line in self.objects.read_file(_path(file.address)).split(b"\n"):
            yield line.decode(errors="replace")

    def _kept(self) -> Iterator[BadFile]:
        for path in sorted(self._files(f"{self.address}/{KEPT}")):
            run, _, name = path.partition("/")
            if name:
                yield BadFile(run, f"{self.address}/{KEPT}/{run}", name)

    def _files(self, folder: str) -> list[str]:
        try:
            return self.objects.list_files(_path(folder))
        except NotFound:  # a run without bad rows, or none that has finished
            return []

    def _inputs(self, run: str) -> tuple[str, ...] | None:
        place = f"{run}/{MANIFEST}"
        found = self.objects.find(_path(place))
        return inputs_of(found.data.decode(), place) if found else None

    def _form(self, run: str) -> RunForm | None:
        place = f"{run}/{MANIFEST}"
        found = self.objects.find(_path(place))
        return form_of(found.data.decode(), place) if found else None

    def _commit(self, name: str) -> tuple[str, ...]:
        if not COMMIT.fullmatch(name):  # a checksum of Hadoop, or a file that is being written
            return ()
        place = f"{self.address}/{COMMITS}/{name}"
        return inputs_of(self.objects.read_file(_path(place)).decode(), place)


def _path(address: str) -> str:
    return address.removeprefix("file://")


def _one_form(address: str) -> str:
    """Return an input in the form in which runs have their addresses: Hadoop writes file:/folder.

    Examples:
        >>> _one_form("file:/lake/run=1/bad/part-0.json"), _one_form("gs://lake/a")
        ('file:///lake/run=1/bad/part-0.json', 'gs://lake/a')
    """
    return re.sub("^file:/+", "file:///", address)
