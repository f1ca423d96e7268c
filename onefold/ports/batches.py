"""Batches of Dataproc, and the service that runs them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from onefold.core.errors import TryAgain
from onefold.settings.batches import DEFAULT_CONFIG, BatchSettings

ARCHIVE = "spark.zip"
DRIVER_ENVIRONMENT = "spark.dataproc.driverEnv."
"""Dataproc Serverless, "Spark properties": what follows is a variable of the driver's environment."""


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
        return self in (BatchState.SUCCEEDED, BatchState.FAILED, BatchState.CANCELLED)


ACTIVE = (BatchState.PENDING, BatchState.RUNNING)


@dataclass(frozen=True)
class Batch:
    """A batch to be created."""

    id: str
    job: str
    arguments: tuple[str, ...]
    labels: Mapping[str, str]
    settings: BatchSettings

    @property
    def main(self) -> str:
        return f"{self.settings.code}/{self.job}.py"

    @property
    def archives(self) -> tuple[str, ...]:
        return (f"{self.settings.code}/{ARCHIVE}",)

    @property
    def files(self) -> tuple[str, ...]:
        """What the job finds in its working folder."""
        return (f"{self.settings.code}/{DEFAULT_CONFIG}",) if self.settings.config else ()

    @property
    def properties(self) -> dict[str, str]:
        """Spark's, and the settings that the job reads from its environment."""
        passed_on = {f"{DRIVER_ENVIRONMENT}{name}": value for name, value in self.settings.passed_on.items()}
        return {**self.settings.properties, **passed_on}

    @property
    def request_id(self) -> str:
        """The same for the same batch: of two requests at once, Dataproc answers the second with the first one's."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"onefold:{self.id}"))

    def attempt(self, number: int) -> Batch:
        """The batch of the first attempt has no suffix, the second has `-2`."""
        return self if number == 1 else replace(self, id=f"{self.id}-{number}")


@dataclass(frozen=True)
class StoredBatch:
    """A batch as Dataproc has it now."""

    id: str
    state: BatchState
    message: str = ""
    labels: Mapping[str, str] | None = None


class BatchExists(TryAgain):
    """Somebody else was faster to create it."""


class Batches(Protocol):
    """The batches of one project and region. Every method is one call, and raises TryAgain where trouble may pass."""

    project: str
    region: str

    @property
    def calls(self) -> int:
        """How many calls this thread has made so far."""

    def get(self, id_: str) -> StoredBatch | None: ...

    def active(self, labels: Mapping[str, str]) -> list[StoredBatch]:
        """Those with all these labels that are pending or run; one call per page."""

    def create(self, batch: Batch) -> StoredBatch:
        """Raises BatchExists where the identifier is taken, Rejected where Dataproc refuses for good."""
