"""Batches of Dataproc Serverless, and the service that runs them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Protocol

from onefold.core.errors import TryAgain
from onefold.settings.batches import CHECKED_CONFIG, BatchSettings

ARCHIVE = "spark.zip"
READ_MYSQL = ("pull", "extract", "check")
"""The jobs that read MySQL; `extract` is the former name of `pull`."""
PYMYSQL = "pymysql.zip"
"""What these jobs need and the runtime does not have."""
COMPILED_LIBRARIES = "compiled_libraries.zip"
"""The archive of the libraries that these jobs and `shred` use and the runtime does not have. They hold machine code, so
Spark unpacks them."""
DRIVER_ENVIRONMENT = "spark.dataproc.driverEnv."
"""The prefix of properties that set a variable in the driver's environment (Dataproc Serverless, "Spark properties")."""


class BatchState(Enum):
    """The states of a batch, by Dataproc's names."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"
    UNKNOWN = "STATE_UNSPECIFIED"

    @property
    def ended(self) -> bool:
        """True where the batch never changes its state again."""
        return self in (BatchState.SUCCEEDED, BatchState.FAILED, BatchState.CANCELLED)


ACTIVE = (BatchState.PENDING, BatchState.RUNNING)


@dataclass(frozen=True)
class Batch:
    """A batch to be created.

    Attributes:
        id: the identifier, unique in the project and region.
        job: the name of the job's file in the folder of the code, without `.py`.
        arguments: the command line of the job.
        labels: the labels of the batch.
        settings: where the batch runs, as whom and with which code.
    """

    id: str
    job: str
    arguments: tuple[str, ...]
    labels: Mapping[str, str]
    settings: BatchSettings

    @property
    def main(self) -> str:
        """The address of the job's file."""
        return f"{self.settings.code}/{self.job}.py"

    @property
    def archives(self) -> tuple[str, ...]:
        """The addresses of the archives of Python modules."""
        names = (ARCHIVE, PYMYSQL) if self.job in READ_MYSQL else (ARCHIVE,)
        return tuple(f"{self.settings.code}/{name}" for name in names)

    @property
    def unpacked(self) -> tuple[str, ...]:
        """The addresses of the archives that Spark unpacks for the driver and the executors."""
        return (f"{self.settings.code}/{COMPILED_LIBRARIES}",) if self.job in ("shred", *READ_MYSQL) else ()

    @property
    def files(self) -> tuple[str, ...]:
        """The addresses of the files that Dataproc copies to the working folder of the job."""
        return (f"{self.settings.code}/{CHECKED_CONFIG}",) if self.settings.config else ()

    @property
    def properties(self) -> dict[str, str]:
        """The properties of Spark, and the settings that the job reads from its environment."""
        passed_on = {f"{DRIVER_ENVIRONMENT}{name}": value for name, value in self.settings.passed_on.items()}
        return {**self.settings.properties, **passed_on}

    @property
    def request_id(self) -> str:
        """The request's identifier, equal for equal batches: Dataproc answers a repeated request with the first batch."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"onefold:{self.id}"))

    def attempt(self, number: int) -> Batch:
        """Return the batch of an attempt: the identifier of the first has no suffix, that of the second ends in `-2`."""
        return self if number == 1 else replace(self, id=f"{self.id}-{number}")


@dataclass(frozen=True)
class StoredBatch:
    """A batch in its present state.

    Attributes:
        id: the identifier.
        state: the state.
        message: the details of the state, such as the reason of a failure; empty where there are none.
        labels: the labels; None where they are unknown.
        arguments: the command line of the job.
        created: when the batch was created; None where that is unknown.
        output: where the job's output is, without the numbers of its parts; empty where that is unknown.
    """

    id: str
    state: BatchState
    message: str = ""
    labels: Mapping[str, str] | None = None
    arguments: tuple[str, ...] = ()
    created: datetime | None = None
    output: str = ""


class BatchExists(TryAgain):
    """Another process has already created a batch of this identifier."""


class BatchReader(Protocol):
    """What tells the state of batches."""

    def get(self, id_: str) -> StoredBatch | None:
        """Return a batch; None where there is none of this identifier.

        Raises:
            TryAgain: an error that may pass.
        """


class Batches(Protocol):
    """The batches of one project and region. Every method is one call, and raises TryAgain for an error that may pass."""

    project: str
    region: str

    @property
    def calls(self) -> int:
        """The number of calls that this thread has made so far."""

    def get(self, id_: str) -> StoredBatch | None:
        """Return a batch; None where there is none of this identifier."""

    def active(self, labels: Mapping[str, str]) -> list[StoredBatch]:
        """Return the batches that have all these labels and a state of `ACTIVE`; one call per page."""

    def succeeded(self, labels: Mapping[str, str], since: datetime) -> list[StoredBatch]:
        """Return the batches that have all these labels, succeeded, and were created after a time; one call per page."""

    def create(self, batch: Batch) -> StoredBatch:
        """Create a batch, and return it. A request with the same `request_id` returns the batch that exists.

        Raises:
            BatchExists: a batch of this identifier exists.
            Rejected: Dataproc refuses the batch, and a retry does not help.
        """
