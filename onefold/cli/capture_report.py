"""The report of `onefold capture --check` as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.capture.preflight import PreflightReport


def show_report(console: Console, report: PreflightReport) -> None:
    """Print a line for each check, then each problem.

    Problems are not wrapped: the commands in them are meant to be copied.
    """
    table = Table("", "check", "result", "found")
    for one in report.findings:
        result = f"[red]{counted(len(one.problems), 'problem')}[/]" if one.problems else "[green]ok[/]"
        table.add_row(one.part, one.name, result, escape(one.note))
    console.print(table)
    for line in _problems(report):
        console.print(line, soft_wrap=True)
    end = "[green]everything is ok[/]" if report.in_order else "[red]there are problems[/]"
    console.print(f"{end}; nothing was changed")


def _problems(report: PreflightReport) -> Iterator[str]:
    for finding in report.findings:
        yield from (f"[red]{finding.name}:[/] {escape(problem)}" for problem in finding.problems)
    for problem in report.quarantine:
        yield f"[yellow]would be in quarantine ({problem.kind}):[/] {escape(str(problem))}"
