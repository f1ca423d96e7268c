"""Columns of an existing table, mapped by their names to those of the registry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.core.errors import InvalidInput
from onefold.core.names import fold_case
from onefold.events.registry.column_mapping import TableColumn, check_names, map_columns, match_names

NAMES = st.sampled_from(["id", "ID", "a.b", "a_b", "ab", "A.b", "os_is64_bit", "os_is_64_bit", "x" * 70, "x" * 63, "zip"])
LISTS = st.lists(NAMES, unique_by=fold_case, max_size=6)


@pytest.mark.parametrize(
    ("wanted", "found", "matched"),
    [
        (["id"], ["ID"], {"id": "ID"}),
        (["size.width"], ["size_width"], {"size.width": "size_width"}),
        (["os_is64_bit"], ["os_is_64_bit"], {"os_is64_bit": "os_is_64_bit"}),
        (["policy.id"], ["policyid"], {"policy.id": "policyid"}),
        # An exact name comes before one that is only alike, and what two columns could be is left alone.
        (["a_b", "a.b"], ["a.b"], {"a.b": "a.b"}),
        (["a_b", "a.b"], ["ab"], {}),
        (["ab"], ["a_b", "a.b"], {}),
        # A name that was cut: at a limit of the warehouse anywhere, else in the middle of a word.
        (["x" * 70], ["x" * 63], {"x" * 70: "x" * 63}),
        (["event.payload.customer_address.street"], ["event.payload.customer_address.str"],
         {"event.payload.customer_address.street": "event.payload.customer_address.str"}),
        (["event.payload.customer_address.street"], ["event.payload.customer_address"], {}),
        (["first_name"], ["first"], {}),
    ],
)  # fmt: skip
def test_names_are_matched_where_only_one_column_can_be_meant(
    wanted: list[str], found: list[str], matched: dict[str, str]
) -> None:
    assert match_names(wanted, found, {}) == matched


def test_what_a_person_has_decided_comes_first() -> None:
    assert match_names(["a", "b"], ["a", "c"], {"b": "a"}) == {"b": "a"}


@given(wanted=LISTS, found=LISTS)
def test_no_column_of_the_table_gets_the_values_of_two_columns(wanted: list[str], found: list[str]) -> None:
    matched = match_names(wanted, found, {})
    assert len(set(matched.values())) == len(matched)
    assert set(matched) <= set(wanted)
    assert set(matched.values()) <= set(found)


@given(wanted=LISTS, found=LISTS, data=st.data())
def test_the_order_of_the_tables_columns_and_what_later_versions_add_change_no_match(
    wanted: list[str], found: list[str], data: st.DataObject
) -> None:
    names = match_names(wanted, found, {})
    assert match_names(wanted, data.draw(st.permutations(found)), {}) == names
    columns = [TableColumn(name, "INT") for name in found]
    before = map_columns([(name, "INT") for name in wanted], columns, names)
    later = [(name, "INT") for name in [*wanted, *(name for name in ("new", "more") if name not in wanted)]]
    assert map_columns(later, columns, names)[: len(before)] == before


def test_a_column_that_a_later_version_adds_goes_to_one_of_its_name_without_case() -> None:
    (known, later, added) = map_columns(
        [("a", "INT"), ("later", "INT"), ("b", "DATE")],
        [TableColumn("LATER", "BIGINT"), TableColumn("A_", "INT")],
        {"a": "A_"},
    )
    assert (known.target, later.target, added.target) == (("A_", "INT"), ("LATER", "BIGINT"), ("b", "DATE"))


def test_of_columns_that_differ_in_case_only_none_is_taken_without_its_exact_name() -> None:
    found = [TableColumn(name, "INT") for name in ("Id", "iD", "Zip", "zip")]
    mapped = map_columns([("id", "INT"), ("zip", "INT")], found, {})
    assert [one.target[0] for one in mapped] == ["id", "zip"]
    (given,) = map_columns([("id", "INT")], found, {"id": "iD"})
    assert given.target[0] == "iD"


def test_a_given_name_that_does_not_exist_or_has_another_use_is_refused_with_all_problems() -> None:
    with pytest.raises(InvalidInput) as error:
        check_names({"a": "none", "x": "b", "b": "c", "d": "e"}, ["a", "b", "d", "e"], ["b", "c", "e"])
    assert error.value.problems == (
        "mapping: x is not a column of the registry", "mapping: the table has no column none",
        "mapping: e would be two columns of the registry",
    )  # fmt: skip
