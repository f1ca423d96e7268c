"""What a table costs, as one reckons it by hand, and the laws that hold for any usage."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.cost.formulas import (
    LEAST_QUERY,
    LINES,
    Line,
    SharedUsage,
    TableUsage,
    check_bytes,
    days_merged,
    merge_bytes,
    read_bytes,
    refresh_price,
    shared_charges,
    table_charges,
)
from onefold.cost.prices import GB, TIB, list_prices

PRICES = list_prices()
CUSTOMER = TableUsage(
    base_rows=1e6, base_bytes=1e9, key_bytes=160, active_bytes=3e9, long_term_bytes=9e9, landed_bytes=3e7, landed_rows=6e4,
    rows_per_message=100, merges=1, reads=10, read_share=0.2, checks=1, new_versions=2,
)  # fmt: skip
AMOUNT = st.floats(0, 1e12)
USAGES = st.builds(
    TableUsage, base_rows=AMOUNT, base_bytes=AMOUNT, active_bytes=AMOUNT, long_term_bytes=AMOUNT, landed_bytes=AMOUNT,
    landed_rows=AMOUNT, rows_per_message=st.sampled_from([0, 1.4, 100]), merges=st.floats(0.1, 100), reads=st.floats(0, 1e3),
    read_share=st.floats(0, 1), checks=st.floats(0, 10), pulls=st.sampled_from([0, 24, 96]), new_versions=st.floats(0, 50),
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "size", "usd"),
    [
        ("merges", 30 * (1.16e9 + 6 * LEAST_QUERY + 2 * 2 * 3e7), 30 * (1.16e9 + 6 * LEAST_QUERY + 1.2e8) / TIB * 6.25),
        ("current views", 300 * (0.2e9 + 0.32e9 + 3e7), 300 * 0.55e9 / TIB * 6.25),
        ("checks", 30 * (1e9 + 0.32e9 + 3e7), 30 * 1.35e9 / TIB * 6.25),
        ("pulls", 0, 0),
        ("functions", 9e8, 18_000 * (0.5 * 0.0000265 + 4e-7) + 2.7e9 / TIB * 40 + 0.9 * 0.025 + 32 * 0.0000989),
        ("storage", 13e9, 4 * 0.02 + 9 * 0.01),
        ("other queries", 0, 0),
    ],
)
def test_each_line_is_what_one_reckons_by_hand(line: Line, size: float, usd: float) -> None:
    charge = table_charges(CUSTOMER, PRICES)[line]
    assert charge.bytes == pytest.approx(size)
    assert charge.usd == pytest.approx(usd, rel=1e-4)


def test_a_refresh_costs_what_the_page_adds_up() -> None:
    assert refresh_price(PRICES) == pytest.approx(0.0000989, rel=2e-3)


def test_what_tables_share_is_an_instance_for_each_server_and_the_batches_of_pulls() -> None:
    shared = shared_charges(SharedUsage(servers=2, batches=96, batch_minutes=3), PRICES)
    assert shared["functions"].usd == pytest.approx(2 * 51.84)
    assert shared["pulls"].usd == pytest.approx(144 * 12 * 0.06 + 144 / 720 * 1200 * 0.04 + 2880 * LEAST_QUERY / TIB * 6.25)


def test_a_table_without_a_base_is_never_merged_and_each_query_reads_its_history() -> None:
    plain = replace(CUSTOMER, base_rows=0, base_bytes=0, merges=0)
    assert merge_bytes(plain) == 0
    assert read_bytes(plain) == pytest.approx(10 * 0.2 * 12e9)


def test_a_query_of_a_small_table_bills_the_least() -> None:
    assert read_bytes(TableUsage(base_rows=1, base_bytes=1, merges=1, reads=2)) == 2 * LEAST_QUERY


def test_a_pulled_table_has_files_and_queries_and_no_messages() -> None:
    pulled = table_charges(replace(CUSTOMER, pulls=24, rows_per_message=0), PRICES)
    assert pulled["functions"].usd == pytest.approx(32 * refresh_price(PRICES))
    files = 3 * 9e8 / GB * 0.02 + 30 * 25 / 1e6 * 5
    assert pulled["pulls"].usd == pytest.approx(PRICES.query(30 * 6 * LEAST_QUERY) + files)


@given(USAGES)
def test_every_table_has_every_line_and_none_is_below_zero(usage: TableUsage) -> None:
    charges = table_charges(usage, PRICES)
    assert tuple(charges) == LINES
    assert all(charge.usd >= 0 and charge.bytes >= 0 for charge in charges.values())


@given(USAGES, st.sampled_from(["base_bytes", "landed_bytes", "long_term_bytes", "reads", "checks"]))
def test_more_of_anything_never_costs_less(usage: TableUsage, name: str) -> None:
    more = replace(usage, **{name: getattr(usage, name) * 2 + 1})
    then = table_charges(more, PRICES)
    assert all(then[line].usd >= charge.usd for line, charge in table_charges(usage, PRICES).items())


@given(USAGES, st.floats(1, 50))
def test_merges_more_often_bill_more(usage: TableUsage, factor: float) -> None:
    assert merge_bytes(replace(usage, merges=usage.merges * factor)) >= merge_bytes(usage)
    assert days_merged(usage.merges * factor) >= days_merged(usage.merges)


@given(USAGES)
def test_a_check_reads_what_a_query_of_all_columns_reads(usage: TableUsage) -> None:
    assert check_bytes(replace(usage, checks=1)) == read_bytes(replace(usage, reads=1, read_share=1))
