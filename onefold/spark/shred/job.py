"""The job that shreds the files of events that no run has taken yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from onefold.batches.shred_arguments import ShredArguments
from onefold.core.errors import InvalidInput
from onefold.registry.registry import Registry
from onefold.shred.manifest import Manifest
from onefold.shred.plan import ShredPlan, plan_shred
from onefold.shred.report import ShredReport
from onefold.shred.runs import not_taken, problems_of_input
from onefold.shred.tally import Tally
from onefold.spark.shred.files import placed_tables
from onefold.spark.shred.form import FORMS
from onefold.spark.shred.output import Output
from onefold.spark.shred.places import find_events, plain_address
from onefold.spark.shred.write import count_records, write_run


def shred(spark: SparkSession, arguments: ShredArguments, read_registry: Callable[[], Registry]) -> ShredReport:
    """Shred the files of events that no manifest lists.

    Args:
        spark: the session.
        arguments: those of the job.
        read_registry: reads all schemas of the registry.

    Raises:
        InvalidInput: there are no such events, or the registry or the output cannot be used.
        InputsTaken: another run has read some of the same files, and finished first.
        OnefoldError: the registry or the output does not answer.
    """
    output = Output(spark, arguments.output)
    taken = output.read()
    found = find_events(spark, arguments.events)
    _check_inputs(found, output)
    inputs = not_taken(found, taken)
    if not inputs:
        return ShredReport(None, arguments.output, 0, len(found), dry_run=arguments.dry_run)
    started = datetime.now(UTC)
    plan = plan_shred(read_registry(), arguments.format, arguments.input, started)
    if arguments.dry_run:
        return _report(arguments, plan, count_records(spark, plan, inputs), len(inputs), len(found))
    removed = output.abandoned(started)
    for run in removed:
        output.remove(run)
    run = output.start(started)
    folder = output.run_folder(run)
    tally = write_run(spark, plan, inputs, folder)
    tables = placed_tables(spark, folder, plan, tally)
    output.finish(
        Manifest(
            run, plan.format, FORMS[plan.format].compression, plain_address(arguments.registry), tuple(inputs),
            tuple(sorted(tally.schemas)), tables, tally.events, dict(sorted(tally.bad.items())), started, datetime.now(UTC),
        )
    )  # fmt: skip
    return _report(arguments, plan, tally, len(inputs), len(found), run, tuple(removed))


def _report(
    arguments: ShredArguments,
    plan: ShredPlan,
    tally: Tally,
    inputs: int,
    found: int,
    run: str | None = None,
    removed: tuple[str, ...] = (),
) -> ShredReport:
    tables = {plan.tables[number].name: rows for number, rows in sorted(tally.rows.items())}
    bad = dict(sorted(tally.bad.items()))
    return ShredReport(run, arguments.output, inputs, found - inputs, tally.events, tables, bad, arguments.dry_run, removed)


def _check_inputs(found: Mapping[str, int], output: Output) -> None:
    """Check that no file of a run is read as an event, but for bad rows of finished runs.

    Raises:
        InvalidInput: there are such files.
    """
    root = f"{plain_address(output.folder.qualified())}/"
    inside = {address: address.removeprefix(root) for address in found if address.startswith(root)}
    problems = {place: problems_of_input(path, output.runs.finished) for place, path in inside.items()}
    if wrong := [f"--events: {place} {problem}" for place, problem in problems.items() if problem]:
        raise InvalidInput(wrong[:10])
