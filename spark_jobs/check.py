"""The batch that checks the tables of one or several databases against their source. See docs/reference/checks.md.

Exit codes: 0 no difference, or all of them repaired; 1 an error, wrong usage included; 2 differences, or tables that could
not be checked. With ONEFOLD_DIFFERENCES=log differences end with 0, since Dataproc calls every other code a failure: a
CRITICAL line with the event `check_failed` reports each table that differs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from onefold.batches.source_arguments import CheckArguments, CheckDatabasesArguments, parse_check
from onefold.check.databases import check_databases
from onefold.settings.environment import Settings, load_settings
from onefold.spark.job import run_job, show, summary
from onefold.spark.session import open_session

if TYPE_CHECKING:
    import pymysql

    from onefold.check.report import CheckReport
    from onefold.pull.read.part import FileDestination
    from onefold.pull.read.pull import Reader
    from onefold.settings.sources import Source


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    return run_job("check", argv, lambda: run(parse_check(argv)))


def run(arguments: CheckArguments | CheckDatabasesArguments) -> int:
    """Check the tables, print the report as JSON, and return the exit code."""
    settings = load_settings(os.environ)
    if isinstance(arguments, CheckArguments):
        one = _check(arguments, settings)
        show(one)
        return ended(one, settings)
    report = check_databases(arguments, lambda asked: _check(asked, settings), summary)
    show(report)
    return report.exit_code(lambda database: ended(database, settings))


def _check(arguments: CheckArguments, settings: Settings) -> CheckReport:
    # BigQuery's clients are not needed where the arguments are wrong.
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.spark.check.job import check
    from onefold.spark.pull.places import destination_of, source_of

    source_of(settings, arguments.source, arguments.database)
    destination_of(settings)
    return check(arguments, settings, os.environ, _reader, RestPublisher, summary)


def ended(report: CheckReport, settings: Settings) -> int:
    """Return the exit code of a check. Differences are in the log where the settings ask for that.

    Args:
        report: of the check.
        settings: those of the installation.
    """
    differs = report.count("different") and settings.differences != "log"
    return 2 if differs or report.count("failed") else 0


def _reader(source: Source, password: str, _: Callable[[], pymysql.Connection], to: FileDestination) -> Reader:
    from onefold.pull.read.connection import SourceConnection
    from onefold.spark.pull.reader import SparkReader

    return SparkReader(open_session("onefold check"), SourceConnection.of(source, password), to)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
