"""Tables over the files of runs, read where they are, and the views that unite them with loaded tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from onefold.ports.event_tables import Columns

RUN_COLUMN = "onefold_run"
"""The partition of an external table: the address of the folder of a run, as the manifest table of the loader names it."""
LISTS = "copy"
"""The folder of a run with the lists of its files: all that the loader writes to the bucket."""


@dataclass(frozen=True)
class ExternalTable:
    """A table over files.

    Attributes:
        name: its name, that of the table into which the files are loaded.
        columns: the columns of all runs; types as manifests spell them.
        location: the folder of the runs.
        is_filled: whether all runs that were finished when it was created have been added.
    """

    name: str
    columns: Columns
    location: str
    is_filled: bool = True


class ExternalCatalog(Protocol):
    """A catalogue of external tables. Each method may be repeated, and two processes may call them at the same time.

    Each method raises TryAgain for an error that may pass, and Rejected for one that a retry does not change.
    """

    def find(self, name: str) -> ExternalTable | None:
        """Return a table, with its columns but for its partition; None where there is no such table.

        Raises:
            NotFound: the catalogue does not exist.
            Rejected: somebody else made the table.
        """

    def create(self, table: ExternalTable) -> None:
        """Create a table without partitions; a table of this name stays as it is."""

    def change(self, table: ExternalTable) -> None:
        """Bring a table to other columns, or mark it as filled. What people have noted on it and its columns stays.

        Raises:
            TryAgain: somebody else has changed it since it was found.
        """

    def runs(self, name: str) -> frozenset[str]:
        """Return the addresses of the runs that are partitions of a table."""

    def add_runs(self, table: ExternalTable, lists: Mapping[str, str]) -> None:
        """Add runs as partitions; a run that is there stays as it is.

        Args:
            table: the table.
            lists: the address of the list of the files of each run.
        """


class ExternalViews(Protocol):
    """The views over loaded and external tables, and the schema through which a warehouse reads the catalogue."""

    def prepare(self) -> None:
        """Create the schema of the external tables unless it exists."""

    def loaded(self, name: str) -> Columns:
        """Return the columns of the loaded table; none where there is no such table."""

    def create(self, table: ExternalTable, loaded: Columns) -> None:
        """Create or replace the view of a table: its loaded rows, and those of the runs that are not loaded.

        Args:
            table: the external table.
            loaded: the columns of the loaded table.
        """


def lists_address(run: str, table: str) -> str:
    """Return the address of the list of the files of a run and a table, which COPY reads, too.

    Examples:
        >>> lists_address("s3://acme/runs/run=2026-11-23-08-00-00", "com_acme_click_1")
        's3://acme/runs/run=2026-11-23-08-00-00/copy/com_acme_click_1.json'
    """
    return f"{run.rstrip('/')}/{LISTS}/{table}.json"


def missing(lists: Mapping[str, str], there: Collection[str]) -> Mapping[str, str]:
    """Return the lists of the runs that are no partitions yet."""
    return {run: address for run, address in lists.items() if run not in there}
