"""The table of unknown entities in a warehouse: rows that the shredder has kept as JSON, to be shredded later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

UNKNOWN_ENTITIES = "unknown_entities"
"""The name of the table, in the dataset or the schema of the tables of events."""


@dataclass(frozen=True)
class KeptEntity:
    """A row of the table.

    Attributes:
        root_id: the id of the event.
        root_tstamp: the collector time of the event in UTC, without a zone.
        place: where the entity is in the event.
        data: its JSON.
    """

    root_id: str
    root_tstamp: datetime
    place: str
    data: str


class KeptEntities(Protocol):
    """The rows of the table.

    Each method raises TryAgain for an error that may pass, and Rejected or another error for one that a retry does not
    change.
    """

    def schemas(self) -> Sequence[tuple[str, str]]:
        """Return the address of the run and the URI of the schema of rows, each pair once; none where there is no table."""

    def page(self, run: str, uri: str, start: int, count: int) -> Sequence[KeptEntity]:
        """Return rows of a run and a schema, in an order that is the same for the same rows.

        Args:
            run: the address of the run's folder.
            uri: the URI of the schema.
            start: the rows before the page.
            count: the rows of the page at most.
        """
