"""The texts that read tables of a warehouse: views, scheduled queries, and the log of jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

TableKey = tuple[str, str]
"""Dataset and name of a table or view."""
JobKind = Literal["dashboard", "service account", "person"]
"""Who started a job."""
MOST_REFERENCED = 50
"""The tables that BigQuery lists of a job at most: the list of one that references more is not complete (Google,
JobStatistics2, `referencedTables`: https://cloud.google.com/bigquery/docs/reference/rest/v2/Job, 2026-11)."""


@dataclass(frozen=True)
class ViewText:
    """A view.

    Attributes:
        table: its name.
        text: its query.
        own: whether Onefold wrote it.
    """

    table: TableKey
    text: str
    own: bool = False


@dataclass(frozen=True)
class ScheduledText:
    """A scheduled query.

    Attributes:
        id: its resource name.
        text: the query, or the script.
    """

    id: str
    text: str


@dataclass(frozen=True)
class JobTexts:
    """Jobs of one kind of people whose texts are the same, but for their literals.

    Attributes:
        kind: who started them.
        text: the text of one of them.
        readers: who started them, each as a keyed hash that only this run can make: it counts, and names nobody.
        jobs: how many.
        incomplete: how many of them reference so many tables that the list is not complete.
        last_at: the time of the last one.
        referenced: the tables that they have referenced, behind views.
    """

    kind: JobKind
    text: str
    readers: frozenset[str]
    jobs: int
    incomplete: int
    last_at: datetime
    referenced: frozenset[TableKey]


class QueryTexts(Protocol):
    """A warehouse that tells which texts read its tables, for the region of one dataset."""

    project: str

    def location_of(self, dataset: str) -> str:
        """Return the location of a dataset, such as `EU`.

        Raises:
            NotFound: there is no such dataset.
        """

    def list_view_texts(self, dataset: str) -> Sequence[ViewText]:
        """Return all views of the region.

        Args:
            dataset: a dataset of the region.

        Raises:
            AccessDenied: the account may not read the metadata of all datasets.
            TryAgain: an error that may pass.
        """

    def list_job_texts(self, dataset: str, datasets: Collection[str], days: int) -> Sequence[JobTexts]:
        """Return the queries of the last days that read tables of datasets, or may do so: their lists are not complete.

        Jobs of Onefold, jobs that failed, and runs of scheduled queries are left out; statements of scripts are jobs.

        Args:
            dataset: a dataset of the region.
            datasets: datasets whose tables count.
            days: how many.

        Raises:
            AccessDenied: the account may not read the jobs of others.
            TryAgain: an error that may pass.
        """

    def list_column_names(self, dataset: str, words: Collection[str]) -> Mapping[TableKey, tuple[str, ...]]:
        """Return the columns of all tables and views of the region whose name is a word, or begins with a word and `*`.

        Args:
            dataset: a dataset of the region.
            words: names, and beginnings of names with `*` at the end.

        Raises:
            AccessDenied: the account may not read the metadata of all datasets.
            TryAgain: an error that may pass.
        """


class ScheduledQueries(Protocol):
    """The scheduled queries of a project."""

    def list_scheduled(self, location: str) -> Sequence[ScheduledText]:
        """Return the scheduled queries of a location that are not paused; one call for each page.

        Raises:
            Rejected: the account may not list them.
            TryAgain: an error that may pass.
        """
