"""Pulls several databases of a source in one run. They share its threads, and one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from onefold.batches.source_arguments import DatabasesArguments, PullArguments
from onefold.core.errors import OnefoldError
from onefold.core.log import log
from onefold.pull.read.pull import Threads, started_threads
from onefold.pull.read.report import DatabasesReport, PullReport

PullOne = Callable[[PullArguments, Threads], PullReport]
"""Pulls the tables of one database by threads that are shared."""


def pull_databases(
    arguments: DatabasesArguments, pull_one: PullOne, failure: Callable[[Exception], str] = repr
) -> DatabasesReport:
    """Pull the tables of several databases, as many tables of all of them at the same time as the arguments say.

    Args:
        arguments: those of the job.
        pull_one: pulls the tables of one database.
        failure: returns the text of an error that is none of Onefold's.

    Raises:
        InvalidInput: the request is dated in the future.
    """
    asked = arguments.asked_at(datetime.now(UTC))
    # A database that waits for its tables must not take the place of one of them.
    with started_threads(asked.parallel) as threads, ThreadPoolExecutor(asked.parallel, "database") as of_databases:
        pulled = of_databases.map(lambda one: _report(one, lambda: pull_one(one, threads), failure), asked.pulls)
        return DatabasesReport(tuple(pulled))


def _report(asked: PullArguments, work: Callable[[], PullReport], failure: Callable[[Exception], str]) -> PullReport:
    """Pull a database. No error leaves this function, or it would stop the other databases."""
    try:
        return work()
    except OnefoldError as error:
        reasons = tuple(str(error).splitlines())
    except Exception as error:  # noqa: BLE001 Spark, the driver and BigQuery raise errors of many classes
        reasons = (failure(error),)
    report = PullReport(asked.dataset, asked.window, (), reasons)
    log("ERROR", report.summary(), event="database_not_pulled", dataset=asked.dataset, reasons=list(reasons))
    return report
