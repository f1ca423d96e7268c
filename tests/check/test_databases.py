"""Several databases of a source in one check: one that cannot be checked stops no other."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from onefold.batches.databases import DatabasesReport
from onefold.batches.report import count_lines
from onefold.batches.source_arguments import CheckArguments, CheckDatabasesArguments
from onefold.check.databases import check_databases
from onefold.check.report import CheckReport, TableCheck
from onefold.core.errors import Rejected

DOWN = Rejected("onefold@db:3306 cannot be read: no answer")


def checked(found: Mapping[str, Exception | TableCheck]) -> DatabasesReport[CheckReport]:
    """The report of databases, each of which fails or has one table."""

    def check_one(arguments: CheckArguments) -> CheckReport:
        outcome = found[arguments.database]
        if isinstance(outcome, Exception):
            raise outcome
        return CheckReport(arguments.dataset, (outcome,))

    return check_databases(CheckDatabasesArguments("fraud", tuple(found)), check_one)


@pytest.mark.parametrize(
    ("found", "exit_code"),
    [
        ({"a": TableCheck("t"), "b": TableCheck("t", skipped=("never loaded",))}, 0),
        ({"a": TableCheck("t"), "b": TableCheck("t", counts_differ=True)}, 2),
        ({"a": TableCheck("t"), "b": DOWN}, 2),
        ({"a": DOWN, "b": ValueError("no driver")}, 1),
    ],
)
def test_the_exit_code_is_that_of_all_databases(found: Mapping[str, Exception | TableCheck], exit_code: int) -> None:
    assert checked(found).exit_code(lambda one: 2 if one.differs else 0) == exit_code


def test_a_database_that_cannot_be_checked_is_reported_and_stops_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    report = checked({"down": DOWN, "models": TableCheck("score")})
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (line["severity"], line["event"], line["dataset"], line["reasons"]) == (
        "ERROR", "database_not_checked", "fraud_down", [str(DOWN)],
    )  # fmt: skip
    down, models = json.loads(report.to_json())["datasets"]
    assert (down["dataset"], down["reasons"], down["tables"]) == ("fraud_down", [str(DOWN)], [])
    assert models == json.loads(CheckReport("fraud_models", (TableCheck("score"),)).to_json())
    assert "fraud_models: score: rows 0, chunks 0, fixed 0, moving 0" in list(count_lines(json.loads(report.to_json())))
    assert report.summary().splitlines()[-1] == "2 databases, 1 failed"


def test_each_database_is_checked_by_the_arguments_of_all() -> None:
    asked = CheckDatabasesArguments("fraud", ("a", "b"), tables=("t*",), rows=5, whole=True, fix=True, parallel=2)
    assert asked.checks == tuple(
        CheckArguments("fraud", name, tables=("t*",), rows=5, whole=True, fix=True, parallel=2) for name in ("a", "b")
    )
