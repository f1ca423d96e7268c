"""A finding of an audit, and the check of rows that leads to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onefold.core.names import TableId
from onefold.schema.diff import Severity

NOT_CHECKED = "not checked"
"""The check of a finding that says that a table could not be looked at."""


@dataclass(frozen=True)
class AuditFinding:
    """Something about a table that a person has to know.

    Attributes:
        table: the table.
        check: the kind of finding.
        severity: CRITICAL where people read wrong rows, WARNING where they may, INFO where nothing is wrong by itself.
        text: what was found, in one sentence.
        count: the number of rows or keys; None where nothing was counted.
        query: a query that shows examples; empty where metadata tell.
        remedy: what Onefold does about it, or a person has to do.
    """

    table: TableId
    check: str
    severity: Severity
    text: str
    remedy: str
    query: str = ""
    count: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the properties of `--json`."""
        return {
            "check": self.check,
            "severity": self.severity.name,
            "text": self.text,
            "count": self.count,
            "query": self.query,
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class RowCheck:
    """A check that counts rows or keys of a table. None found is no finding.

    Attributes:
        name: the kind of finding.
        severity: that of its finding.
        text: what is counted; the number follows.
        count: a query of one whole number.
        examples: a query of at most ten examples.
        remedy: as in a finding.
    """

    name: str
    severity: Severity
    text: str
    count: str
    examples: str
    remedy: str

    def finding(self, table: TableId, count: int) -> AuditFinding:
        """Return the finding of a number that is not 0."""
        return AuditFinding(table, self.name, self.severity, f"{self.text}: {count:,}", self.remedy, self.examples, count)
