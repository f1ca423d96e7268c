"""Which line a job belongs to, and what the log says of each table."""

from __future__ import annotations

import pytest

from onefold.cost.formulas import Line
from onefold.cost.jobs import line_of, measured
from onefold.ports.usage import LoggedJobs

OWNERS = {
    "shop.customer_v_abc": ("customer", "version"), "shop.customer_base": ("customer", "base"),
    "shop.customer_merges": ("customer", "log"), "shop.orders_v_1": ("orders", "version"),
}  # fmt: skip


def job(kind: str = "QUERY", statement: str = "SELECT", written: str = "", read: str = "", **more: object) -> LoggedJobs:
    names = frozenset(f"shop.{name}" for name in read.split())
    return LoggedJobs(kind, statement, f"shop.{written}" if written else "", names, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (job(statement="MERGE", written="customer_base", read="customer_v_abc customer_base"), "merges"),
        (job(statement="INSERT", written="customer_merges"), "merges"),
        (job(read="customer_merges customer_v_abc"), "merges"),
        (job(read="customer_v_abc", own=True), "merges"),
        (job(read="customer_v_abc customer_base"), "current views"),
        (job(read="customer_v_abc"), "other queries"),
        (job(read="customer_v_abc customer_base onefold_tmp_check_1", own=True), "checks"),
        (job(statement="INSERT", written="_checks", read="customer_v_abc"), "checks"),
        (job("LOAD", "", "customer_v_abc"), "pulls"),
        (job(statement="DELETE", written="customer_v_abc"), "pulls"),
        (job(read="customer_v_abc _loads", own=True), "pulls"),
    ],
)
def test_a_job_belongs_to_a_line_by_what_it_reads_and_writes(one: LoggedJobs, line: Line) -> None:
    kinds = frozenset(OWNERS[table][1] for table in one.tables if table in OWNERS)
    assert line_of(one, kinds) == line


def test_the_bytes_of_a_job_are_divided_among_its_tables_and_none_is_lost() -> None:
    found = measured([job(read="customer_v_abc customer_base orders_v_1", billed=100, jobs=3)], OWNERS.get)
    assert {name: one.billed["current views"] for name, one in found.items()} == {"customer": 50, "orders": 50}
    assert found["orders"].jobs["current views"] == 3


def test_merges_are_counted_by_the_statements_that_write_the_base() -> None:
    merge = job(statement="MERGE", written="customer_base", read="customer_v_abc", jobs=48, billed=480)
    count = job(read="customer_v_abc", own=True, jobs=48, billed=20)
    found = measured([merge, count], OWNERS.get)["customer"]
    assert (found.merges, found.billed["merges"]) == (48, 500)


def test_a_job_about_other_tables_counts_nowhere() -> None:
    assert measured([LoggedJobs("QUERY", "SELECT", read=frozenset({"crm.lead"}), billed=5)], OWNERS.get) == {}
