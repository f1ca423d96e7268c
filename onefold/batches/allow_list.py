"""What a job that a message asks for may read and write: datasets of our project, and folders below those allowed."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.batches.arguments import Uri
from onefold.core.names import TableId
from onefold.settings.batches import FOLDER, BatchSettings


@dataclass(frozen=True)
class AllowList:
    project: str
    datasets: frozenset[str] | None
    """None is all of the project."""
    settings: BatchSettings

    def problems_of(self, uri: Uri, written: bool) -> list[str]:
        return self._problems_of_table(uri.table) if uri.table else self._problems_of_folder(uri.text, written)

    def problems_of_dataset(self, dataset: str | None) -> list[str]:
        if self.datasets is None or dataset in self.datasets:
            return []
        return [f"dataset {dataset} is not among ONEFOLD_DATASETS"]

    def _problems_of_table(self, table: TableId) -> list[str]:
        problems = self.problems_of_dataset(table.dataset)
        if table.project not in (None, self.project):
            problems.append(f"{table}: project {table.project} is not {self.project}, in which batches run")
        return problems

    def _problems_of_folder(self, folder: str, written: bool) -> list[str]:
        if not FOLDER.fullmatch(folder) or ".." in folder.split("/") or "." in folder.split("/"):
            return [f"{folder!r} is no folder that a batch may use: write gs://bucket/folder, without * ? {{ }} or `..`"]
        allowed = self.settings.folders
        # A job may begin its output anew, so that what is written is never all of an allowed folder, or of a bucket.
        if not any(is_within(folder, parent) and not (written and is_within(parent, folder)) for parent in allowed):
            inside = "inside" if written else "in"
            return [f"{folder} is not {inside} a folder of ONEFOLD_BATCH_FOLDERS ({', '.join(allowed) or 'none is set'})"]
        code = self.settings.code
        if written and code and (is_within(folder, code) or is_within(code, folder)):
            return [f"{folder} holds the code of the jobs (ONEFOLD_BATCH_CODE): name another output"]
        return []


def is_within(folder: str, parent: str) -> bool:
    """Whether a folder is, or lies below, another one: by whole segments, so that `gs://b/ab` is not within `gs://b/a`."""
    segments = folder.rstrip("/").split("/")
    above = parent.rstrip("/").split("/")
    return segments[: len(above)] == above
