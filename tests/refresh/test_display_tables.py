"""The tables of the terminal: each cell, and nothing where there is nothing to show."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from refresh.test_display import shown
from rich.console import Console
from support.views import build, version

from onefold.changes.entry import SettingChange
from onefold.core.versioned_names import SkippedTable
from onefold.refresh.display import (
    show_casts,
    show_changes,
    show_columns,
    show_left_out,
    show_rows,
    show_settings,
)
from onefold.schema.diff import SchemaChange, Severity
from onefold.schema.types import STRING, Scalar
from onefold.schema.versions import Cast


def table(text: str) -> list[list[str]]:
    """Return a printed table: its title, its heads and its rows."""
    title, _, body = text.partition("┏")
    rows = [line.replace("┃", "│").split("│")[1:-1] for line in body.splitlines() if line.startswith(("┃", "│"))]
    return [[" ".join(title.split())], *([cell.strip() for cell in row] for row in rows)]


def test_changes_are_shown_with_their_types_and_severity() -> None:
    changes = [
        SchemaChange("added", "phone[0]", Severity.INFO, None, "STRING"),
        SchemaChange("retyped", "id", Severity.WARNING, "INT64", "STRING"),
        SchemaChange("removed", "fax", Severity.CRITICAL, "STRING", None),
    ]
    assert table(shown(lambda console: show_changes(console, changes))) == [
        ["changes of the schema"],
        ["change", "column", "from", "to", "severity"],
        ["added", "phone[0]", "", "STRING", "INFO"],
        ["retyped", "id", "INT64", "STRING", "WARNING"],
        ["removed", "fax", "STRING", "", "CRITICAL"],
    ]


def test_conversions_are_shown_with_what_they_can_lose() -> None:
    casts = [
        Cast(("abc", "fed"), "id", Scalar("INT64"), STRING, ()),
        Cast(("def",), "zip", STRING, Scalar("INT64"), ("not a number [a]", "NULL")),
    ]
    assert table(shown(lambda console: show_casts(console, casts))) == [
        ["conversions"],
        ["versions", "column", "landed as", "shown as", "can it lose anything?"],
        ["abc, fed", "id", "INT64", "STRING", "no"],
        ["def", "zip", "STRING", "INT64", "not a number [a]; NULL"],
    ]


def test_settings_are_shown_before_and_after() -> None:
    changes = [SettingChange("retire", None, "[abc]"), SettingChange("conversions", "classic", None)]
    assert table(shown(lambda console: show_settings(console, changes))) == [
        ["settings that would change: refresh needs --accept-settings"],
        ["setting", "before", "after"],
        ["retire", "default", "[abc]"],
        ["conversions", "classic", "default"],
    ]


def test_columns_are_shown_with_their_types() -> None:
    view = build([version("abc", "id INT64", "name STRING")])
    assert table(shown(lambda console: show_columns(console, view))) == [
        ["columns of the view"],
        ["column", "type"],
        ["id", "INT64"],
        ["name", "STRING"],
    ]


def test_tables_that_are_left_out_are_shown_with_the_reason_and_the_rest_is_counted() -> None:
    left_out = [SkippedTable(f"customer_v_{number}", "customer", "its name [x] is no version") for number in range(202)]
    text = shown(lambda console: show_left_out(console, "shop", left_out))
    found = table(text)
    assert found[:3] == [["left out in shop"], ["table", "why"], ["customer_v_0", "its name [x] is no version"]]
    assert len(found) == 202
    assert text.splitlines()[-1] == "  and 2 more tables: see --json"


def test_values_are_shown_as_bigquery_writes_them() -> None:
    rows = [
        (None, "NULL"),
        (True, "true"),
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02 03:04:05+00"),
        (Decimal("10.500"), "10.5"),
        (Decimal("100"), "100"),
        (Decimal("7.000"), "7"),
        (Decimal("1E+3"), "1000"),
        ("[größe]", "[größe]"),
    ]
    found = table(shown(lambda console: show_rows(console, "values", ["value", "text"], rows)))
    assert found[:2] == [["values"], ["value", "text"]]
    assert [first for first, _ in found[2:]] == [text for _, text in rows]


@pytest.mark.parametrize("show", [show_changes, show_casts, show_settings])
def test_nothing_is_shown_of_nothing(show: Callable[[Console, list[object]], None]) -> None:
    assert shown(lambda console: show(console, [])) == ""
