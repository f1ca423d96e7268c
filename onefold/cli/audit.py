"""The command `audit`: what is wrong with tables that other tools have written, with a query to paste for each finding."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape

from onefold.cli.common import CHANGES, OK, as_json, progress_line, project, say
from onefold.cli.common_options import DATASET
from onefold.cli.existing_dataset import dataset_argument, open_source, read_existing, source_option
from onefold.cli.output import echo_json, output_console
from onefold.core.text import counted, size_text

if TYPE_CHECKING:
    from onefold.check.against_source import CopiedDatabase, SourceCheck
    from onefold.existing.audit.run import Audited, TableAudit

_COLOURS = {"CRITICAL": "red", "WARNING": "yellow", "INFO": "cyan"}


@click.command()
@dataset_argument
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@source_option("Compare the current rows with those of this database, too")
@click.option("--markdown", is_flag=True, help="Print Markdown, as without a terminal.")
@click.option("--dry-run", is_flag=True, help="Say what the checks would read, and run none.")
@project
@as_json
@click.pass_context
def audit(
    context: click.Context,
    named: str | None,
    dataset: str | None,
    url: str | None,
    markdown: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Look for what is wrong with the tables of DATASET: duplicates, ghosts, deleted rows that show, lost values, no key.

    DATASET is shop, or 'shop.order_*' for some of its tables. It says first what it reads, and changes nothing.

    With --source, the current rows of each table are compared with those of the database one by one, and keys that BigQuery
    does not declare are taken from there. The password is asked for, or in ONEFOLD_SOURCE_PASSWORD.
    """
    from onefold.check.against_source import plan_source_check
    from onefold.existing.audit.markdown import report
    from onefold.existing.audit.run import plan_audit

    source = open_source(url)
    warehouse, listed, found = read_existing(context, named, dataset, project, "onefold audit", source)
    planned = plan_audit(warehouse, found)
    compared = [plan_source_check(warehouse, source, one.one) for one in planned] if source else []
    size = _say_cost(planned, compared)
    audited = [] if dry_run else _audited(warehouse, planned, source, compared)
    if as_json:
        echo_json([one.as_dict() for one in audited], warnings=listed.warnings)
    elif markdown or not sys.stdout.isatty():
        click.echo("" if dry_run else report(str(listed.place.dataset), audited, size), nl=False)
    elif not dry_run:
        _show(output_console(), audited)
    return CHANGES if any(one.findings for one in audited) else OK


def _audited(
    warehouse: Any, planned: Sequence[TableAudit], source: CopiedDatabase | None, compared: Sequence[SourceCheck]
) -> list[Audited]:
    """Run the checks and the comparisons, and show on a terminal how many tables are through."""
    from onefold.check.against_source import run_source_check
    from onefold.existing.audit.run import run_audit

    with progress_line("checking") as tell:
        found = run_audit(warehouse, planned, lambda done: tell(f"checked {done:,} of {counted(len(planned), 'table')}"))
        if source is None:
            return found
        audited = []
        for number, (one, check) in enumerate(zip(found, compared, strict=True), 1):
            audited.append(one.with_findings(run_source_check(warehouse, source, check)))
            tell(f"compared {number:,} of {counted(len(found), 'table')} with the source")
        return audited


def _say_cost(planned: Sequence[TableAudit], compared: Sequence[SourceCheck]) -> int:
    """Say how many bytes the queries read, and return them; of the source, every row of the compared tables is read."""
    sizes = [one.size for one in planned if one.checks and not one.refusal]
    sizes += [one.size for one in compared if not one.refusal]
    size = sum(sizes)
    say("dim", f"reads {size_text(size)} in {len(sizes):,} queries, of {counted(len(planned), 'table')}")
    return size


def _show(console: Console, audited: Sequence[Audited]) -> None:
    from onefold.existing.audit.markdown import summary

    for one in audited:
        head = f"[bold]{escape(one.one.id.table)}[/] ({escape(one.one.found.tool)}, {escape(one.one.found.form)})"
        console.print(head if one.findings else f"{head}: [green]no finding[/]", soft_wrap=True)
        for finding in one.findings:
            colour = _COLOURS[finding.severity.name]
            console.print(
                f"  [{colour}]{finding.severity.name}[/] {escape(f'{finding.check}: {finding.text}')}", soft_wrap=True
            )
            console.print(f"    {escape(finding.remedy)}", soft_wrap=True)
            if finding.query:
                console.print(f"[dim]{escape(_indented(finding.query))}[/]", soft_wrap=True)
    console.print(summary(audited))


def _indented(query: str) -> str:
    return "\n".join(f"      {line}" for line in query.splitlines())
