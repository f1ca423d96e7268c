"""What Onefold adds to a view's description, and that it leaves the rest alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.refresh.description import MAX_DESCRIPTION, describe
from onefold.schema.types import STRING, parse_type
from onefold.schema.versions import Cast


def lossy(column: str = "paid_at", loss: str = "its zone") -> Cast:
    return Cast(("abc",), column, parse_type("INT64"), STRING, (loss,))


def test_a_view_that_loses_nothing_has_the_text_of_people_and_no_more() -> None:
    assert describe("Our customers.", [Cast(("abc",), "id", parse_type("INT64"), STRING, ())]) == "Our customers."
    assert describe("", []) == ""


def test_every_loss_is_said_once_with_its_column() -> None:
    text = describe("", [lossy(), lossy(), lossy("photo", "its bytes")])
    assert text.count("- paid_at: its zone") == 1
    assert "- photo: its bytes" in text


def test_the_text_of_people_comes_first() -> None:
    assert describe("Our customers.", [lossy()]).startswith("Our customers.\n\n[onefold: ")


def test_our_section_goes_when_nothing_is_lost_any_more() -> None:
    assert describe(describe("Our customers.", [lossy()]), []) == "Our customers."


def test_our_section_is_replaced_when_the_losses_change() -> None:
    text = describe(describe("Our customers.", [lossy()]), [lossy("photo", "its bytes")])
    assert "paid_at" not in text
    assert text.count("[onefold: ") == 1


def test_text_of_people_below_the_section_stays() -> None:
    text = describe(describe("Above.", [lossy()]) + "\nBelow.", [lossy()])
    assert "Above.\nBelow." in text
    assert text.count("[onefold: ") == 1


@given(people=st.text(alphabet="ab \n[]", max_size=20))
def test_the_same_twice_is_the_same_once_whatever_people_wrote(people: str) -> None:
    once = describe(people, [lossy()])
    assert describe(once, [lossy()]) == once
    assert describe(once, []) == people


def test_many_losses_are_cut_and_the_rest_is_counted() -> None:
    text = describe("", [lossy(f"column_{number}") for number in range(70)])
    assert "- and 20 more: see `onefold plan`" in text
    assert "column_49:" in text
    assert "column_50:" not in text


@pytest.mark.parametrize("room", [0, 10, 100, 200, 500, 16_384])
def test_bigquery_takes_the_text_however_much_people_wrote(room: int) -> None:
    people = "x" * (MAX_DESCRIPTION - room)
    text = describe(people, [lossy("c" * 300 + str(number)) for number in range(70)])
    assert len(text) <= MAX_DESCRIPTION
    assert text.startswith(people)
    assert describe(text, []) == people


def test_the_section_is_filled_to_the_last_character() -> None:
    casts = [lossy("id")]
    room = MAX_DESCRIPTION - len(describe("x", casts)) + 1
    assert len(describe("x" * room, casts)) == MAX_DESCRIPTION
    assert describe("x" * (room + 1), casts) == "x" * (room + 1)
