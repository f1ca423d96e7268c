"""The command `batch`: run a Spark job on Dataproc Serverless."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import click

from onefold.batches.batch import batch_link, exit_code, with_defaults
from onefold.batches.jobs import FORMER_JOBS, JOBS, former_name_warning, present_name
from onefold.batches.report import Report, count_lines, read_report
from onefold.batches.request import BatchRequest
from onefold.batches.source_arguments import DatabasesArguments, SourceArguments, names_databases
from onefold.cli.common import CHANGES, ERROR, OK, as_json, given, print_lines, progress_line, project, read_settings, say
from onefold.cli.common_options import is_typed
from onefold.cli.output import echo_json
from onefold.cli.table_arguments import dry_run_option
from onefold.core.errors import InvalidInput, OnefoldError
from onefold.core.names import check_names
from onefold.messages.envelope import MESSAGE_ID
from onefold.ports.batches import Batch, BatchReader, BatchState, StoredBatch
from onefold.settings.unknown_keys import near_name


class _JobName(click.Choice[str]):
    """The name of a job. A former name is taken, and not shown."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if value in FORMER_JOBS else super().convert(value, param, ctx)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return super().get_invalid_choice_message(value, ctx).removesuffix(".") + f"{near_name(str(value), JOBS)}."


wait_option = click.option(
    "--wait", is_flag=True, help="Wait until the batch ends, show the counts of its report, and exit as it did."
)


