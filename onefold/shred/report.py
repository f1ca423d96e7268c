"""The report of a run of the shredder: its counts, as JSON and for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from onefold.core.text import counted


@dataclass(frozen=True)
class ShredReport:
    """What a run has read and written.

    Attributes:
        run: its name; None where nothing was written.
        output: the folder of the runs.
        inputs: how many files were read.
        taken: how many files were left out because an earlier run has read them.
        events: the events that were read.
        tables: the rows of each table with rows.
        bad: the bad events by kind.
        dry_run: True where the run only counted.
        removed: unfinished runs that were removed because of their age.
    """

    run: str | None
    output: str
    inputs: int
    taken: int
    events: int = 0
    tables: Mapping[str, int] = field(default_factory=dict)
    bad: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False
    removed: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the report as one line of JSON."""
        body = {**vars(self), "tables": dict(self.tables), "bad": dict(self.bad), "removed": list(self.removed)}
        return json.dumps(body, ensure_ascii=False)

    def summary(self) -> str:
        """Return the report for people: each table, the bad rows by kind, then one line with all counts."""
        if not self.inputs:
            return f"{self.output}: no new files, so no run; {counted(self.taken, 'file')} read by earlier runs"
        lines = [f"{table}: {counted(rows, 'row')}" for table, rows in self.tables.items()]
        lines += [f"bad, {kind}: {counted(count, 'event')}" for kind, count in self.bad.items()]
        what = "dry run, nothing written" if self.dry_run else f"run {self.run}"
        bad = sum(self.bad.values())
        return "\n".join([*lines, f"{what}: {counted(self.events, 'event')} of {counted(self.inputs, 'file')}, {bad:,} bad"])
