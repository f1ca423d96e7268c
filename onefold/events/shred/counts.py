"""The counts of a run, which have to add up: what is lost or counted twice shows in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onefold.core.text import counted

EVENTS = "events"
"""The table of the events themselves, which has no columns of the envelope."""


def problems_of_counts(
    events: int, bad: Mapping[str, int], rows: Mapping[str, int], retried: int = 0, left_out: int = 0, renamed: int = 0
) -> Iterator[str]:
    """Yield what is wrong with the counts of a run: each event is good or bad, and each good one has a row of its own.

    That row is in the table of the events, or, where events are self-describing, in the table of its schema. An entity of an
    earlier bad row that became a row adds to the latter.

    Args:
        events: the events that were read.
        bad: the bad ones by kind.
        rows: the rows of each table.
        retried: the entities of earlier bad rows that became rows.
        left_out: the good events that are not taken, since another record is the same event.
        renamed: the events with another id, each of which has one row more, which names its own id.

    Examples:
        >>> list(problems_of_counts(3, {"invalid": 1}, {"events": 2, "com_acme_click_1": 5}))
        []
        >>> list(problems_of_counts(3, {"invalid": 1}, {"com_acme_click_1": 3}))
        ['tables: expected 2 rows, one of each good event, got 3 in all tables']
    """
    good = events - sum(bad.values()) - left_out
    found, where = (rows[EVENTS], EVENTS) if EVENTS in rows else (sum(rows.values()) - retried - renamed, "all tables")
    if found != good:
        yield f"tables: expected {counted(good, 'row')}, one of each good event, got {found:,} in {where}"
