"""The process of the job that pulls tables: `spark_jobs/pull.py`, and `spark_jobs/extract.py` by its former name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onefold.batches.source_arguments import PullArguments, PullDatabasesArguments, parse_pull
from onefold.pull.read.databases import pull_databases
from onefold.settings.environment import load_settings
from onefold.spark.job import run_job, show, summary
from onefold.spark.pull.job import pull
from onefold.spark.pull.places import destination_of, source_of
from onefold.spark.session import open_session

if TYPE_CHECKING:
    from onefold.batches.databases import DatabasesReport
    from onefold.pull.read.pull import Threads
    from onefold.pull.read.report import PullReport


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    return run_job("pull", argv, lambda: _run(parse_pull(argv)))


def _run(arguments: PullArguments | PullDatabasesArguments) -> int:
    """Run the job for one database or for several, print its report, and return the exit code."""
    if isinstance(arguments, PullArguments):
        one = run(arguments)
        show(one)
        return one.exit_code
    report = run_all(arguments)
    show(report)
    return report.exit_code(lambda database: database.exit_code)


def run(arguments: PullArguments) -> PullReport:
    """Pull the tables of a database and load them."""
    # BigQuery's clients are not needed where the arguments are wrong.
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.spark.pull.loads import loads_of

    settings = load_settings(os.environ)
    source_of(settings, arguments.source, arguments.database)
    loads = loads_of(settings, arguments.dataset, destination_of(settings), RestPublisher)
    return pull(open_session("onefold pull"), arguments, settings, loads, os.environ)


def run_all(arguments: PullDatabasesArguments) -> DatabasesReport[PullReport]:
    """Pull the tables of several databases and load them, by one session."""
    # As above.
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.spark.pull.loads import loads_of

    settings = load_settings(os.environ)
    to = destination_of(settings)
    spark = open_session("onefold pull")

    def pull_one(asked: PullArguments, threads: Threads) -> PullReport:
        return pull(spark, asked, settings, loads_of(settings, asked.dataset, to, RestPublisher), os.environ, threads)

    return pull_databases(arguments, pull_one, summary)
