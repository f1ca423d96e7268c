"""What became of a check: of each table its counts, its chunks and its findings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from onefold.check.counts import RowCounts
from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT, REPEATED_LEFT, REPEATED_RIGHT
from onefold.core.text import counted, shown_list
from onefold.pull.read.plan import KeyRange

CheckOutcome = Literal["same", "fixed", "different", "skipped", "failed"]
CHECK_OUTCOMES: tuple[CheckOutcome, ...] = ("same", "fixed", "different", "skipped", "failed")


@dataclass(frozen=True)
class ChunkCheck:
    """What was found in one chunk.

    Attributes:
        chunk: the range of the key.
        rows: its rows at the source.
        by_kind: the number of findings of each kind.
        columns: the columns whose values differ.
        findings: the findings in words, as many as are kept.
        fixed: the rows and tombstones that were written.
        is_fixed: whether every finding was repaired.
        moving: the rows that differed, and of which changes landed while they were compared: no findings.
    """

    chunk: KeyRange
    rows: int
    by_kind: tuple[tuple[str, int], ...] = ()
    columns: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    fixed: int = 0
    is_fixed: bool = False
    moving: int = 0

    @property
    def total(self) -> int:
        """The number of findings."""
        return sum(number for _, number in self.by_kind)


@dataclass(frozen=True)
class TableCheck:
    """What became of the check of one table.

    Attributes:
        table: its name at the source.
        chunks: the chunks that were compared.
        counts: the numbers of rows; None where they were not counted.
        counts_differ: whether the numbers differ, and still did when they were counted again.
        skipped: why the table was not compared.
        failed: why it could not be.
        notes: what a reader has to know.
        log: the log of checks that has all findings; empty for a table that was skipped.
    """

    table: str
    chunks: tuple[ChunkCheck, ...] = ()
    counts: RowCounts | None = None
    counts_differ: bool = False
    skipped: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    log: str = ""

    @property
    def outcome(self) -> CheckOutcome:
        """The result in a word."""
        if self.failed or self.skipped:
            return "failed" if self.failed else "skipped"
        found = [chunk for chunk in self.chunks if chunk.total]
        if self.counts_differ or not all(chunk.is_fixed for chunk in found):
            return "different"
        return "fixed" if found else "same"

    @property
    def text(self) -> str:
        """The result for people and logs: numbers and names of columns, and no value."""
        if self.outcome in ("failed", "skipped"):
            return "; ".join([f"{self.table}: {self.outcome}", *self.failed, *self.skipped])
        rows, fixed = (sum(getattr(chunk, name) for chunk in self.chunks) for name in ("rows", "fixed"))
        parts = [f"{self.table}: {self.outcome}"]
        if self.chunks:
            parts.append(f"{counted(rows, 'row')} in {counted(len(self.chunks), 'chunk')} compared")
        parts += [_WORDS[kind].format(number) for kind, number in self.by_kind.items() if number]
        columns = dict.fromkeys(name for chunk in self.chunks for name in chunk.columns)
        parts += [f"columns that differ: {shown_list(columns)}"] if columns else []
        parts += [self.counts.text] if self.counts else []
        parts += [f"{counted(fixed, 'row')} written"] if fixed else []
        return "; ".join([*parts, *self.notes])

    @property
    def by_kind(self) -> dict[str, int]:
        """The number of findings of each kind."""
        found: Counter[str] = Counter()
        for chunk in self.chunks:
            found.update(dict(chunk.by_kind))
        return dict(found)

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings in words, as many as are kept. They may hold values: not for logs."""
        return tuple(finding for chunk in self.chunks for finding in chunk.findings)

    def as_dict(self) -> dict[str, Any]:
        """Return the result in the form of JSON, without values."""
        return {
            "table": self.table,
            "outcome": self.outcome,
            "rows": sum(chunk.rows for chunk in self.chunks),
            "chunks": len(self.chunks),
            "findings": self.by_kind,
            "columns": sorted({name for chunk in self.chunks for name in chunk.columns}),
            "counts": None if self.counts is None else {"source": self.counts.source, "warehouse": self.counts.warehouse},
            "fixed": sum(chunk.fixed for chunk in self.chunks),
            "moving": sum(chunk.moving for chunk in self.chunks),
            "reasons": [*self.failed, *self.skipped, *self.notes],
        }


_WORDS = {
    ONLY_LEFT: "missing in BigQuery: {:,}",
    ONLY_RIGHT: "missing in MySQL: {:,}",
    DIFFERENT: "values that do not match: {:,}",
    REPEATED_LEFT: "keys that come more than once in MySQL: {:,}",
    REPEATED_RIGHT: "keys that come more than once in BigQuery: {:,}",
}


@dataclass(frozen=True)
class CheckReport:
    """What became of the check of a database.

    Attributes:
        dataset: the dataset of the tables.
        tables: what became of each.
        reasons: why no table of the database was checked; empty where some were, or failed each for itself.
    """

    dataset: str
    tables: tuple[TableCheck, ...]
    reasons: tuple[str, ...] = ()

    def count(self, outcome: CheckOutcome) -> int:
        """Return how many tables have this outcome."""
        return sum(table.outcome == outcome for table in self.tables)

    @property
    def differs(self) -> bool:
        """Whether a table differs from its source, or could not be checked."""
        return bool(self.count("different") or self.count("failed"))

    def as_dict(self) -> dict[str, Any]:
        """Return the report in the form of JSON."""
        body: dict[str, Any] = {"dataset": self.dataset, **{name: self.count(name) for name in CHECK_OUTCOMES}}
        body |= {"reasons": list(self.reasons)} if self.reasons else {}
        return {**body, "tables": [table.as_dict() for table in self.tables]}

    def to_json(self) -> str:
        """Return the report as one line of JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def summary(self) -> str:
        """Return the report for people: each table, then one line with all counts."""
        if self.reasons:
            return f"{self.dataset}: no table was checked: {'; '.join(self.reasons)}"
        return "\n".join([*(table.text for table in self.tables), f"{self.dataset}: {totals(self.tables)}"])


def totals(tables: Sequence[TableCheck]) -> str:
    """Return the number of tables by outcome.

    Examples:
        >>> totals([TableCheck("a"), TableCheck("b", failed=("no answer",))])
        '1 same, 0 fixed, 0 different, 0 skipped, 1 failed'
    """
    found = Counter(table.outcome for table in tables)
    return ", ".join(f"{found[name]} {name}" for name in CHECK_OUTCOMES)
