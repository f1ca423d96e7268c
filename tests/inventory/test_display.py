"""What a person sees of tables, in terminals of usual widths."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from onefold.core.names import TableId
from onefold.inventory.display import show_tables
from onefold.inventory.summary import TableSummary, ViewState

CUSTOMER = TableId("p", "shop", "customer")
VIEWS = tuple(
    ViewState(kind, CUSTOMER.sibling(f"customer_{kind}"), "up to date") for kind in ("unified", "current", "clean")
)
TABLES = [
    TableSummary(CUSTOMER, "captured", ("a", "b"), views=VIEWS, rows=12_345_678, landed_at=datetime(2026, 1, 2, tzinfo=UTC)),
    TableSummary(TableId("p", "shop", "order_line"), "plain", views=VIEWS[1:], problems=("its key is unknown",)),
]


def shown(width: int, tables: list[TableSummary]) -> list[str]:
    out = io.StringIO()
    show_tables(Console(file=out, width=width, highlight=False), tables)
    return out.getvalue().splitlines()


def test_a_wide_terminal_shows_all_columns() -> None:
    assert shown(130, TABLES)[0].split("  ")[-1] == "problems"
    assert "2026-01-02 00:00" in shown(130, TABLES)[1]


def test_a_narrow_terminal_shows_fewer_columns_and_wraps_none() -> None:
    lines = shown(80, TABLES)
    assert lines[0].split() == ["table", "kind", "versions", "views", "rows", "problems"]
    assert [line.split()[0] for line in lines[1:6]] == [
        "shop.customer",
        "current",
        "clean",
        "shop.order_line",
        "clean",
    ]
    assert "130 columns, or --json, show size, newest landing, last merge and last check" in lines


@pytest.mark.parametrize("width", [80, 130])
def test_no_table_is_a_line_of_heads(width: int) -> None:
    lines = shown(width, [])
    assert lines[-1] == "0 tables, 0 with problems"
    assert "terminal" not in "".join(lines)
