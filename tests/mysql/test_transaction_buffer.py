"""The buffer of one transaction: bounds, savepoints and rollbacks."""

from __future__ import annotations

import pytest

from onefold.mysql.binlog.events import LogPosition, RowsChanged
from onefold.mysql.binlog.transactions import Transaction, folded, is_rolled_back


def position(offset: int) -> LogPosition:
    return LogPosition(1, "bin.000001", offset)


def never() -> RowsChanged:
    raise AssertionError("nobody reads it")


def transaction(*steps: tuple[str, int], bound: int = 1_000) -> Transaction:
    """Of rows of 100 bytes, `>name` for a savepoint and `<name` for a rollback to it, each with its offset."""
    made = Transaction(position(1), bound)
    for what, offset in steps:
        if what == "rows":
            made.add(position(offset), ("shop", "t"), 100, never)
        else:
            (made.savepoint if what[0] == ">" else made.rollback_to)(what[1:], position(offset))
    return made


def test_a_transaction_within_the_bound_is_buffered() -> None:
    unfinished = transaction(*(("rows", number) for number in range(10))).unfinished
    assert (unfinished.begin, unfinished.tables, unfinished.rows, unfinished.size) == (
        position(1), frozenset({("shop", "t")}), tuple([never] * 10), 1_000,
    )  # fmt: skip


def test_a_transaction_above_the_bound_is_never_buffered_again() -> None:
    made = transaction(*(("rows", number) for number in range(11)))
    assert made.unfinished.rows is None
    made.savepoint("s", position(20))
    made.rollback_to("s", position(30))
    made.add(position(40), ("shop", "u"), 1, never)
    unfinished = made.unfinished
    assert (unfinished.rows, unfinished.rolled_back, unfinished.tables) == (
        None, ((20, 30),), frozenset({("shop", "t"), ("shop", "u")}),
    )  # fmt: skip


def test_a_rollback_frees_buffer_space() -> None:
    steps = [("rows", 1), (">s", 2)]
    for number in range(1, 50):
        steps += [("rows", 10 * number), ("<s", 10 * number + 5)]
    unfinished = transaction(*steps, bound=200).unfinished
    assert (unfinished.rows, unfinished.rolled_back) == ((never,), ((2, 495),))


@pytest.mark.parametrize(
    ("steps", "rolled_back"),
    [
        ([(">a", 10), ("<a", 20), (">b", 30), ("<b", 40)], ((10, 20), (30, 40))),
        ([(">a", 10), (">b", 20), ("<b", 30), ("<a", 40)], ((10, 40),)),
        ([(">a", 10), (">a", 20), ("rows", 25), ("<a", 30)], ((20, 30),)),
        ([(">a", 10), ("rows", 15), (">a", 20), ("rows", 25), ("<a", 30)], None),
        ([("rows", 5), (">a", 10), ("rows", 15), (">b", 20), ("rows", 25), ("<b", 30)], ((20, 30),)),
        ([(">a", 10), ("<a", 20), ("<a", 30)], ((10, 30),)),
        ([(">a", 10), (">b", 20), ("<a", 30), ("<b", 40)], None),
        ([("<a", 10)], None),
    ],
)
def test_the_rolled_back_ranges_lie_between_savepoints_and_rollbacks(
    steps: list[tuple[str, int]], rolled_back: tuple[tuple[int, int], ...] | None
) -> None:
    assert transaction(*steps).unfinished.rolled_back == rolled_back


def test_rolled_back_rows_are_found_by_their_offset() -> None:
    assert [offset for offset in range(0, 50, 5) if is_rolled_back(offset, ((10, 20), (30, 40)))] == [15, 35]


def test_names_of_savepoints_have_neither_case_nor_accents() -> None:
    assert folded("É") == folded("e")
    assert folded("A ") == folded("a")
    assert folded("a") != folded("b")
