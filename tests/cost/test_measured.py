"""The costs of a dataset, from its metadata and the log of jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from onefold.changelog.metadata import CAPTURE_FIELDS, METADATA, METADATA_FIELDS, metadata_type
from onefold.core.errors import AccessDenied, NotFound
from onefold.cost.formulas import LEAST_QUERY, LINES, Line
from onefold.cost.measured import read_costs
from onefold.cost.prices import TIB, list_prices
from onefold.cost.report import CostReport, TableCost
from onefold.cost.savings import best_changes
from onefold.ports.existing import StoredLayout
from onefold.ports.listing import ListedTable, StoredSize
from onefold.ports.usage import LoggedJobs, StoredBytes
from onefold.schema.columns import Column
from onefold.schema.types import Scalar, Type
from onefold.settings.environment import Settings

NOW = datetime(2026, 11, 26, tzinfo=UTC)
OLD, YOUNG = NOW - timedelta(days=400), NOW - timedelta(days=10)
CUSTOMER = {
    "customer_v_abc": StoredBytes(2_000, 90_000_000, 300_000_000, 40_000_000, 60_000_000, OLD),
    "customer_v_def": StoredBytes(1_000, 10_000_000, created=YOUNG, active_physical=5_000_000, long_term_physical=0),
    "customer_base": StoredBytes(1_000, 50_000_000, created=OLD, active_physical=9_000_000, long_term_physical=0),
    "customer_merges": StoredBytes(30, 3_000, created=OLD, active_physical=3_000, long_term_physical=0),
    "orders_v_1": StoredBytes(10, 1_000, created=OLD, active_physical=500, long_term_physical=0),
}
MERGE = LoggedJobs(
    "QUERY",
    "MERGE",
    "shop.customer_base",
    frozenset({"shop.customer_v_abc", "shop.customer_base"}),
    True,
    720,
    90_000_000_000,
)
READ = LoggedJobs("QUERY", "SELECT", "", frozenset({"shop.customer_v_abc", "shop.customer_base"}), False, 60, 6_000_000_000)


TEXT_POSITION = Column("_position", Scalar("STRING"))


@dataclass
class Project:
    """A dataset `shop` of which metadata and the log of jobs are told; None is a log that may not be read."""

    stored: Mapping[str, StoredBytes] = field(default_factory=lambda: CUSTOMER)
    jobs: Sequence[LoggedJobs] | None = (MERGE, READ)
    position: Column = TEXT_POSITION
    other: Mapping[str, StoredBytes] | None = None
    """What `shop__onefold` stores; None where it does not exist."""
    project: str = "p"
    calls: list[str] = field(default_factory=list)

    def list_dataset(self, dataset: str) -> tuple[ListedTable, ...]:
        self.calls.append("tables")
        return tuple(ListedTable(name, False, one.created or OLD) for name, one in self._stored(dataset).items())

    def list_sizes(self, dataset: str) -> Mapping[str, StoredSize]:
        self.calls.append("sizes")
        return {name: StoredSize(one.rows, one.active) for name, one in self._stored(dataset).items()}

    def column_types(self, dataset: str, column: str) -> Mapping[str, Type]:
        self.calls.append("columns")
        assert (dataset, column) == ("shop", METADATA)
        captured = {name: metadata_type(CAPTURE_FIELDS) for name in self.stored if "_v_" in name}
        return captured | {name: metadata_type(METADATA_FIELDS) for name in self.stored if name == "lead"}

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        assert ".shop._loads`" in sql
        return [{"table_name": "orders", "loaded_at": NOW}]

    def list_layouts(self, dataset: str) -> Mapping[str, StoredLayout]:
        self.calls.append("layouts")
        stored = self._stored(dataset)
        columns = (Column("id", Scalar("INT64")), self.position)
        return {name: StoredLayout(columns) for name in stored}

    def list_stored(self, dataset: str) -> Mapping[str, StoredBytes]:
        self.calls.append("stored")
        return self._stored(dataset)

    def _stored(self, dataset: str) -> Mapping[str, StoredBytes]:
        found = {"shop": self.stored, "shop__onefold": self.other}.get(dataset)
        if found is None:
            raise NotFound(f"dataset {dataset} does not exist")
        return found

    def list_jobs(self, datasets: Collection[str], days: int) -> Sequence[LoggedJobs]:
        self.calls.append(f"jobs of {', '.join(datasets)} in {days} days")
        if self.jobs is None:
            raise AccessDenied("bigquery.jobs.listAll is missing")
        return self.jobs


def costs(project: Project | None = None, pattern: str = "*", days: int = 30) -> CostReport:
    return read_costs(project or Project(), "shop", pattern, Settings(), list_prices(), days, NOW)


def table(report: CostReport, name: str = "customer") -> TableCost:
    return next(one for one in report.tables if one.name == name)


def test_a_table_has_the_bytes_of_its_versions_and_of_its_base() -> None:
    usage = table(costs()).usage
    assert (usage.base_rows, usage.base_bytes) == (1_000, 50_000_000)
    assert (usage.active_bytes, usage.long_term_bytes) == (100_000_000, 300_000_000)


def test_what_lands_a_day_is_what_versions_stored_within_90_days_or_since_they_were_created() -> None:
    usage = table(costs()).usage
    assert usage.landed_bytes == pytest.approx(90_000_000 / 90 + 10_000_000 / 10)
    assert usage.landed_rows == pytest.approx(2_000_000 * 3_000 / 400_000_000)


def test_a_message_has_the_rows_of_all_captured_tables_in_half_a_second() -> None:
    few = table(costs()).usage
    assert few.rows_per_message == 1
    busy = {f"t{number}_v_1": StoredBytes(90 * 86_400, 90 * 86_400_000, created=OLD) for number in range(40)}
    assert {one.usage.rows_per_message for one in costs(Project(busy)).tables} == {20}


@pytest.mark.parametrize(
    ("line", "size", "is_measured"),
    [
        ("merges", 90_000_000_000, True),
        ("current views", 6_000_000_000, True),
        ("checks", 0, True),
        ("storage", 450_000_000, False),
    ],
)
def test_queries_cost_what_the_log_says_and_the_rest_is_by_formula(line: Line, size: int, is_measured: bool) -> None:
    charge = table(costs()).charges[line]
    assert (charge.bytes, charge.measured) == (size, is_measured)
    assert not is_measured or charge.usd == pytest.approx(size / TIB * 6.25)


def test_a_log_of_ten_days_counts_for_a_month_three_times() -> None:
    report = costs(days=10)
    assert report.sums["merges"].bytes == 3 * 90_000_000_000
    assert (table(report).usage.merges, table(report).usage.reads) == (72, 6)


def test_without_the_right_to_the_log_all_is_by_formula_and_a_warning_says_what_is_assumed() -> None:
    report = costs(Project(jobs=None))
    (warning,) = report.warnings
    assert "bigquery.jobs.listAll is missing" in warning
    assert "a merge of each base and ten queries" in warning
    assert (report.days, table(report).usage.merges, table(report, "orders").usage.merges) == (0, 1, 0)
    assert not any(charge.measured for charge in report.sums.values())


def test_a_base_with_packed_positions_has_shorter_keys() -> None:
    packed = Project(position=Column("_packed_position", Scalar("BYTES")))
    assert table(costs()).usage.key_bytes - table(costs(packed)).usage.key_bytes == 128 - 39


def test_a_pattern_chooses_tables_and_one_that_matches_none_is_an_error() -> None:
    assert [one.name for one in costs(pattern="ord*").tables] == ["orders"]
    with pytest.raises(NotFound, match="no table customers"):
        costs(pattern="customers")


def test_the_sums_are_those_of_the_tables_and_what_they_share() -> None:
    report = costs()
    assert report.usd == pytest.approx(sum(one.usd for one in report.tables))
    assert tuple(report.sums) == LINES


def test_the_number_of_calls_does_not_depend_on_the_number_of_tables() -> None:
    few, many = Project(), Project({f"t{number}_v_1": StoredBytes(1, 1) for number in range(500)})
    costs(few)
    costs(many)
    assert few.calls == many.calls
    assert few.calls[-1] == "jobs of shop in 30 days"


def test_physical_bytes_are_those_of_versions_base_and_log() -> None:
    assert table(costs()).physical == (54_003_000, 60_000_000)
    unknown: dict[str, Any] = {**CUSTOMER, "customer_base": StoredBytes(1, 1)}
    assert table(costs(Project(unknown))).physical is None


def test_a_dataset_that_bills_physical_bytes_pays_for_those_and_is_not_told_to() -> None:
    stored = {name: replace(one, is_physical=True) for name, one in CUSTOMER.items()}
    report = costs(Project(stored))
    charge = table(report).charges["storage"]
    assert charge.bytes == 54_003_000 + 60_000_000
    assert charge.usd == pytest.approx(0.054003 * 0.04 + 0.06 * 0.02)
    assert not [one for one in best_changes(report) if "physical" in one.text]


def test_jobs_in_a_reservation_are_told() -> None:
    warnings = costs(Project(jobs=[replace(READ, reserved=7)])).warnings
    assert warnings == ("7 of 60 jobs ran in a reservation: what their slots cost is not shown",)


def test_pulls_are_counted_by_load_jobs() -> None:
    log = frozenset({"shop.orders_v_1", "shop._loads"})
    jobs = [LoggedJobs("LOAD", "", "shop.orders_v_1", jobs=2_880), LoggedJobs("QUERY", "SELECT", "", log, True, 90, 900)]
    report = costs(Project({**CUSTOMER, "_loads": StoredBytes(1, 1)}, jobs))
    assert (table(report, "orders").usage.pulls, report.shared.batches) == (96, 96)
    assert table(report, "orders").usage.rows_per_message == 0
    assert table(report, "orders").charges["pulls"].bytes == 900


def test_a_base_in_a_dataset_of_its_own_belongs_to_its_table_and_one_that_is_not_there_yet_is_no_error() -> None:
    plain = {"lead": StoredBytes(100, 1_000, created=OLD)}
    own = {"lead_base": StoredBytes(50, 700, created=OLD), "lead_merges": StoredBytes(1, 10, created=OLD)}
    read = LoggedJobs("QUERY", "SELECT", "", frozenset({"shop.lead", "shop__onefold.lead_base"}), False, 30, 600)
    found = table(costs(Project(plain, [read], other=own)), "lead")
    assert (found.usage.base_rows, found.usage.reads, found.charges["current views"].bytes) == (50, 1, 600)
    assert table(costs(Project(plain)), "lead").usage.base_rows == 0


def test_a_table_that_is_never_queried_bills_nothing_for_it() -> None:
    found = table(costs(), "orders")
    assert found.charges["current views"].usd == 0
    assert found.usage.reads * LEAST_QUERY == 0
