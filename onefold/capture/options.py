"""The options of one capture process."""

from __future__ import annotations

from dataclasses import dataclass, field

from onefold.capture.checkpoint import Progress
from onefold.capture.copy_pace import CopyPace
from onefold.capture.state import DELETE_SCAN_DELAY
from onefold.landing.row_writer import NO_RULES, LandingRules
from onefold.mysql.table_filter import TableFilter


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
    delete_scan_delay: int = DELETE_SCAN_DELAY
    """Seconds between a copy and its first delete scan, in which the rows of the copy land; 0 with `once`."""
