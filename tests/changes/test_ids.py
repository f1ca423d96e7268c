"""Identifiers of the ledger's entries."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from onefold.changes.ids import digest, version_change_id
from onefold.core.names import TableId

BASE = TableId("p", "shop", "customer")
TEXTS = st.lists(st.text(max_size=5), max_size=4)


def test_an_identifier_has_32_hexadecimal_digits() -> None:
    assert re.fullmatch(r"[0-9a-f]{32}", version_change_id(BASE, "abc", "def"))


def test_each_part_of_a_change_is_in_its_identifier() -> None:
    other = [
        version_change_id(TableId("q", "shop", "customer"), "abc", "def"),
        version_change_id(TableId("p", "shops", "customer"), "abc", "def"),
        version_change_id(TableId("p", "shop", "customers"), "abc", "def"),
        version_change_id(BASE, "abd", "def"),
        version_change_id(BASE, "abc", "deg"),
        version_change_id(BASE, "def", "abc"),
        version_change_id(BASE, "abc", "def", "shop_1"),
    ]
    assert len({version_change_id(BASE, "abc", "def"), *other}) == len(other) + 1


def test_the_identifier_of_a_release_stays_that_of_the_next() -> None:
    # Rows of a ledger and decisions of people name it: a change of this value would list all changes a second time.
    assert version_change_id(BASE, "abc", "def") == "316cc6e42a872b9f41092c25444ec241"


@given(TEXTS, TEXTS)
def test_two_lists_of_texts_have_one_digest_only_where_they_are_equal(first: list[str], second: list[str]) -> None:
    assert (digest("a", *first) == digest("a", *second)) == (first == second)
