"""What a job that a message asks for may read and write: datasets of the own project, and folders below allowed folders."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from onefold.batches.shred_arguments import ShredArguments
from onefold.batches.values import Uri
from onefold.core.names import TableId
from onefold.core.text import shown_list
from onefold.settings.batches import FOLDER, PLACE, BatchSettings


@dataclass(frozen=True)
class AllowList:
    """The tables and folders that a job may use.

    project: the project in which batches run.
    datasets: the datasets that a job may use; None for all of the project.
    settings: the allowed folders, and the folder with the code of the jobs.
    registry: the address of the registry of the settings, which a job may read wherever it is.
    """

    project: str
    datasets: frozenset[str] | None
    settings: BatchSettings
    registry: str | None = None

    def problems_of(self, uri: Uri, written: bool) -> list[str]:
        """Return why a job may not use a table or a folder; nothing where it may.

        Args:
            uri: the table or folder.
            written: whether the job would write it.
        """
        return self._problems_of_table(uri.table) if uri.table else self._problems_of_folder(uri.text, written)

    def problems_of_dataset(self, dataset: str | None) -> list[str]:
        """Return why a job may not use a dataset; nothing where it may."""
        if self.datasets is None or dataset in self.datasets:
            return []
        return [f"dataset {dataset} is not among ONEFOLD_DATASETS: add it there"]

    def problems_of_shred(self, arguments: ShredArguments) -> list[str]:
        """Return why a job may not shred these events into this folder by this registry; nothing where it may."""
        problems = [problem for place in arguments.events for problem in self._problems_of_events(place)]
        problems += [one for place in arguments.registry for one in self._problems_of_registry(place.rstrip("/"))]
        # A run deletes no folder but that of a run, so the output may be an allowed folder.
        if arguments.continuous is not None:
            problems.append("--continuous is for a cluster of your own, a batch has an end: start batches by a schedule")
        return [
            *problems,
            *self._problems_of_place(arguments.output, written=False),
            *self._problems_of_code(arguments.output),
        ]

    def _problems_of_registry(self, place: str) -> list[str]:
        """Return why a job may not read a registry; a resolver's file could name secrets, and servers to send them to."""
        if place == self.registry:
            return []
        if place.endswith(".json") and place not in self.settings.folders:
            return [f"{place} is a resolver's file: name it in ONEFOLD_REGISTRY or ONEFOLD_BATCH_FOLDERS"]
        return self._problems_of_place(place, written=False)

    def _problems_of_events(self, place: str) -> list[str]:
        """Return why a job may not read events; `*` and `?` match within a name, so they never leave their folder."""
        folder = "/".join(itertools.takewhile(lambda part: "*" not in part and "?" not in part, place.split("/")))
        return self._problems_of_place(folder, written=False) or self._problems_of_form(re.sub("[*?]", "x", place), place)

    def _problems_of_place(self, place: str, *, written: bool) -> list[str]:
        return self._problems_of_form(place, place) or self._problems_of_allowed(place, written)

    def _problems_of_form(self, text: str, place: str) -> list[str]:
        if not PLACE.fullmatch(text) or {".", ".."} & set(text.split("/")):
            return [f"{place!r} is no folder that a batch may use: write gs://bucket/folder or s3://bucket/folder"]
        return []

    def _problems_of_table(self, table: TableId) -> list[str]:
        problems = self.problems_of_dataset(table.dataset)
        if table.project not in (None, self.project):
            problems.append(f"{table}: project {table.project} is not {self.project}, in which batches run")
        return problems

    def _problems_of_folder(self, folder: str, written: bool) -> list[str]:
        if not FOLDER.fullmatch(folder) or ".." in folder.split("/") or "." in folder.split("/"):
            return [f"{folder!r} is no folder that a batch may use: write gs://bucket/folder, without * ? {{ }} or `..`"]
        return self._problems_of_allowed(folder, written)

    def _problems_of_allowed(self, folder: str, written: bool) -> list[str]:
        allowed = self.settings.folders
        # A job may delete its output to begin anew, so its output is never a whole allowed folder or a whole bucket.
        if not any(is_within(folder, parent) and not (written and is_within(parent, folder)) for parent in allowed):
            inside = "inside" if written else "in"
            return [
                f"{folder} is not {inside} a folder of ONEFOLD_BATCH_FOLDERS "
                f"({shown_list(allowed) or 'none is set'}): name one in it"
            ]
        return self._problems_of_code(folder) if written else []

    def _problems_of_code(self, folder: str) -> list[str]:
        code = self.settings.code
        if code and (is_within(folder, code) or is_within(code, folder)):
            return [f"{folder} holds the code of the jobs (ONEFOLD_BATCH_CODE): name another output"]
        return []


def is_within(folder: str, parent: str) -> bool:
    """Return whether a folder is the other one or lies below it, by whole segments of the path.

    Examples:
        >>> is_within("gs://b/a/c", "gs://b/a"), is_within("gs://b/ab", "gs://b/a")
        (True, False)
    """
    segments = folder.rstrip("/").split("/")
    above = parent.rstrip("/").split("/")
    return segments[: len(above)] == above
