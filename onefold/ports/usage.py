"""What a warehouse bills for: what its tables store, and its jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

JOB_LABEL = "onefold"
"""The label of every job that the library starts for itself; the queries of people have none."""


@dataclass(frozen=True)
class StoredBytes:
    """What a table stores.

    Attributes:
        rows: its rows.
        active: logical bytes that were changed within 90 days.
        long_term: logical bytes that were not.
        active_physical: physical bytes that were changed within 90 days, with those of time travel; None where unknown.
        long_term_physical: physical bytes that were not; None where unknown.
        created: when it was created.
        is_physical: whether the dataset bills physical bytes, and not logical ones.
    """

    rows: int
    active: int
    long_term: int = 0
    active_physical: int | None = None
    long_term_physical: int | None = None
    created: datetime | None = None
    is_physical: bool = False


@dataclass(frozen=True)
class LoggedJobs:
    """Jobs of one kind that read and write the same tables. Tables are named `dataset.table`.

    Attributes:
        kind: QUERY, LOAD or COPY.
        statement: the kind of the statement, as SELECT or MERGE; empty for other jobs.
        written: the table that they write; empty for a query whose result is temporary.
        read: the tables that they read, behind views.
        own: whether the library started them.
        jobs: how many.
        billed: the bytes that are billed for all of them.
        reserved: how many of them ran in a reservation, which bills slots and no bytes.
    """

    kind: str
    statement: str = ""
    written: str = ""
    read: frozenset[str] = frozenset()
    own: bool = False
    jobs: int = 1
    billed: int = 0
    reserved: int = 0

    @property
    def tables(self) -> frozenset[str]:
        """All tables that they read or write."""
        return self.read | ({self.written} if self.written else frozenset())


class UsageWarehouse(Protocol):
    """A warehouse that tells what it bills for, by a fixed number of calls."""

    project: str

    def list_stored(self, dataset: str) -> Mapping[str, StoredBytes]:
        """Return what each table of a dataset stores, by its name; one call for the dataset, and one query.

        Raises:
            NotFound: the dataset does not exist.
            AccessDenied: the account may not read it.
        """

    def list_jobs(self, datasets: Collection[str], days: int) -> Sequence[LoggedJobs]:
        """Return the jobs of the last days that read or write tables of datasets; one call for a dataset, and one query.

        Args:
            datasets: datasets of one location.
            days: how many; the log keeps 180.

        Raises:
            AccessDenied: the account may not read the jobs of others.
        """
