"""Checks several databases of a source in one run, one after the other. One that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable

from onefold.batches.databases import DatabasesReport, report_of
from onefold.batches.source_arguments import CheckArguments, CheckDatabasesArguments
from onefold.check.report import CheckReport

CheckOne = Callable[[CheckArguments], CheckReport]
"""Checks the tables of one database."""


def check_databases(
    arguments: CheckDatabasesArguments, check_one: CheckOne, failure: Callable[[Exception], str] = repr
) -> DatabasesReport[CheckReport]:
    """Check the tables of several databases.

    Args:
        arguments: those of the job.
        check_one: checks the tables of one database.
        failure: returns the text of an error that is none of Onefold's.
    """

    def check(one: CheckArguments) -> CheckReport:
        def failed(reasons: tuple[str, ...]) -> CheckReport:
            return CheckReport(one.dataset, (), reasons)

        return report_of(lambda: check_one(one), failed, "database_not_checked", failure)

    return DatabasesReport(tuple(map(check, arguments.checks)))
