"""Plans and prices in files: what they mean, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onefold.core.errors import InvalidInput
from onefold.cost.formulas import table_charges
from onefold.cost.planned import plan_report, read_plan
from onefold.cost.prices import Prices, list_prices, read_prices
from onefold.settings.schema_check import load_schema

PRICES = list_prices()


def test_a_file_replaces_the_prices_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("region: Zürich\nread: 2026-12 from the contract\nquery_tib: 8.75\n")
    assert read_prices(path) == replace(PRICES, region="Zürich", read="2026-12 from the contract", query_tib=8.75)
    assert read_prices(None) == PRICES


def test_each_price_has_a_description_and_a_list_price() -> None:
    described = load_schema("cost/prices.schema.json")["properties"]
    assert list(described) == list(vars(PRICES)) == list(Prices.__dataclass_fields__)
    assert all(one["description"] for one in described.values())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("query_tb: 5", ["query_tb"]),
        ("query_tib: cheap\nactive_gb: -1", ["prices.yaml:1: query_tib", "prices.yaml:2: active_gb"]),
        ("", ["prices.yaml: expected a mapping, got nothing"]),
    ],
)
def test_all_problems_of_a_file_of_prices_are_told_with_their_lines(tmp_path: Path, text: str, told: list[str]) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as error:
        read_prices(path)
    assert all(part in str(error.value) for part in told), error.value


def test_all_problems_of_a_plan_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("tenants: 0\ngroups:\n  orders:\n    row: 5\n    read_share: 2\n")
    with pytest.raises(InvalidInput) as error:
        read_plan(path, PRICES)
    assert [part in str(error.value) for part in ("plan.yaml:1: tenants", "orders.row", "read_share", "rows")] == [True] * 4


def test_a_missing_plan_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.yaml: cannot be read"):
        read_plan(tmp_path / "nowhere.yaml", PRICES)


def test_a_group_of_equal_tables_costs_as_many_times_as_much_as_one() -> None:
    group, few = {"rows": 1e6, "changes": 1e4, "checks": 1}, {"rows_per_message": 2}
    one, many = (
        plan_report("p", {**few, "groups": {"g": {**group, "tables": number}}}, PRICES).tables[0] for number in (1, 300)
    )
    assert many.usd == pytest.approx(300 * one.usd)


def test_tenants_share_tables_so_their_rows_are_in_one_base() -> None:
    plan = {"tenants": 50, "groups": {"g": {"rows": 1_000, "row_bytes": 340, "key_bytes": 160, "changes": 10}}}
    usage = plan_report("p", plan, PRICES).tables[0].usage
    assert (usage.base_rows, usage.base_bytes, usage.landed_bytes, usage.landed_rows) == (5e4, 5e4 * 500, 500 * 340, 500)
    assert (usage.active_bytes, usage.long_term_bytes) == (90 * 500 * 340, 270 * 500 * 340)


def test_a_message_of_a_plan_has_the_rows_of_a_server_in_half_a_second_unless_it_says_otherwise() -> None:
    plan = {"tenants": 100, "servers": 2, "groups": {"g": {"tables": 10, "rows": 1, "changes": 8_640}}}
    found = [plan_report("p", {**plan, **more}, PRICES).tables[0].usage for more in ({}, {"rows_per_message": 1.4})]
    assert [one.rows_per_message for one in found] == [25, 1.4]


def test_a_plan_without_merges_has_no_base() -> None:
    usage = plan_report("p", {"groups": {"g": {"rows": 1_000, "merges": 0}}}, PRICES).tables[0].usage
    assert (usage.base_rows, usage.base_bytes, table_charges(usage, PRICES)["merges"].usd) == (0, 0, 0)


def test_pulled_tables_share_the_batches_of_the_most_frequent_ones() -> None:
    plan = {"servers": 0, "groups": {"a": {"rows": 1, "pulls": 96}, "b": {"rows": 1, "pulls": 24}}}
    report = plan_report("p", plan, PRICES)
    assert (report.shared.batches, report.shared.servers) == (96, 0)
