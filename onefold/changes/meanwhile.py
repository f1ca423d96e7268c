"""Decisions of others about the same columns that came while somebody decided, and which of them count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from onefold.changes.deciding import is_within
from onefold.changes.decisions import known_decision, verdicts_of
from onefold.ports.rows import Row
from onefold.schema.contract_rules import DecisionKey, Verdict, Verdicts


@dataclass(frozen=True)
class OtherDecision:
    """A decision of somebody else that says the opposite about a column, or about a field of it.

    Attributes:
        column: the column or field; empty for the whole change.
        verdict: the decision.
        decided_at: when it was made.
        counts: whether it counts, and not the one that was made meanwhile.
    """

    column: str
    verdict: Verdict
    decided_at: datetime
    counts: bool

    @property
    def opposite(self) -> Verdict:
        """The decision that was made meanwhile."""
        return "reject" if self.verdict == "accept" else "accept"

    def as_dict(self) -> dict[str, Any]:
        time = self.decided_at.isoformat(timespec="microseconds")
        return {"column": self.column, "verdict": self.verdict, "decided_at": time, "counts": self.counts}


def decided_meanwhile(
    before: Collection[Row], after: Sequence[Row], written: Mapping[DecisionKey, Verdict], own: Verdicts
) -> tuple[OtherDecision, ...]:
    """Return the decisions of others that contradict those that were written, each once.

    Args:
        before: the rows of the table of decisions that were known when it was decided.
        after: the rows that are there now, the earliest first.
        written: what was written.
        own: the decisions of onefold.yaml, which come before those of the table.

    Examples:
        >>> from datetime import UTC
        >>> row = {"decided_at": datetime(2026, 1, 1, tzinfo=UTC), "change": "c", "path": "zip", "verdict": "reject"}
        >>> [(one.column, one.counts) for one in decided_meanwhile([], [row], {("c", "zip"): "accept"}, Verdicts())]
        [('zip', True)]
        >>> decided_meanwhile([row], [row], {("c", "zip"): "accept"}, Verdicts())
        ()
    """
    now = own.over(verdicts_of(after))
    seen = {tuple(row.items()) for row in before}
    new = [row for row in after if tuple(row.items()) not in seen]
    found = {(one.column, one.verdict): one for row in new for one in _contradicting(row, written, now)}
    return tuple(found.values())


def _contradicting(row: Row, written: Mapping[DecisionKey, Verdict], now: Verdicts) -> Iterator[OtherDecision]:
    known = known_decision(row)
    if known is None or known in written.items() or row["decided_at"] is None:
        return
    (change, path), verdict = known
    for (name, column), own in written.items():
        if name == change and own != verdict and (not path or is_within(column, path)):
            # The narrower of the two names what both are about.
            counts = now.about(change, max(column, path, key=len)) == verdict
            yield OtherDecision(row["path"] or "", verdict, row["decided_at"], counts)
