"""The commands `bad-rows summary` and `bad-rows retry`: what could not be shredded, and the run that reads it again."""

from __future__ import annotations

import json
import os
import shlex
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import click

from onefold.batches.request import BatchRequest
from onefold.batches.shred_arguments import ShredArguments
from onefold.cli.batch import run_batch, wait_option
from onefold.cli.common import ERROR, OK, as_json, print_lines, project, read_settings, say
from onefold.cli.emr_job import EMR_APPLICATION, run_on_emr
from onefold.cli.kept_entities import address_of_runs, from_table
from onefold.cli.output import echo_json, output_console
from onefold.cli.program import CommandGroup
from onefold.cli.registry_options import address_of, registries_option
from onefold.cli.table_arguments import dry_run_option
from onefold.core.shred_options import MOST_DAYS, FileFormat, InputForm, Layout, Unknown, Warehouse
from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.events.load.bad_files import BadFile, BadFiles
    from onefold.events.shred.bad_summary import BadCount, BadGroup
    from onefold.events.shred.report import ShredReport

_runs = click.option("--runs", metavar="URI", help="The folder of the runs.  [default: ONEFOLD_EVENTS_RUNS]")
_run = click.option("--run", "names", metavar="NAME", multiple=True, help="A run, 2026-11-23-08-00-00.  [default: all]")
_MOST_SHOWN = 50


@click.group("bad-rows", cls=CommandGroup)
def bad_rows() -> None:
    """Count the bad rows of the shredder, and shred them again."""


bad_rows.add_command(from_table)


@bad_rows.command()
@_runs
@_run
@as_json
@click.pass_context
def summary(context: click.Context, /, runs: str | None, names: Sequence[str], as_json: bool) -> int:
    """Count the bad rows that no run has read again, by reason, schema, app and day, with an example of each count.

    A bad row counts once, by its first reason. The reason of a count is without values. The example names the file and
    line of a bad row, with --json also the id of its event and its whole reason, which may have a value of the event;
    nothing else of an event is shown.
    """
    from onefold.events.shred.bad_summary import as_dict, count_bad_rows, most_frequent_first

    found = _bad_files(context, runs)
    files = found.waiting(names)
    counts: dict[BadGroup, BadCount] = {}
    for file in files:
        count_bad_rows(found.lines(file), file.address, _day_of(file), counts)
    sorted_counts = most_frequent_first(counts)
    if as_json:
        echo_json([as_dict(*one) for one in sorted_counts])
        return OK
    if sorted_counts:
        output_console().print(_table(sorted_counts[:_MOST_SHOWN]))
    more = len(sorted_counts) - _MOST_SHOWN
    if more > 0:
        print_lines(f"{counted(more, 'count')} more: see --json")
    print_lines(f"{counted(sum(count.rows for _, count in sorted_counts), 'bad row')} in {counted(len(files), 'file')}")
    return OK


