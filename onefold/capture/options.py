"""The options of one capture process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

from onefold.capture.checkpoint import Progress
from onefold.capture.copy_pace import CopyPace
from onefold.capture.state import DELETE_SCAN_DELAY
from onefold.landing.row_writer import NO_RULES, LandingRules
from onefold.mysql.table_filter import TableFilter

TICK_SECONDS = 0.5
"""So often the checkpoint may be saved, also where messages are sent less often."""


@dataclass(frozen=True)
class CaptureOptions:
    """What to capture, and from where on."""

    source: str
    """The name of the source: a part of the key of each row."""
    dataset: str
    start: Progress | None = None
    """Where to begin without a checkpoint; None for the present end of the log."""
    snapshot: bool = False
    """Copy all tables once."""
    again: TableFilter | None = None
    """Tables to copy although they were copied before."""
    once: bool = False
    """End at the present end of the log, and raise an error instead of retrying."""
    epoch: int = 1
    """The least epoch: a checkpoint of an earlier one begins a new epoch."""
    follow_gtids: bool = False
    """Read another server that has the same transactions from its GTIDs on."""
    pace: CopyPace = field(default_factory=CopyPace)
    """How fast, and at which hours, tables are copied."""
    rules: LandingRules = NO_RULES
    """Which columns do not land as they are."""
    accept_fewer_rules: bool = False
    """Start although rules are gone, and without the rules that have followed a name."""
    flush_seconds: float = 0.5
    """A row waits so long at most for others to share its message."""
    delete_scan_delay: int = DELETE_SCAN_DELAY
    """Seconds between a copy and its first delete scan, in which the rows of the copy land; 0 with `once`."""

    def ticks(self) -> Iterator[tuple[float, bool]]:
        """Yield without end how many seconds to wait, and whether messages that are not full are sent after them.

        Examples:
            >>> ticks = CaptureOptions("shop-db", "shop", flush_seconds=1.4).ticks()
            >>> [next(ticks) for _ in range(4)]
            [(0.5, False), (0.5, False), (0.5, True), (0.5, False)]
            >>> next(CaptureOptions("shop-db", "shop", flush_seconds=0.2).ticks())
            (0.2, True)
        """
        tick = min(TICK_SECONDS, self.flush_seconds)
        flushed = ceil(self.flush_seconds / tick)
        return ((tick, number % flushed == 0) for number in itertools.count(1))
