"""Pulls several databases of a source in one run. They share its threads, and one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

from onefold.batches.databases import DatabasesReport, report_of
from onefold.batches.source_arguments import PullArguments, PullDatabasesArguments
from onefold.pull.read.pull import Threads, started_threads
from onefold.pull.read.report import PullReport

PullOne = Callable[[PullArguments, Threads], PullReport]
"""Pulls the tables of one database by threads that are shared."""


def pull_databases(
    arguments: PullDatabasesArguments, pull_one: PullOne, failure: Callable[[Exception], str] = repr
) -> DatabasesReport[PullReport]:
    """Pull the tables of several databases, as many tables of all of them at the same time as the arguments say.

    Args:
        arguments: those of the job.
        pull_one: pulls the tables of one database.
        failure: returns the text of an error that is none of Onefold's.

    Raises:
        InvalidInput: the request is dated in the future.
    """
    asked = replace(arguments, at=arguments.asked_at(datetime.now(UTC)))

    def pull(one: PullArguments) -> PullReport:
        def failed(reasons: tuple[str, ...]) -> PullReport:
            return PullReport(one.dataset, one.window, (), reasons)

        return report_of(lambda: pull_one(one, threads), failed, "database_not_pulled", failure)

    # A database that waits for its tables must not take the place of one of them.
    with started_threads(asked.parallel) as threads, ThreadPoolExecutor(asked.parallel, "database") as of_databases:
        return DatabasesReport(tuple(of_databases.map(pull, asked.pulls)))
