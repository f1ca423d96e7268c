"""The report of a pull: one line for each table, and counts for all of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from onefold.batches.source_arguments import Window
from onefold.core.text import counted
from onefold.pull.read.pulled import PulledFiles

PullOutcome = Literal["loaded", "skipped", "failed", "missing"]
PULL_OUTCOMES: tuple[PullOutcome, ...] = ("loaded", "skipped", "failed", "missing")


@dataclass(frozen=True)
class TableReport:
    """What became of one table.

    Attributes:
        table: its name at the source.
        outcome: the result.
        version: of the rows.
        first: whether the whole table was read into a new version.
        rows: all rows.
        files: the number of files.
        bytes: their size.
        watermark: from which the next pull reads.
        rows_above: rows above the border that the source told.
        rows_without_watermark: rows without a watermark.
        losses: values that BigQuery cannot hold, as column, kind of loss and number.
        reasons: why the table was skipped, failed, or is missing.
        truncated: whether the table was truncated or made anew at the source, and was read whole for that.
    """

    table: str
    outcome: PullOutcome
    version: str | None = None
    first: bool = False
    rows: int = 0
    files: int = 0
    bytes: int = 0
    watermark: int | None = None
    rows_above: int = 0
    rows_without_watermark: int = 0
    losses: tuple[tuple[str, str, int], ...] = ()
    reasons: tuple[str, ...] = ()
    truncated: bool = False

    @classmethod
    def of(cls, table: str, pulled: PulledFiles) -> Self:
        """Return the report of a table that was loaded."""
        return cls(
            table,
            "loaded",
            pulled.version,
            pulled.plan.first,
            pulled.rows,
            len(pulled.files),
            sum(file.bytes for file in pulled.files),
            pulled.watermark,
            pulled.rows_above,
            pulled.rows_without_watermark,
            tuple(sorted((*loss, count) for loss, count in pulled.losses.items())),
            truncated=pulled.plan.truncated,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the report in the form of JSON."""
        return asdict(self)

    @property
    def text(self) -> str:
        """The report for people."""
        if self.outcome != "loaded":
            return "; ".join([f"{self.table}: {self.outcome}", *self.reasons])
        notes = [
            f"{count:,} {what}"
            for count, what in (
                (self.rows_above, "rows above the source's border"),
                (self.rows_without_watermark, "rows without a watermark"),
                (sum(count for *_, count in self.losses), "values that BigQuery cannot hold"),
            )
            if count
        ]
        why = ", which was truncated or made anew" if self.truncated else ""
        whole = f" of the whole table{why}" if self.first or self.truncated else ""
        read = f"{self.table}: {counted(self.rows, 'row')}{whole} in {counted(self.files, 'file')}"
        return "; ".join([read, *notes])


@dataclass(frozen=True)
class PullReport:
    """What became of the tables of a database, by name.

    Attributes:
        dataset: the dataset of the tables.
        window: of the pull.
        tables: a report of each.
        reasons: why no table of the database was pulled; empty where some were, or failed each for itself.
    """

    dataset: str
    window: Window
    tables: tuple[TableReport, ...]
    reasons: tuple[str, ...] = ()

    def count(self, outcome: PullOutcome) -> int:
        """Return how many tables have this outcome."""
        return sum(table.outcome == outcome for table in self.tables)

    @property
    def ok(self) -> bool:
        """Whether every table was pulled, or had nothing to pull."""
        return not self.reasons and not self.count("failed") and not self.count("missing")

    @property
    def exit_code(self) -> int:
        """0 where every table was pulled or had nothing to pull, else 2."""
        return 0 if self.ok else 2

    def as_dict(self) -> dict[str, Any]:
        """Return the report in the form of JSON."""
        counts = Counter(table.outcome for table in self.tables)
        body: dict[str, Any] = {"dataset": self.dataset, "window": self.window}
        body |= {name: counts[name] for name in PULL_OUTCOMES}
        body |= {"reasons": list(self.reasons)} if self.reasons else {}
        return {**body, "tables": [table.as_dict() for table in self.tables]}

    def to_json(self) -> str:
        """Return the report as one line of JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def summary(self) -> str:
        """Return the report for people: each table, then one line with all counts."""
        if self.reasons:
            return f"{self.dataset}: no table was pulled: {'; '.join(self.reasons)}"
        counts = ", ".join(f"{self.count(name)} {name}" for name in PULL_OUTCOMES)
        return "\n".join([*(table.text for table in self.tables), f"{self.dataset}: {counts}"])
