"""What differs between two schemas, as values."""

from __future__ import annotations

import pytest

from onefold.schema.columns import Column
from onefold.schema.diff import Severity, compare, highest_severity, view_created, view_removed
from onefold.schema.types import Struct, parse_type


def columns(text: str) -> tuple[Column, ...]:
    """Columns from the fields of a struct: `id INT64, name STRING`."""
    if not text:
        return ()
    struct = parse_type(f"STRUCT<{text}>")
    assert isinstance(struct, Struct)
    return tuple(Column(field.name, field.type) for field in struct.fields)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("id INT64", "id INT64", []),
        ("", "", []),
        ("ID INT64", "id INT64", ["WARNING respelled ID ID -> id"]),
        ("a INT64, b STRING", "b STRING, a INT64", ["CRITICAL reordered a, b -> b, a"]),
        ("a INT64, b DATE", "b DATE", ["CRITICAL removed a INT64"]),
        ("a INT64", "x DATE, a INT64", ["INFO added x DATE", "CRITICAL reordered a -> x, a"]),
        (
            "a INT64, b DATE",
            "a INT64, x DATE, B DATE",
            [
                "WARNING respelled b b -> B",
                "INFO added x DATE",
                "CRITICAL reordered a, b -> a, x, B",
            ],
        ),
        ("s STRUCT<a INT64, b DATE>", "s STRUCT<b DATE, a INT64>", ["CRITICAL reordered s a, b -> b, a"]),
        ("l ARRAY<STRUCT<a INT64>>", "l ARRAY<STRUCT<A INT64>>", ["WARNING respelled l.a a -> A"]),
        (
            "s STRUCT<t STRUCT<a DATE, b DATE>>",
            "s STRUCT<t STRUCT<b DATE, a DATE>>",
            ["CRITICAL reordered s.t a, b -> b, a"],
        ),
        ("name STRING(20)", "name STRING", []),
        ("id INT64", "id INT64, name STRING", ["INFO added name STRING"]),
        ("id INT64, name STRING", "id INT64", ["CRITICAL removed name STRING"]),
        ("name STRING", "title STRING", ["CRITICAL removed name STRING", "INFO added title STRING"]),
        ("id INT64", "id NUMERIC", ["WARNING retyped id INT64 -> NUMERIC"]),
        ("n NUMERIC", "n FLOAT64", ["WARNING retyped n NUMERIC -> FLOAT64"]),
        ("d DATE", "d TIMESTAMP", ["WARNING retyped d DATE -> TIMESTAMP"]),
        ("id INT64", "id STRING", ["CRITICAL retyped id INT64 -> STRING"]),
        ("b BOOL", "b INT64", ["CRITICAL retyped b BOOL -> INT64"]),
        ("d DATE", "d INT64", ["CRITICAL retyped d DATE -> INT64"]),
        ("j JSON", "j STRUCT<a INT64>", ["CRITICAL retyped j JSON -> STRUCT<a INT64>"]),
        ("r RANGE<DATE>", "r RANGE<DATETIME>", ["CRITICAL retyped r RANGE<DATE> -> RANGE<DATETIME>"]),
        ("s STRUCT<a INT64>", "s STRUCT<a INT64, b STRING>", ["INFO added s.b STRING"]),
        ("s STRUCT<a INT64, b STRING>", "s STRUCT<a INT64>", ["CRITICAL removed s.b STRING"]),
        ("s STRUCT<t STRUCT<a INT64>>", "s STRUCT<t STRUCT<a STRING>>", ["CRITICAL retyped s.t.a INT64 -> STRING"]),
        ("l ARRAY<INT64>", "l ARRAY<NUMERIC>", ["WARNING retyped l ARRAY<INT64> -> ARRAY<NUMERIC>"]),
        ("l ARRAY<INT64>", "l ARRAY<STRING>", ["CRITICAL retyped l ARRAY<INT64> -> ARRAY<STRING>"]),
        ("l INT64", "l ARRAY<INT64>", ["CRITICAL retyped l INT64 -> ARRAY<INT64>"]),
        ("l ARRAY<STRUCT<a INT64>>", "l ARRAY<STRUCT<a INT64, b DATE>>", ["INFO added l.b DATE"]),
        ("l ARRAY<STRUCT<a INT64>>", "l ARRAY<JSON>", ["CRITICAL retyped l ARRAY<STRUCT<a INT64>> -> ARRAY<JSON>"]),
        (
            "a INT64, b INT64, c INT64",
            "d INT64, c STRING, a NUMERIC",
            [
                "WARNING retyped a INT64 -> NUMERIC",
                "CRITICAL removed b INT64",
                "CRITICAL retyped c INT64 -> STRING",
                "INFO added d INT64",
                "CRITICAL reordered a, c -> d, c, a",
            ],
        ),
    ],
)
def test_changes_have_a_path_types_and_a_severity(old: str, new: str, changes: list[str]) -> None:
    assert [f"{change.severity.name} {change}" for change in compare(columns(old), columns(new))] == changes


def test_names_differ_in_case_for_letters_that_are_not_ascii() -> None:
    assert [str(change) for change in compare(columns("größe INT64"), columns("GRÖSSE INT64"))] == [
        "removed größe INT64",
        "added GRÖSSE INT64",
    ]


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [
        ("", "", Severity.INFO),
        ("", "a INT64", Severity.INFO),
        ("a INT64", "a NUMERIC, b DATE", Severity.WARNING),
        ("a INT64, b INT64", "a NUMERIC", Severity.CRITICAL),
    ],
)
def test_changes_together_have_the_highest_severity(old: str, new: str, severity: Severity) -> None:
    assert highest_severity(compare(columns(old), columns(new))) is severity


def test_a_change_of_order_shows_a_bounded_text() -> None:
    wide = columns(", ".join(f"column_{number} INT64" for number in range(1_000)))
    (change,) = compare(wide, wide[::-1])
    assert change.old
    assert change.new
    assert max(len(change.old), len(change.new)) <= 1_001
    assert change.old.startswith("column_0, column_1, ")
    assert change.new.startswith("column_999, column_998, ")


def test_a_new_view_is_info_and_a_removed_view_is_critical() -> None:
    assert view_created().severity is Severity.INFO
    assert view_removed().severity is Severity.CRITICAL


def test_a_change_is_plain_data_for_programs() -> None:
    (change,) = compare(columns("id INT64"), columns("id STRING"))
    assert change.as_dict() == {"kind": "retyped", "path": "id", "severity": "CRITICAL", "old": "INT64", "new": "STRING"}
