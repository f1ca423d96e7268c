"""The forms of input, and the reader of each."""

from __future__ import annotations

from typing import Protocol

from onefold.events.shred.enriched import EnrichedJsonReader, EnrichedTsvReader
from onefold.events.shred.event import Event
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.self_describing import SelfDescribingReader


class EventReader(Protocol):
    """Reads records of one form."""

    def read(self, record: str) -> Event:
        """Return the event of a record; raises BadEvent for what is not an event."""


def reader_of(plan: ShredPlan) -> EventReader:
    """Return the reader of a plan's input form."""
    if plan.input == "self-describing":
        return SelfDescribingReader(plan.format, plan.started_at)
    return EnrichedTsvReader(plan.format) if plan.input == "enriched-tsv" else EnrichedJsonReader(plan.format)
