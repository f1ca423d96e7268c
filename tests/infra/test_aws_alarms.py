"""Alarms of infra/aws: each filter matches the line that the shredder or the loader really logs, and no other one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.aws_values import AWS, copy_values, value
from support.cloudwatch_filters import field, matches, metric_value
from support.hcl_text import expression, resources

from onefold.core.errors import InvalidInput
from onefold.core.log import log
from onefold.events.load.external import ExternalReport
from onefold.events.load.log import log_external, log_report, log_waiting
from onefold.events.load.queue_handler import QueueHandler
from onefold.events.load.report import EventTableReport, RunReport
from onefold.events.shred.alarms import log_late, log_run
from onefold.events.shred.manifest import RunManifest

SHRED = '{ events = ["s3://acme-collector/good"], registries = ["s3://acme-registry"] }'
NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
RUNS = "s3://acme-events/shredded"
UNKNOWN = "the registry has no schema iglu:com.acme/x/jsonschema/1-0-0: add it"
ALARMS = (
    *("many_bad_events", "new_bad_reason", "unknown_schema", "run_without_manifest"),
    *("recovery_table", "table_not_loaded", "run_refused", "external_table_failed", "load_failed", "failed"),
)


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_values(tmp_path_factory.mktemp("aws"))


class Failing:
    """A loader that raises its error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def load(self) -> Iterator[RunReport]:
        raise self.error


def shred_everything_wrong() -> None:
    """A run with bad rows for a new reason and of an unknown schema, while another one has no manifest."""
    reasons = {UNKNOWN: 1, 'many_bad_events: "unknown_schema"': 1}
    bad = {"invalid": 2}
    run = RunManifest("2026-11-23-08-00-00", "csv", "none", "r", (), (), (), 2, bad, NOW, NOW, reasons=reasons)
    log_run(RUNS, run, (), bad_percent=5)
    log_late(RUNS, ["2026-11-23-06-00-00"], 2.0)


def load_everything_wrong() -> None:
    """A run with a recovery table and a table that fails, a run that is refused, and calls that end by an error."""
    tables = (
        EventTableReport("com_acme_click_1r0f", "1r0f", "loaded", 1, "create", is_news=True),
        EventTableReport("com_acme_page_1", "1", "failed", 1, error=InvalidInput("other columns")),
    )
    log_report(RunReport(f"{RUNS}/run=2026-11-23-08-00-00", tables, 0), log)
    log_report(RunReport(f"{RUNS}/run=2026-11-23-07-00-00", error=InvalidInput("no manifest")), log)
    log_report(RunReport(f"{RUNS}/run=2026-11-23-06-00-00"), log)
    log_external(ExternalReport("com_acme_page_1", "create", (RUNS,)), log)
    log_external(ExternalReport("com_acme_page_1", error=InvalidInput("other types")), log)
    for error in (InvalidInput("no schema"), ZeroDivisionError("a bug")):
        try:
            QueueHandler(Failing(error)).handle({"Records": [{"messageId": "m", "body": "{}"}]})  # type: ignore[arg-type]
        except ZeroDivisionError:
            continue


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """All lines that the two print, and some of others in the same logs."""
    shred_everything_wrong()
    load_everything_wrong()
    log_waiting([f"{RUNS}/run=2026-11-23-07-59-00"], NOW, log)
    found = capsys.readouterr()
    others = ["START RequestId: 1 Version: $LATEST", "26/11/23 WARN unknown_schema failed", '{"event": 5}', "[]", ""]
    return [*found.err.splitlines(), *found.out.splitlines(), *others]


def test_each_alarm_has_its_own_line_and_no_other_one(values: Path, lines: list[str]) -> None:
    patterns = value(values, "local.log_patterns", shred=SHRED)
    assert set(patterns) == set(ALARMS)
    for name, pattern in patterns.items():
        assert [field(line, "event") for line in lines if matches(pattern, line)] == [name]


def test_an_alarm_watches_the_log_that_has_its_line(values: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = {name: one["log"] for name, one in value(values, "local.log_alarms", shred=SHRED).items()}
    shred_everything_wrong()
    # Standard output of the job has its report alone; both streams of the driver are in the log of the shredder.
    of_job = {field(line, "event") for line in capsys.readouterr().err.splitlines()}
    load_everything_wrong()
    of_loader = {field(line, "event") for line in capsys.readouterr().out.splitlines()}
    assert logs == {name: "shredder" if name in of_job else "loader" for name in ALARMS}
    assert set(ALARMS) <= of_job | of_loader


def test_the_age_of_the_oldest_run_is_the_value_of_its_metric(values: Path, lines: list[str]) -> None:
    pattern = value(values, "local.age_pattern", shred=SHRED)
    (line,) = (line for line in lines if matches(pattern, line))
    filter_ = resources(AWS)["aws_cloudwatch_log_metric_filter.age"]
    assert metric_value(json.loads(str(expression(filter_, "value"))), line) == 3660
    alarm = resources(AWS)["aws_cloudwatch_metric_alarm.age"]
    assert expression(alarm, "threshold") == "3600"
    assert expression(alarm, "treat_missing_data") == '"breaching"'


def test_every_alarm_and_the_budget_tell_the_topic() -> None:
    told = {name: body for name, body in resources(AWS).items() if name.startswith("aws_cloudwatch_metric_alarm.")}
    assert {name.partition(".")[2] for name in told} == {"event", "age", "queue", "function", "starter"}
    assert {expression(body, "alarm_actions") for body in told.values()} == {"[aws_sns_topic.alarms[0].arn]"}
    budget = resources(AWS)["aws_budgets_budget.costs"]
    assert budget.count("subscriber_sns_topic_arns = [aws_sns_topic.alarms[0].arn]") == budget.count("notification {") == 2


@pytest.mark.parametrize("pattern", ["ERROR", "{ $.event }", "{ $.a = 1 || $.b = 2 }", '{ $.a > "x" }'])
def test_a_pattern_that_the_tests_cannot_judge_is_an_error(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|expected"):
        matches(pattern, '{"a": "x"}')