def _table(counts: Sequence[tuple[BadGroup, BadCount]]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("rows", "day", "app", "what", "reason", "example"):
        table.add_column(name, justify="right" if name == "rows" else "left", overflow="fold")
    for group, count in counts:
        example = f"{count.example.file}:{count.example.line}"
        cells = (f"{count.rows:,}", group.day, group.app or "", group.what, f"{group.kind}: {group.reason}", example)
        table.add_row(*map(escape, cells))
    return table


@bad_rows.command()
@_runs
@_run
@registries_option
@click.option("--warehouse", type=click.Choice(get_args(Warehouse)), help="The warehouse.  [default: that of the runs]")
@click.option(
    "--format", "format_", type=click.Choice(get_args(FileFormat)),
    help="The format of the files.  [default: that of the runs]",
)  # fmt: skip
@click.option("--input", "input_", type=click.Choice(get_args(InputForm)), required=True, help="The form of the events.")
@click.option(
    "--unknown", type=click.Choice(get_args(Unknown)), default="bad_event", show_default=True,
    help="What becomes of an entity whose schema is unknown or unusable still.",
)  # fmt: skip
@click.option(
    "--layout", type=click.Choice(get_args(Layout)), help="Where the entities of events go.  [default: as in the runs]",
)  # fmt: skip
@click.option(
    "--duplicates-window",
    metavar="DAYS",
    type=click.IntRange(0, MOST_DAYS),
    help="Leave out events that runs of the last DAYS days have.  [default: the runs' window, from the oldest file on]",
)
@wait_option
@dry_run_option
@project
@as_json
@click.pass_context
def retry(
    context: click.Context, /, runs: str | None, names: Sequence[str], registries: Sequence[str],
    warehouse: Warehouse | None, format_: FileFormat | None, input_: str, unknown: str, layout: Layout | None,
    duplicates_window: int | None, wait: bool, dry_run: bool, project: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Shred the bad rows again that no run has read again, as a new run of the same folder.

    Entities that were set apart are loaded alone, events as a whole. Each file of bad rows is read by one run, and where
    the runs look for duplicates, the new one does, so that nothing is loaded twice, however often this is repeated. Runs
    in Cloud Storage are read by a batch on Dataproc Serverless, runs in S3 by a job on EMR Serverless where
    ONEFOLD_EMR_APPLICATION names its application, others by Spark on this machine.
    """
    from onefold.events.load.retry import RetryOptions

    found = _bad_files(context, runs)
    files = found.waiting(names)
    if not files:
        if as_json:
            echo_json([])
        else:
            print_lines("no bad rows wait: nothing to do")
        return OK
    addresses = registries or [address_of(read_settings(context), None)]
    words = _words(found.address, files, addresses, input_, unknown)
    words += RetryOptions(warehouse, format_, layout, duplicates_window).arguments(found.forms(), files, datetime.now(UTC))
    if deprecation := ShredArguments.parse(words).deprecation:
        say("yellow", deprecation)
    if not as_json:
        print_lines(f"{counted(len(files), 'file')} of bad rows of {counted(len({file.run for file in files}), 'run')}")
    if found.address.startswith("gs://"):
        request = BatchRequest("shred", None, None, words)
        return run_batch(context, request, uuid.uuid4().hex, wait=wait, dry_run=dry_run, project=project, as_json=as_json)
    if found.address.startswith("s3://") and os.environ.get(EMR_APPLICATION):
        return run_on_emr(words, wait=wait, dry_run=dry_run, as_json=as_json)
    return _on_this_machine(context, words, dry_run=dry_run, as_json=as_json)


def _words(output: str, files: Sequence[BadFile], registries: Sequence[str], input_: str, unknown: str) -> tuple[str, ...]:
    folders = dict.fromkeys(file.folder.replace("file:///", "file:/", 1) for file in files)
    places = ("--registry", *registries, f"--output={output.replace('file:///', 'file:/', 1)}")
    return ("--events", *folders, *places, f"--input={input_}", f"--unknown={unknown}")


def _on_this_machine(context: click.Context, words: Sequence[str], *, dry_run: bool, as_json: bool) -> int:
    """Run the job by Spark on this machine; JSON has the form of a batch."""
    report = None if dry_run else _shred(context, ShredArguments.parse(words))
    message = f"would run shred.py {shlex.join(words)}" if dry_run else ""
    if as_json:
        state = {"id": "", "batch": "", "created": not dry_run, "state": "" if dry_run else "SUCCEEDED"}
        body = json.loads(report.to_json()) if report else None
        echo_json([{**state, "message": message, "link": "", "report": body}])
    else:
        print_lines(report.summary() if report else message, is_whole=True)
    return ERROR if report and report.found_unreadable else OK


def _shred(context: click.Context, arguments: ShredArguments) -> ShredReport:
    from onefold.spark.session import open_session

    spark = open_session("onefold bad-rows retry")
    # The session brings libraries that these modules import.
    from onefold.spark.shred.job import shred
    from onefold.spark.shred.registry import read_registry

    key = read_settings(context).registry.api_key
    return shred(spark, arguments, partial(read_registry, arguments.registry, key))


def _day_of(file: BadFile) -> str:
    return file.run.removeprefix("run=")[:10]


def _bad_files(context: click.Context, runs: str | None) -> BadFiles:
    from onefold.adapters.objects_at import run_objects_at
    from onefold.events.load.bad_files import BadFiles

    address = address_of_runs(context, runs)
    return BadFiles(address, run_objects_at(address))
