"""Use case: an audit of the tables of a dataset. What it costs is known before it runs; it changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onefold.changelog.key_columns import key_type_problems
from onefold.core.errors import OnefoldError
from onefold.existing.audit.finding import NOT_CHECKED, AuditFinding, RowCheck
from onefold.existing.audit.metadata_checks import metadata_findings
from onefold.existing.audit.row_checks import row_checks
from onefold.existing.discover import Discovered
from onefold.ports.existing import ExistingWarehouse
from onefold.schema.diff import Severity


@dataclass(frozen=True)
class TableAudit:
    """The checks of a table, before they run.

    Attributes:
        one: the table and what it is.
        checks: the checks of its rows.
        size: the bytes that they read.
        refusal: why they cannot run; empty where they can.
    """

    one: Discovered
    checks: tuple[RowCheck, ...]
    size: int = 0
    refusal: str = ""

    @property
    def query(self) -> str:
        """One query of all counts, `c0`, `c1` and so on."""
        return "SELECT\n" + ",\n".join(f"({check.count}) AS c{number}" for number, check in enumerate(self.checks))


@dataclass(frozen=True)
class Audited:
    """A table with its findings, the worst first."""

    one: Discovered
    findings: tuple[AuditFinding, ...]

    def with_findings(self, more: Iterable[AuditFinding]) -> Audited:
        """Return the table with more findings."""
        return replace(self, findings=tuple(sorted((*self.findings, *more), key=lambda finding: -finding.severity)))

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `--json`."""
        return {
            "table": str(self.one.id),
            "tool": self.one.found.tool,
            "form": self.one.found.form,
            "rows": self.one.found.rows,
            "findings": [finding.as_dict() for finding in self.findings],
        }


def plan_audit(warehouse: ExistingWarehouse, found: Iterable[Discovered]) -> list[TableAudit]:
    """Return the checks of each table with the bytes that they read: a dry run for each table, which costs nothing.

    Args:
        warehouse: where the tables are.
        found: the tables.
    """
    return [_planned(warehouse, one) for one in found if one.found.rows != "own"]


def run_audit(
    warehouse: ExistingWarehouse, planned: Sequence[TableAudit], done: Callable[[int], None] = lambda _: None
) -> list[Audited]:
    """Run the checks, one query for each table. A table that cannot be checked is a finding, and stops no other one.

    Args:
        warehouse: where the tables are.
        planned: the checks.
        done: is called with the number of tables that are through.
    """
    by_metadata: dict[str, list[AuditFinding]] = {}
    for finding in metadata_findings(audit.one for audit in planned):
        by_metadata.setdefault(finding.table.table, []).append(finding)
    audited = []
    for number, audit in enumerate(planned, 1):
        findings = [*by_metadata.get(audit.one.id.table, ()), *_findings(warehouse, audit)]
        audited.append(Audited(audit.one, ()).with_findings(findings))
        done(number)
    return audited


def _planned(warehouse: ExistingWarehouse, one: Discovered) -> TableAudit:
    audit = TableAudit(one, tuple(row_checks(one)))
    if not audit.checks:
        return audit
    if problems := list(key_type_problems(str(one.id), one.table.columns, one.found.key)):
        return replace(audit, refusal="; ".join(problems))
    try:
        return replace(audit, size=warehouse.estimate(audit.query).size)
    except OnefoldError as error:
        return replace(audit, refusal=str(error))


def _findings(warehouse: ExistingWarehouse, audit: TableAudit) -> list[AuditFinding]:
    if audit.refusal:
        return [_not_checked(audit, audit.refusal)]
    if not audit.checks:
        return []
    try:
        (row,) = warehouse.fetch(audit.query)
    except OnefoldError as error:
        return [_not_checked(audit, str(error))]
    counts = [row[f"c{number}"] for number in range(len(audit.checks))]
    return [check.finding(audit.one.id, count) for check, count in zip(audit.checks, counts, strict=True) if count]


def _not_checked(audit: TableAudit, reason: str) -> AuditFinding:
    remedy = "correct what the error names, such as a right or a key, and run the audit again"
    text = f"its rows were not checked: {' '.join(reason.split())}"
    return AuditFinding(audit.one.id, NOT_CHECKED, Severity.WARNING, text, remedy, audit.query)
