"""Several databases of a source in one run: one that fails stops no other, and all share the threads of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest

from onefold.batches.databases import DatabasesReport
from onefold.batches.report import count_lines
from onefold.batches.source_arguments import PullArguments, PullDatabasesArguments
from onefold.core.errors import InvalidInput, NotFound
from onefold.pull.read.databases import pull_databases
from onefold.pull.read.pull import Threads
from onefold.pull.read.report import PullReport, TableReport

AT = datetime(2026, 5, 3, 12, tzinfo=UTC)
GONE = NotFound("no table of the database gone is visible to the user; it has none")


def asked(*databases: str, **changes: Any) -> PullDatabasesArguments:
    return PullDatabasesArguments("fraud", databases, "15m", at=AT, **changes)


def reported(arguments: PullArguments, outcome: Any = "loaded") -> PullReport:
    table = TableReport("score", outcome, rows=5, files=1)
    return PullReport(arguments.dataset, arguments.window, (table,))


def pulled(found: Mapping[str, Exception | str]) -> DatabasesReport[PullReport]:
    """The report of databases, each of which fails or has a table of the outcome."""

    def pull_one(arguments: PullArguments, threads: Threads) -> PullReport:
        outcome = found[arguments.database]
        if isinstance(outcome, Exception):
            raise outcome
        return threads.of_tables.submit(reported, arguments, outcome).result()

    return pull_databases(asked(*found, parallel=1), pull_one)


@pytest.mark.parametrize(
    ("found", "exit_code"),
    [
        ({"a": "loaded", "b": "skipped"}, 0),
        ({"a": "loaded", "b": "failed"}, 2),
        ({"a": "missing"}, 2),
        ({"gone": GONE, "b": "loaded"}, 2),
        ({"gone": GONE, "lost": ValueError("no driver")}, 1),
    ],
)
def test_the_exit_code_is_that_of_all_databases(found: Mapping[str, Exception | str], exit_code: int) -> None:
    assert pulled(found).exit_code(lambda one: one.exit_code) == exit_code


def test_a_database_that_fails_is_reported_and_stops_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    report = pulled({"gone": GONE, "lost": ValueError("no driver"), "models": "loaded"})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["severity"], line["event"], line["dataset"], line["reasons"]) for line in lines] == [
        ("ERROR", "database_not_pulled", "fraud_gone", [str(GONE)]),
        ("ERROR", "database_not_pulled", "fraud_lost", ["ValueError('no driver')"]),
    ]
    assert [(one.dataset, one.count("loaded")) for one in report.databases] == [
        ("fraud_gone", 0), ("fraud_lost", 0), ("fraud_models", 1),
    ]  # fmt: skip
    assert report.summary().splitlines()[-1] == "3 databases, 2 failed"


def test_the_report_has_that_of_each_database_as_a_pull_of_it_alone_has() -> None:
    report = pulled({"gone": GONE, "models": "loaded"})
    gone, models = json.loads(report.to_json())["datasets"]
    assert models == json.loads(reported(PullArguments("fraud", "models", "15m")).to_json())
    assert (gone["dataset"], gone["reasons"], gone["tables"]) == ("fraud_gone", [str(GONE)], [])
    lines = list(count_lines(json.loads(report.to_json())))
    assert "fraud_models: score: rows 5, files 1, bytes 0, rows_above 0, rows_without_watermark 0" in lines


def test_databases_are_pulled_at_the_same_time_by_the_threads_of_the_run() -> None:
    both = Barrier(2)

    def pull_one(arguments: PullArguments, threads: Threads) -> PullReport:
        both.wait(60)  # neither goes on before the other has begun
        return threads.of_tables.submit(reported, arguments).result()

    assert pull_databases(asked("a", "b", parallel=2), pull_one).exit_code(lambda one: one.exit_code) == 0


def test_all_databases_have_the_same_time_of_the_request() -> None:
    times = []

    def pull_one(arguments: PullArguments, _: Threads) -> PullReport:
        times.append(arguments.at)
        return reported(arguments)

    pull_databases(PullDatabasesArguments("fraud", ("a", "b"), "15m"), pull_one)
    assert len(times) == 2
    assert times[0] == times[1] is not None


def test_a_request_of_a_time_to_come_is_refused_for_all() -> None:
    late = PullDatabasesArguments("fraud", ("a", "b"), "15m", at=datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(InvalidInput, match="which is to come"):
        pull_databases(late, lambda arguments, _: reported(arguments))
