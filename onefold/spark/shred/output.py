"""The output folder of the shredder: its runs, and the order in which they finished.

    OUTPUT/_commits/0000000001.json                    a manifest, created only where no other run has the number
    OUTPUT/_set_aside/0f0b3ce0....json                 a file of events that cannot be read
    OUTPUT/run=2026-11-23-08-00-00/_started            created by the run that takes the name
    OUTPUT/run=2026-11-23-08-00-00/shredding_complete.json

A run reads the last number at its start, before the manifests. At its end it creates the next number. If another run has
created it meanwhile, and has read one of the same files, the later run gives way. So no file is in two manifests.

What was read is known from `_commits`: a bucket may delete the folders of old runs, their manifests included. Manifests that
`_commits` does not have count as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from onefold.core.errors import TryAgain
from onefold.events.shred.manifest import MANIFEST, RunManifest, run_folder
from onefold.events.shred.runs import (
    COMMIT,
    COMMITS,
    IDS,
    STARTED,
    Commit,
    ShredRuns,
    inputs_of,
    manifest_path,
    parse_commit,
    run_name,
    run_of,
)
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.new_file import create_file
from onefold.spark.shred.files import check_no_ids_lost
from onefold.spark.shred.places import hadoop_address
from onefold.spark.shred.quarantine import Quarantine

_READERS = 16


class InputsTaken(TryAgain):
    """Another run has read some of the same files, and finished first."""


class Output:
    """The output folder of the shredder."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self._spark = spark
        self.folder = Folder(spark, hadoop_address(address))
        self._number = 0
        self.runs = ShredRuns(frozenset(), frozenset())
        self._commits: Mapping[str, Commit] = {}
        self.quarantine = Quarantine(spark, self.folder.uri)

    def read(self) -> frozenset[str]:
        """Read the runs, finish what a killed run has left to do, and return the files that finished runs have read.

        Raises:
            InvalidInput: a manifest cannot be read.
        """
        self._commits = self._committed()
        names = [run for name in self.folder.children() if (run := run_of(name))]
        with ThreadPoolExecutor(_READERS) as pool:
            inputs = dict(zip(names, pool.map(self._inputs_of, names), strict=True))
        finished = {run: found for run, found in inputs.items() if found is not None}
        self.runs = ShredRuns(frozenset(finished), frozenset(inputs) - frozenset(finished))
        known = (commit.inputs for commit in self._commits.values())
        return frozenset(address for found in (*known, *finished.values()) for address in found)

    def reasons_since(self, time: datetime) -> frozenset[str]:
        """Return the reasons of the bad rows of all finished runs that began at a time or later."""
        return frozenset().union(*(one.reasons for one in self._commits.values() if one.run >= run_name(time)))

    def ids_since(self, time: datetime) -> dict[str, int]:
        """Return the folders of the ids of the runs that began at a time or later and keep some, each with their number.

        Raises:
            InvalidInput: the ids of a run are gone, and its manifest is there.
        """
        kept = {one.run: one.ids for one in self._commits.values() if one.ids and one.run >= run_name(time)}
        folders = {self.run_folder(run): ids for run, ids in sorted(kept.items()) if run in self.runs.finished}
        with ThreadPoolExecutor(_READERS) as pool:
            there = list(pool.map(lambda folder: folder.has(IDS), folders))
        check_no_ids_lost([folder.uri for folder, has_ids in zip(folders, there, strict=True) if not has_ids])
        return {f"{folder.uri}/{IDS}": ids for folder, ids in folders.items()}

    def late(self, now: datetime) -> list[str]:
        """Return the runs that have had no manifest for an hour. What no run has started is somebody else's."""
        return [run for run in self.runs.late(now) if self.run_folder(run).has(STARTED)]

    def _committed(self) -> Mapping[str, Commit]:
        """Return the commit of each finished run; finish the run of the last one."""
        numbers = [int(match[1]) for name in self._below(COMMITS).children() if (match := COMMIT.fullmatch(name))]
        self._number = max(numbers, default=0)
        with ThreadPoolExecutor(_READERS) as pool:
            commits = dict(zip(numbers, pool.map(self._commit, numbers), strict=True))
        if self._number:
            self._finish(commits[self._number])
        return {commit.run: commit for commit in commits.values()}

    def start(self, now: datetime) -> str:
        """Create the folder of a new run, and return its name: the time, or the next second that no run has."""
        while True:
            run = run_name(now)
            content = json.dumps({"started_at": datetime.now(UTC).isoformat()}) + "\n"
            if run not in self.runs.finished | self.runs.unfinished and self._create(
                f"{run_folder(run)}/{STARTED}", content
            ):
                return run
            now += timedelta(seconds=1)

    def run_folder(self, run: str) -> Folder:
        """Return the folder of a run."""
        return self._below(run_folder(run))

    def finish(self, manifest: RunManifest) -> None:
        """Write the manifest of a run, unless another run has read some of its files, or may have the same events.

        Raises:
            InputsTaken: another run was faster. The files of this run are removed.
        """
        text = manifest.to_json()
        while not self._create(_commit_path(self._number + 1), text):
            self._number += 1
            other = self._commit(self._number)
            taken = sorted(set(other.inputs) & set(manifest.inputs))
            self._finish(other)
            if taken or manifest.duplicates:
                self.remove(manifest.run)
                what = f"has read {taken[0]}" if taken else "has finished, with whose events this one was not compared,"
                raise InputsTaken(
                    f"{self.folder.uri}: another run {what} meanwhile, so run {manifest.run} was removed: "
                    "start the job again for the files that are left"
                )
        self.folder.write(manifest_path(manifest.run), text)

    def abandoned(self, now: datetime) -> list[str]:
        """Return the unfinished runs that nobody can be working on any more. What no run has started is somebody else's."""
        return [run for run in self.runs.abandoned(now) if self.run_folder(run).has(STARTED)]

    def remove(self, run: str) -> None:
        """Remove a run without a manifest."""
        self.folder.remove(run_folder(run))

    def _finish(self, commit: Commit) -> None:
        """Write the manifest that a run was about to write when it was killed."""
        folder = self.run_folder(commit.run)
        if folder.has(STARTED) and not folder.has(MANIFEST):
            folder.write(MANIFEST, commit.text)

    def _commit(self, number: int) -> Commit:
        """Return the manifest that a run has committed.

        Raises:
            InvalidInput: the file is not a manifest.
        """
        path = _commit_path(number)
        return parse_commit(self.folder.read(path), f"{self.folder.uri}/{path}")

    def _inputs_of(self, run: str) -> tuple[str, ...] | None:
        """Return the files that a run has read; None for a run without a manifest."""
        path = manifest_path(run)
        if not self.folder.has(path):
            return None
        commit = self._commits.get(run)
        return commit.inputs if commit else inputs_of(self.folder.read(path), f"{self.folder.uri}/{path}")

    def _create(self, path: str, text: str) -> bool:
        return create_file(self._spark, self.folder.uri, path, text)

    def _below(self, name: str) -> Folder:
        return Folder(self._spark, f"{self.folder.uri}/{name}")


def _commit_path(number: int) -> str:
    return f"{COMMITS}/{number:010}.json"
