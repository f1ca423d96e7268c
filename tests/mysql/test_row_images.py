"""Rows of any columns, as documented bytes: all types side by side, with NULLs and values that BigQuery cannot hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.row_images import COLUMNS, image, sized

from onefold.mysql.binlog.events import LogPosition, RowsChanged, UnreadableRows
from onefold.mysql.binlog.raw_event import DELETE_ROWS, UPDATE_ROWS, WRITE_ROWS
from onefold.mysql.binlog.row_event import decode_rows
from onefold.mysql.table import SourceColumn, SourceType, Structure

POSITION = LogPosition(1, "bin.000001", 4)
NULL = (None, None)


def structure_of(columns: Sequence[SourceColumn]) -> Structure:
    return Structure("t", tuple(replace(column, name=f"c{index}") for index, column in enumerate(columns)))


def read(kind: int, columns: Sequence[SourceColumn], images: bytes) -> RowsChanged | UnreadableRows:
    """An event of the first version: a post-header of 8 bytes, the number of columns, and a bitmap for each image."""
    count = len(columns)
    number = bytes([count]) if count < 251 else b"\xfc" + count.to_bytes(2, "little")
    bitmap = ((1 << count) - 1).to_bytes((count + 7) // 8, "little") * (2 if kind in UPDATE_ROWS else 1)
    body = bytes(8) + number + bitmap + images
    return decode_rows(kind, 1_700_000_000, POSITION, "shop", structure_of(columns), body, False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[SourceColumn], list[list[tuple[bytes | None, Any]]]]:
    """Columns of any types in any order, and the bytes and landed values of an even number of rows, some of them NULL."""
    chosen = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=40))
    row = st.tuples(*(st.one_of(values, values, st.just(NULL)) for _, values in chosen)).map(list)
    rows = draw(st.lists(row, min_size=1, max_size=3))
    return [column for column, _ in chosen], [*rows, *reversed(rows)]


@given(tables(), st.sampled_from((WRITE_ROWS[0], UPDATE_ROWS[0], DELETE_ROWS[0])))
def test_rows_of_any_columns_are_read_as_they_were_written(
    table: tuple[list[SourceColumn], list[list[tuple[bytes | None, Any]]]], kind: int
) -> None:
    columns, rows = table
    images = b"".join(image([data for data, _ in row]) for row in rows)
    landed = tuple(tuple(value for _, value in row) for row in rows)
    found = read(kind, columns, images)
    assert isinstance(found, RowsChanged)
    expected = {
        WRITE_ROWS[0]: ((), landed), DELETE_ROWS[0]: (landed, ()), UPDATE_ROWS[0]: (landed[::2], landed[1::2]),
    }  # fmt: skip
    assert (found.before, found.after, found.losses) == (*expected[kind], ())


ALL = [column for column, _ in COLUMNS]


@given(st.tuples(*(values for _, values in COLUMNS)))
def test_all_types_side_by_side_are_read(values: tuple[tuple[bytes, Any], ...]) -> None:
    full, empty = image([data for data, _ in values]), image([None] * len(values))
    found = read(WRITE_ROWS[0], ALL, full + empty + full)
    landed = tuple(value for _, value in values)
    assert isinstance(found, RowsChanged)
    assert found.after == (landed, (None,) * len(values), landed)


UTF8 = SourceColumn("", SourceType("varchar", 60), "utf8mb4")
LOST = [
    (SourceColumn("", SourceType("date")), (2023 << 9 | 2 << 5 | 30).to_bytes(3, "little"), None, "date"),
    (SourceColumn("", SourceType("date")), bytes(3), None, "date"),
    (SourceColumn("", SourceType("datetime", 0)), (1 << 39).to_bytes(5, "big"), None, "date"),
    (SourceColumn("", SourceType("datetime", 3)), (1 << 39 | 13 << 22).to_bytes(5, "big") + bytes(2), None, "date"),
    (SourceColumn("", SourceType("timestamp", 0)), bytes(4), None, "date"),
    (UTF8, sized(b"a\xffb", 1), "a\ufffdb", "text"),
    (SourceColumn("", SourceType("varchar", 60), "gbk"), sized(b"a\xff", 1), "a\ufffd", "text"),
    (SourceColumn("", SourceType("varchar", 60), "hebrew"), sized(b"a\xff", 1), "a\ufffd", "text"),
    (SourceColumn("", SourceType("point")), sized(b"", 4), None, "geometry"),
]
INT, SEVEN = SourceColumn("", SourceType("int")), (7).to_bytes(4, "little")


@pytest.mark.parametrize(("column", "data", "landed", "kind"), LOST)
@pytest.mark.parametrize("null_beside", [False, True])
def test_a_value_that_bigquery_cannot_hold_is_replaced_and_counted(
    column: SourceColumn, data: bytes, landed: str | None, kind: str, null_beside: bool
) -> None:
    """Of an update the row after it counts: the row before was counted when it was written."""
    columns, before = [INT, column, column], image([SEVEN, data, data])
    after = image([None if null_beside else SEVEN, data, None])
    for event, images, losses in (
        (WRITE_ROWS[0], before, {"c1": 1, "c2": 1}),
        (DELETE_ROWS[0], before + after, {"c1": 2, "c2": 1}),
        (UPDATE_ROWS[0], before + after, {"c1": 1}),
    ):
        found = read(event, columns, images)
        assert isinstance(found, RowsChanged)
        assert dict(found.losses) == {(name, kind): count for name, count in losses.items()}
        assert (*found.before, *found.after)[0] == (7, landed, landed)


def test_bytes_of_another_form_are_unreadable_and_do_not_end_the_reading() -> None:
    for images in (image([SEVEN, sized(b"abc", 1)])[:3], image([SEVEN, b""])):
        assert isinstance(read(WRITE_ROWS[0], [INT, UTF8], images), UnreadableRows)
