"""The comparison of tests reports every difference between two tables, also between NULL and similar values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from support.current_state import Table, differences

ROW = {"id": 1, "name": None, "n": 0}
TWO = {**ROW, "id": 2}


def table(*rows: dict[str, Any]) -> Table:
    return Table(frozenset(ROW), rows)


def test_equal_rows_in_another_order_are_equal() -> None:
    assert differences(["id"], table(ROW, TWO), table(TWO, ROW)) == []


@pytest.mark.parametrize(
    "found",
    [
        table({**ROW, "name": ""}),
        table({**ROW, "n": None}),
        table({**ROW, "n": False}),
        table({**ROW, "n": Decimal(0)}),
        table({"id": 1, "n": 0}),
        table(ROW, ROW),
        table(ROW, TWO),
        table(),
        Table(frozenset({"id", "n"}), [ROW]),
        Table(frozenset({"id", "n", "name", "more"}), [ROW]),
    ],
    ids=["empty", "null", "false", "decimal", "absent", "twice", "more", "none", "column gone", "column more"],
)
def test_every_changed_row_is_a_difference(found: Table) -> None:
    assert differences(["id"], table(ROW), found)
    assert differences(["id"], found, table(ROW))