@click.command()
@click.argument("job", type=_JobName(list(JOBS)))
@click.argument("words", metavar="[-- JOB ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
@click.option("--dataset", metavar="D", help="The table's dataset; shred has none, and pull and check know it.")
@click.option("--table", metavar="T", help="The table, or the base name of versioned ones.  [default: all of the dataset]")
@click.option(
    "--id",
    "message_id",
    metavar="ID",
    help="The batch's identifier; the same ID never starts a second batch.  [default: a new one]",
)
@wait_option
@dry_run_option
@project
@as_json
@click.pass_context
def batch(
    context: click.Context,
    job: str,
    words: tuple[str, ...],
    dataset: str | None,
    table: str | None,
    message_id: str | None,
    wait: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Run a Spark job as a batch on Dataproc Serverless, as a message to `launch_batch` does.

    JOB is reconcile, compare, pull, check or shred; its own arguments follow after --: onefold batch reconcile --dataset
    shop --table customer -- --keys id. What they leave out follows from --dataset and --table; `-- --help` lists them.
    Without --table, reconcile merges all tables of the dataset that have rows newer than their last merge. The job shred
    works on folders, so it has neither.
    """
    from onefold.spark.pull.places import source_of

    if job in FORMER_JOBS:
        say("yellow", former_name_warning(job))
    check_names(given(("dataset", dataset), ("table", table), ("project", project)))
    if not is_typed(context, "dataset"):
        dataset = None if names_databases(words) else _dataset_of_source(job, words) or dataset
    request = BatchRequest(job, dataset, table, words)
    arguments = request.form.parse(with_defaults(request))  # shows the job's own help and errors, which need no settings
    settings = read_settings(context)
    if isinstance(arguments, SourceArguments | DatabasesArguments) and settings.sources:
        for database in arguments.databases:
            source_of(settings, arguments.source, database)
    return run_batch(context, request, _identifier(message_id), wait=wait, dry_run=dry_run, project=project, as_json=as_json)


def run_batch(
    context: click.Context, request: BatchRequest, identifier: str, *, wait: bool, dry_run: bool, project: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Start a batch, print what became of it, and return the exit code.

    Args:
        context: holds the path of `--config`.
        request: what is to run.
        identifier: of the batch: the same one never starts a second batch.
        wait: whether to wait until the batch ends.
        dry_run: whether to say only what would be started.
        project: the option `--project`.
        as_json: whether to print JSON.
    """
    from onefold.adapters.dataproc import connect
    from onefold.batches.launch import launch, planned_batch

    settings, job = read_settings(context), request.job
    batches = connect(project or settings.project, settings.batch)
    if dry_run:
        _show_planned(planned_batch(batches.project, request, identifier, settings), identifier, as_json)
        return OK
    launched = launch(batches, request, identifier, settings)
    link = batch_link(batches.project, batches.region, launched.batch.id)
    if not as_json:
        click.echo(f"{launched.batch.id} {'created' if launched.created else 'exists already'}\n{link}")
    found = wait_for(batches, launched.batch) if wait else launched.batch
    report, warnings = _report(found) if found.state.ended else (None, [])
    started = {"id": identifier, "batch": found.id, "created": launched.created}
    return show_outcome(job, found, started, report, warnings=warnings, link=link, as_json=as_json)


def show_outcome(
    job: str, found: StoredBatch, started: Mapping[str, Any], report: Report | None, *, warnings: Sequence[str], link: str,
    as_json: bool,
) -> int:  # fmt: skip
    """Print what became of a batch, and return the exit code.

    Args:
        job: the job of the batch.
        found: the batch.
        started: the fields of JSON about its start.
        report: of the job; None where it has not ended, or has printed none.
        warnings: why there is no report, and the like.
        link: the address of a page about the batch.
        as_json: whether to print JSON.
    """
    if as_json:
        about = {"state": found.state.value, "message": found.message, "link": link, "report": report}
        echo_json([{**started, **about}], warnings=warnings)
    else:
        print_lines(*count_lines(report or {}), is_whole=True)
        for warning in warnings:
            say("yellow", warning)
        _show_state(job, found)
    if _found_differences(job, found):
        return CHANGES
    return ERROR if found.state in (BatchState.FAILED, BatchState.CANCELLED) else OK


def _dataset_of_source(job: str, words: tuple[str, ...]) -> str | None:
    """Return the dataset of a job that reads a source, as its own arguments say; None for other jobs."""
    form = JOBS[present_name(job)].of_dataset
    return form.parse(words).dataset if form and issubclass(form, SourceArguments) else None


def _show_planned(planned: Batch, identifier: str, as_json: bool) -> None:
    what = f"would run {planned.main} {shlex.join(planned.arguments)}"
    if as_json:
        started = {"id": identifier, "batch": planned.id, "created": False, "state": ""}
        echo_json([{**started, "message": what, "link": "", "report": None}])
    else:
        print_lines(f"{planned.id} {what}", is_whole=True)


def _found_differences(job: str, batch: StoredBatch) -> bool:
    """Return True for a comparison or a check that ended with exit code 2, which Dataproc reports as a failure."""
    return job in ("compare", "check") and batch.state is BatchState.FAILED and exit_code(batch) == CHANGES


def _identifier(given: str | None) -> str:
    """Return the identifier of `--id`, or a new one.

    Raises:
        InvalidInput: the identifier has another form.
    """
    if given is not None and not MESSAGE_ID.fullmatch(given):
        raise InvalidInput(f"--id {given!r} is invalid: use 1 to 200 letters, digits, underscores and hyphens")
    return given or uuid.uuid4().hex


def wait_for(batches: BatchReader, batch: StoredBatch) -> StoredBatch:
    """Wait until a batch has ended, show its state meanwhile, and return it."""
    from onefold.batches.launch import follow

    with progress_line(f"{batch.id}: {batch.state.value}") as line:
        return follow(batches, batch.id, lambda now: line(f"{now.id}: {now.state.value}"))


def _report(batch: StoredBatch) -> tuple[Report | None, list[str]]:
    """Return the report of the job of a batch, and why it cannot be shown."""
    from onefold.adapters.objects_at import run_objects_at

    if not batch.output:
        return None, []
    try:
        return read_report(run_objects_at(batch.output), batch.output.removeprefix("file://")), []
    except OnefoldError as error:
        return None, [f"the report of the job cannot be read: {error}"]


def _show_state(job: str, batch: StoredBatch) -> None:
    different = _found_differences(job, batch)
    print_lines(f"{batch.state.value}: the two sides differ" if different else batch.state.value)
    for text in batch.message.splitlines():
        say("red" if batch.state is BatchState.FAILED and not different else "yellow", text)
    if job == "compare" and batch.state is BatchState.FAILED and exit_code(batch) is None:
        say("yellow", "A comparison that finds differences fails as well, with exit code 2: see its log.")
