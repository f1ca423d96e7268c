"""Notifies owners of changes: a digest is sent, and after that it is recorded that the owner was notified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from onefold.changes.digest import Digest
from onefold.changes.reader_counts import KnownReaders
from onefold.core.errors import OnefoldError
from onefold.settings.owners import Owner

Post = Callable[[Mapping[str, Any]], None]
"""Sends a message by the channel of an owner; it raises OnefoldError where the channel does not take it."""
Outcome = Literal["notified", "would be notified", "nothing new", "failed"]


@dataclass(frozen=True)
class NotifiedOwner:
    """What became of the digest of an owner.

    Attributes:
        digest: the digest.
        message: the message; None where there is nothing new.
        outcome: what became of it.
        error: why the owner was not notified, or why it could not be recorded that it was; empty for neither.
    """

    digest: Digest
    message: Mapping[str, Any] | None
    outcome: Outcome
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "owner": self.digest.owner.pattern,
            "form": self.digest.owner.form,
            "outcome": self.outcome,
            "changes": [change.id for change in self.digest.changes],
            "entries": len(self.digest.ids),
            "message": self.message,
            "errors": self.error.splitlines(),
        }


@dataclass(frozen=True)
class Notifier:
    """Notifies owners, each by itself: what fails with one of them is an error that names it, and stops no other.

    Attributes:
        channel_of: returns what sends messages to an owner. It raises OnefoldError where the address of its webhook cannot
            be read.
        record: appends that an owner was notified.
        readers: who reads the columns, as far as it is known.
    """

    channel_of: Callable[[Owner], Post]
    record: Callable[[Digest], None]
    readers: KnownReaders

    def notify(self, digest: Digest, *, dry_run: bool = False) -> NotifiedOwner:
        """Notify an owner of the changes of a digest. The address of its webhook is read in any case.

        Args:
            digest: the changes.
            dry_run: send and record nothing.
        """
        message = digest.message(self.readers) if digest.changes else None
        try:
            post = self.channel_of(digest.owner)
            if message and not dry_run:
                post(message)
        except OnefoldError as error:
            return NotifiedOwner(digest, message, "failed", f"owner {digest.owner.pattern}: {error}")
        if not message or dry_run:
            return NotifiedOwner(digest, message, "would be notified" if message else "nothing new")
        return self._recorded(digest, message)

    def _recorded(self, digest: Digest, message: Mapping[str, Any]) -> NotifiedOwner:
        try:
            self.record(digest)
        except OnefoldError as error:
            text = "was notified, but that could not be recorded, so that the next run sends the message again"
            return NotifiedOwner(digest, message, "notified", f"owner {digest.owner.pattern}: {text}: {error}")
        return NotifiedOwner(digest, message, "notified")
