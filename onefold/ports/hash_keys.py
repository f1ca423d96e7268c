"""The tables of the keys of clean views."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from onefold.core.hash_key import HashKey
from onefold.core.names import TableId
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar

KEY_COLUMNS = (Column("ipad", STRING), Column("opad", STRING), Column("created", Scalar("TIMESTAMP")))
"""The key as it is stored: the two pads of HMAC in hexadecimal, which keep the expression of a hash short."""
PAD_CHARACTERS = 128
"""A pad has as many bytes as a block of SHA-256, 64 (RFC 2104), and each byte has two hexadecimal digits."""


class HashKeys(Protocol):
    """The keys of a project."""

    def created(self, table: TableId) -> datetime | None:
        """Return when the key of a table was created; None where the table does not exist or is empty.

        Raises:
            NotFound: the dataset does not exist.
        """

    def read(self, table: TableId) -> HashKey | None:
        """Return the key of a table; None where the table does not exist or is empty. The key is in no job's result.

        Raises:
            InvalidInput: the table holds something else than one key.
            OnefoldError: no answer, or a refusal.
        """

    def write(self, table: TableId, key: HashKey, *, replace: bool) -> None:
        """Write the key as the only row of its table, atomically; the key is in no statement and in no metadata of a job.

        Args:
            table: the table, which is created where it does not exist.
            key: the key.
            replace: whether a key that is there is replaced.

        Raises:
            Rejected: there is a key already, and it is not to be replaced.
        """
