"""Sets of GTIDs: how they are read, and how transactions are added to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.core.errors import InvalidInput
from onefold.mysql.gtid import GtidSet, read_executed


@pytest.mark.parametrize(
    ("text", "gtids", "then"),
    [
        ("", ["0-1-5"], "0-1-5"),
        ("0-1-5", ["0-1-6", "1-7-1", "0-2-7"], "0-2-7,1-7-1"),
        ("a:1-5", ["a:6"], "a:1-6"),
        ("a:1-5:9", ["a:7", "a:8", "a:6"], "a:1-9"),
        ("a:1-5", ["a:3"], "a:1-5"),
        ("a:1,\nb:2-3", ["b:5", "c:1"], "a:1,b:2-3:5,c:1"),
        ("a:tag:1-2,a:1", ["a:tag:3"], "a:tag:1-3,a:1"),
    ],
)
def test_transactions_are_added_to_a_set(text: str, gtids: list[str], then: str) -> None:
    executed = read_executed(text)
    for gtid in gtids:
        executed = executed.plus(gtid)
    assert str(executed) == then
    assert read_executed(then) == executed


@given(st.permutations(range(1, 9)))
def test_the_order_of_added_transactions_does_not_matter(numbers: list[int]) -> None:
    executed = GtidSet()
    for number in numbers:
        executed = executed.plus(f"a:{number}")
    assert str(executed) == "a:1-8"


@pytest.mark.parametrize("text", ["x", "0-1", "a:", "a:x-y"])
def test_an_invalid_set_of_transactions_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="expected a set of GTIDs"):
        read_executed(text)
