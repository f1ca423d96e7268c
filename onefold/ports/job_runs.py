"""The service that runs the jobs of the shredder on AWS, and names each run by an identifier of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from onefold.ports.batches import StoredBatch


class JobRuns(Protocol):
    """The job runs of one application. Every method raises TryAgain for an error that may pass."""

    def get(self, id_: str) -> StoredBatch | None:
        """Return a job run; None where there is none of this identifier."""

    def recent(self, name: str) -> list[StoredBatch]:
        """Return the job runs of a name that were created within the last two days, or wait."""

    def start(self, name: str, words: Sequence[str], token: str) -> str:
        """Start a job run, and return its identifier. A call with a token that was used returns the job run of that call.

        Args:
            name: what the job run is called.
            words: the command line of the job `shred`.
            token: up to 64 letters, digits, dots, underscores and hyphens.

        Raises:
            Rejected: the service refuses the job run, and a retry does not help.
        """
