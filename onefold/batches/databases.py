"""Work on several databases of a source in one job: one that fails does not stop the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from onefold.core.errors import OnefoldError
from onefold.core.log import log
from onefold.core.text import counted


class DatabaseReport(Protocol):
    """What became of one database."""

    @property
    def dataset(self) -> str:
        """The dataset of its tables."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there was no work on any of its tables; empty where there was."""

    def as_dict(self) -> dict[str, Any]:
        """Return the report in the form of JSON."""

    def summary(self) -> str:
        """Return the report for people."""


Report = TypeVar("Report", bound=DatabaseReport)


@dataclass(frozen=True)
class DatabasesReport(Generic[Report]):
    """What became of several databases, in the order in which they were named."""

    databases: tuple[Report, ...]

    def exit_code(self, code_of: Callable[[Report], int]) -> int:
        """Return 0 where the code of each database is 0, 1 where there was no work on any database, else 2."""
        if all(database.reasons for database in self.databases):
            return 1
        return 2 if any(database.reasons or code_of(database) for database in self.databases) else 0

    def to_json(self) -> str:
        """Return the report as one line of JSON."""
        return json.dumps({"datasets": [database.as_dict() for database in self.databases]}, ensure_ascii=False)

    def summary(self) -> str:
        """Return the report for people: that of each database, and the number of those that failed."""
        failed = sum(bool(database.reasons) for database in self.databases)
        last = f"{counted(len(self.databases), 'database')}, {failed} failed"
        return "\n".join([*(database.summary() for database in self.databases), last])


def report_of(
    work: Callable[[], Report], failed: Callable[[tuple[str, ...]], Report], event: str, failure: Callable[[Exception], str]
) -> Report:
    """Work on a database, and return its report. No error leaves this function, or it would stop the other databases.

    Args:
        work: works on the tables of the database.
        failed: returns the report of a database of which no table could be worked on, with the reasons.
        event: that of the line of the log about such a database.
        failure: returns the text of an error that is none of Onefold's.
    """
    try:
        return work()
    except OnefoldError as error:
        reasons = tuple(str(error).splitlines())
    except Exception as error:  # noqa: BLE001 Spark, the driver and BigQuery raise errors of many classes
        reasons = (failure(error),)
    report = failed(reasons)
    log("ERROR", report.summary(), event=event, dataset=report.dataset, reasons=list(reasons))
    return report
