"""What a plan means to a program of continuous integration: the severity from which it fails, and GitHub's annotations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from onefold.cli.common import CHANGES, ERROR, OK, Failure
from onefold.core.versioned_names import SkippedTable
from onefold.refresh.plan import ViewPlan
from onefold.schema.diff import SchemaChange, Severity

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable with the file that GitHub shows as the summary of a step, in Markdown."""
_COMMANDS = {Severity.INFO: "notice", Severity.WARNING: "warning", Severity.CRITICAL: "error"}

fail_on_option = click.option(
    "--fail-on", type=click.Choice(["warning", "critical"]),
    help="Exit with 2 only where a column changes with this severity, or a higher one.  [default: any change]",
)  # fmt: skip
github_option = click.option(
    "--github", is_flag=True, help="Print annotations for GitHub's workflows, and add the plan to the summary of the step."
)


def exit_code(results: Sequence[Any], fail_on: str | None) -> int:
    """Return the exit code of a plan: 1 where a view failed, 2 where there are changes to make.

    Args:
        results: plans and failures.
        fail_on: `warning` or `critical`, the severity of a change of the schema from which the code is 2; None for any plan
            that writes something.
    """
    if any(isinstance(result, Failure) for result in results):
        return ERROR
    plans = [result for result in results if result.action != "none"]
    least = Severity[fail_on.upper()] if fail_on else None
    return CHANGES if any(least is None or any(one.severity >= least for one in plan.changes) for plan in plans) else OK


def github_commands(results: Sequence[Any]) -> Iterator[str]:
    """Yield a command of GitHub's workflows for each change and each failure, which shows it with the commit.

    Source: GitHub, "Workflow commands for GitHub Actions", notice, warning and error messages (2026-11).
    """
    for result in results:
        if isinstance(result, Failure):
            yield from (_command("error", str(result.table), line) for line in result.errors)
            continue
        view = _view_name(result)
        if result.action != "none" and not result.changes:
            yield _command("notice", view, f"would be {_DONE[result.action]}: its columns stay as they are")
        yield from (_command(_COMMANDS[change.severity], view, str(change)) for change in _worst_first(result))
        yield from (_command("warning", view, warning) for warning in result.warnings)


def summary_in_markdown(title: str, results: Sequence[Any], counts: str, left_out: Sequence[SkippedTable] = ()) -> str:
    """Return a plan as Markdown: one line for each change of a schema, and one for each view that stays or fails.

    Args:
        title: the heading.
        results: plans and failures.
        counts: how many views are up to date, and so on.
        left_out: the tables that look like versions and are not used, each in a line of its own.
    """
    lines = [f"## {title}", "", counts, ""]
    rows = [row for result in results for row in _rows(result)]
    rows += [_row(left.table, "left out", left.reason, "", "", Severity.WARNING.name) for left in left_out]
    if rows:
        lines += ["| view | what | column | from | to | severity |", "|---|---|---|---|---|---|", *rows, ""]
    return "\n".join(lines) + "\n"


def write_summary(environ: Mapping[str, str], text: str) -> None:
    """Append a text to the summary of GitHub's step, where this process is one.

    Args:
        environ: the environment variables.
        text: Markdown.
    """
    if path := environ.get(SUMMARY):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def show_in_github(title: str, results: Sequence[Any], counts: str, left_out: Sequence[SkippedTable]) -> None:
    """Append a plan to the summary of the step, and print its annotations."""
    write_summary(os.environ, summary_in_markdown(title, results, counts, left_out))
    for line in github_commands(results):
        click.echo(line)
    for left in left_out:
        click.echo(_command("warning", left.table, f"the table is left out: {left.reason}"))


_DONE = {"create": "created", "update": "updated", "remove": "removed"}


def _rows(result: Any) -> Iterator[str]:
    if isinstance(result, Failure):
        yield from (_row(str(result.table), "failed", line, "", "", "error") for line in result.errors)
    elif result.action != "none":
        view = _view_name(result)
        if not result.changes:
            yield _row(view, f"would be {_DONE[result.action]}", "", "", "", Severity.INFO.name)
        for change in _worst_first(result):
            yield _row(view, change.kind, change.path, change.old or "", change.new or "", change.severity.name)


def _row(*cells: str) -> str:
    escaped = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _worst_first(plan: ViewPlan) -> list[SchemaChange]:
    return sorted(plan.changes, key=lambda change: -change.severity)


def _view_name(plan: ViewPlan) -> str:
    return str(plan.view.id if plan.view else plan.stored.id if plan.stored else plan.base)


def _command(name: str, title: str, text: str) -> str:
    """Return a command of GitHub's workflows. A line break would end it, and its values have an escape of their own."""
    message = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    named = title.replace("%", "%25").replace(":", "%3A").replace(",", "%2C").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{name} title={named}::{message}"
