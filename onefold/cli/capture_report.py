"""What `onefold capture --check` shows to people."""

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
    """A line for each check, then each problem: unwrapped, since its command is there to be copied."""
    table = Table("", "check", "result", "found")
    for one in report.findings:
        result = f"[red]{counted(len(one.problems), 'problem')}[/]" if one.problems else "[green]in order[/]"
        table.add_row(one.part, one.name, result, escape(one.note))
    console.print(table)
    for line in _problems(report):
        console.print(line, soft_wrap=True)
    end = "[green]all is in order[/]" if report.in_order else "[red]not all is in order[/]"
    console.print(f"{end}; nothing was changed")


def _problems(report: PreflightReport) -> Iterator[str]:
    for one in report.findings:
        yield from (f"[red]{one.name}:[/] {escape(problem)}" for problem in one.problems)
    for held in report.quarantine:
        yield f"[yellow]would be in quarantine ({held.kind}):[/] {escape(str(held))}"
