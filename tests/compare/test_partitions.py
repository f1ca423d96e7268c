"""Partition folders: the columns of their names, their types, and which folders are refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from onefold.compare.partitions import NULL, decoded, folders_above, partitions_of
from onefold.core.errors import InvalidInput


def typed(*spelled: str) -> tuple[str | None, list[Any]]:
    """Return the type and the values of a column whose folders have these values."""
    (partition,) = partitions_of("lake", {f"{number}.parquet": [("p", one)] for number, one in enumerate(spelled)})
    return str(partition.type) if partition.type else None, [partition.value(one) for one in spelled]


@pytest.mark.parametrize(
    ("spelled", "type_", "values"),
    [
        (("0", "-7", "9223372036854775807"), "INT64", [0, -7, 2**63 - 1]),
        (("9223372036854775808",), "NUMERIC", [Decimal(2**63)]),
        (("1", "-0.5"), "NUMERIC", [Decimal(1), Decimal("-0.5")]),
        (("1" * 29 + ".123456789",), "NUMERIC", [Decimal("1" * 29 + ".123456789")]),
        (("1" * 30,), "STRING", ["1" * 30]),
        (("0.1234567891",), "STRING", ["0.1234567891"]),
        (("01", "2"), "STRING", ["01", "2"]),
        (("1.50",), "STRING", ["1.50"]),
        (("-0",), "STRING", ["-0"]),
        (("+1",), "STRING", ["+1"]),
        (("١",), "STRING", ["١"]),
        (("2024-01-01", "0001-01-01"), "DATE", [datetime.date(2024, 1, 1), datetime.date(1, 1, 1)]),
        (("2024-02-30",), "STRING", ["2024-02-30"]),
        (("20240101",), "INT64", [20240101]),
        (("2024-01-01", "1"), "STRING", ["2024-01-01", "1"]),
        (("2024-01-01 10%3A00%3A00",), "STRING", ["2024-01-01 10:00:00"]),
        (("true",), "STRING", ["true"]),
        (("5", NULL), "INT64", [5, None]),
        ((NULL,), None, [None]),
    ],
)
def test_the_type_of_a_column_is_the_narrowest_that_keeps_every_value(
    spelled: tuple[str, ...], type_: str, values: list[Any]
) -> None:
    assert typed(*spelled) == (type_, values)


@pytest.mark.parametrize(
    ("spelled", "value"),
    [("a%3Ab", "a:b"), ("caf%C3%A9", "café"), ("caf%E9", "café"), ("100%", "100%"), ("a+b c", "a+b c"), ("a=b", "a=b")],
)
def test_values_of_folders_are_unescaped(spelled: str, value: str) -> None:
    assert decoded(spelled) == value


def test_folders_of_the_root_count_up_to_the_first_that_is_not_a_partition() -> None:
    assert folders_above("gs://b/x=0/lake/a=1/b=2=3/", "c/d=4/e=5.parquet") == [("a", "1"), ("b", "2=3"), ("d", "4")]
    assert folders_above("gs://b/lake", "part-0.parquet") == []
    assert folders_above("gs://b/lake", "=1/part-0.parquet") == []


def test_partition_columns_have_the_order_of_the_folders() -> None:
    found = partitions_of(
        "lake", {"0": [("b", "1"), ("a", "x")], "1": [("b", "2"), ("a", "y")], "2": [("a", "x"), ("b", "1")]}
    )
    assert [(one.name, str(one.type)) for one in found] == [("b", "INT64"), ("a", "STRING")]


def test_every_error_is_reported_at_once() -> None:
    paths = {
        "day=1/0.parquet": [("day", "1")],
        "1.parquet": [],
        "Day=1/2.parquet": [("Day", "1")],
        "day=1/day=2/3.parquet": [("day", "1"), ("day", "2")],
        "day=/4.parquet": [("day", "")],
    }
    with pytest.raises(InvalidInput) as caught:
        partitions_of("lake", paths)
    assert set(caught.value.problems) == {
        "lake: the folders of day=1/day=2/3.parquet name day more than once: rename one",
        "lake: expected one spelling of a partition column, got day and Day: rename the folders",
        f"lake: expected a value in day= above day=/4.parquet, got none: name it day={NULL} for NULL",
        "lake: expected every file in a folder day=..., as other files are, got 1.parquet: move it into one, or name the "
        "folders one by one",
    }
