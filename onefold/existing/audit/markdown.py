"""The report of an audit as Markdown: the summary first, then each finding with a query to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onefold.core.text import counted, size_text
from onefold.existing.audit.finding import AuditFinding
from onefold.existing.audit.run import Audited
from onefold.schema.diff import Severity

_WORST_FIRST = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)
_MEANINGS = {
    Severity.CRITICAL: "people read wrong rows",
    Severity.WARNING: "people may read wrong rows, or pay for more than they need",
    Severity.INFO: "worth knowing",
}


def report(dataset: str, audited: Sequence[Audited], size: int) -> str:
    """Return the report.

    Args:
        dataset: the dataset.
        audited: its tables with their findings.
        size: the bytes that were read.
    """
    return "\n".join(_lines(dataset, audited, size)) + "\n"


def summary(audited: Sequence[Audited]) -> str:
    """Return how many tables have how many findings, in one sentence."""
    every = [finding for one in audited for finding in one.findings]
    numbers = [f"{sum(one.severity is level for one in every):,} {level.name}" for level in _WORST_FIRST]
    return f"{counted(len(audited), 'table')}, {counted(len(every), 'finding')}: {', '.join(numbers)}"


def _lines(dataset: str, audited: Sequence[Audited], size: int) -> Iterator[str]:
    yield f"# Audit of {_escaped(dataset)}"
    yield f"\n{summary(audited)}. {size_text(size)} were read, and nothing was changed.\n"
    yield "| table | tool | rows | findings |\n|---|---|---|---|"
    for one in sorted(audited, key=_worst, reverse=True):
        found = one.one.found
        checks = ", ".join(f"{finding.check} ({finding.severity.name})" for finding in one.findings) or "none"
        yield f"| {_escaped(one.one.id.table)} | {_escaped(f'{found.tool}, {found.form}')} | {found.rows} | {checks} |"
    for level in _WORST_FIRST:
        findings = [finding for one in audited for finding in one.findings if finding.severity is level]
        if findings:
            yield f"\n## {level.name}: {_MEANINGS[level]}"
            yield from (_section(finding) for finding in findings)


def _section(finding: AuditFinding) -> str:
    lines = [
        f"\n### {_escaped(finding.table.table)}: {finding.check}",
        f"\n{_escaped(finding.text)}.",
        f"\n**What to do:** {finding.remedy}.",
    ]
    if finding.query:
        lines.append(f"\n```sql\n{finding.query}\n```")
    return "\n".join(lines)


def _worst(one: Audited) -> tuple[int, int]:
    return max((int(finding.severity) for finding in one.findings), default=-1), len(one.findings)


def _escaped(text: str) -> str:
    """Return a text that breaks no table and no heading."""
    return " ".join(text.split()).replace("|", "\\|")
