"""Policies of columns: which pattern decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import policies as oracle

from onefold.core.names import TableId
from onefold.schema.column_policy import Action, ColumnPolicies, Decision, PolicyRule, TablePolicies, strictest

PATHS = ["id", "email", "Address", "address.zip", "address.geo.lat", "items.price", "żółw"]


def policies(*rules: tuple[str, str, str], table: str = "customer") -> TablePolicies:
    made = (PolicyRule(of_table, column, Action[action.upper()]) for of_table, column, action in rules)
    return ColumnPolicies(tuple(made)).of_table(TableId("p", "shop", table))


@pytest.mark.parametrize(
    ("rules", "path", "action"),
    [
        ([], "email", None),
        ([("*", "e-mail", "clear")], "email", None),
        ([("customer", "email", "hash")], "EMAIL", "hash"),
        ([("Customer", "EMAIL", "hash")], "email", "hash"),
        ([("*", "*", "clear"), ("customer", "prénom", "drop")], "PRÉNOM", "drop"),
        ([("*", "*", "clear"), ("customer", "pre\u0301nom", "drop")], "pr\u00e9nom", "drop"),
        ([("*", "*", "clear"), ("customer", "PR\u00c9*", "drop")], "pre\u0301nom", "drop"),
        ([("*", "*", "clear"), ("customer", "adresse.pr\u00e9nom", "drop")], "adresse.pre\u0301nom", "drop"),
        ([("customer", "email", "hash")], "email2", None),
        ([("order", "email", "clear")], "email", None),
        ([("crm.customer", "email", "clear")], "email", None),
        ([("shop.customer", "email", "clear"), ("customer", "email", "mask")], "email", "clear"),
        ([("*", "*", "clear"), ("*", "*mail*", "hash")], "work_mail", "hash"),
        ([("*", "*mail*", "hash"), ("customer", "*", "clear")], "email", "hash"),
        ([("*", "*mail*", "hash"), ("customer", "email", "clear")], "email", "clear"),
        ([("*", "*mail*", "hash"), ("*", "*work*", "mask")], "work_mail", "mask"),
        ([("*", "email", "clear"), ("*", "EMAIL", "drop")], "email", "drop"),
        # A struct: `clear` of the struct decides no field, the others decide each.
        ([("*", "address", "clear")], "address.zip", None),
        ([("*", "address", "mask")], "address.zip", "mask"),
        ([("*", "address", "drop"), ("*", "address.zip", "clear")], "address.zip", "clear"),
        ([("*", "address", "mask"), ("*", "address.*", "clear")], "address.zip", "clear"),
        ([("*", "address.*", "clear")], "address.geo.lat", "clear"),
        ([("*", "address.*", "clear")], "address", None),
        ([("*", "*", "clear"), ("*", "address", "hash")], "address.geo.lat", "hash"),
        ([("*", "*.zip", "hash")], "zip", None),
    ],
)
def test_pattern_that_decides(rules: list[tuple[str, str, str]], path: str, action: str | None) -> None:
    expected = Decision(Action[action.upper()]) if action else Decision(Action.MASK, decided=False)
    assert policies(*rules).decide(path) == expected


@pytest.mark.parametrize(
    ("first", "second", "stricter"),
    [("drop", "mask", "drop"), ("mask", "hash", "mask"), ("hash", "clear", "hash"), ("drop", "clear", "drop")],
)
def test_stricter_of_equal_rank(first: str, second: str, stricter: str) -> None:
    for one, other in ((first, second), (second, first)):
        assert str(policies(("*", "*a", one), ("*", "a*", other)).decide("a").action) == stricter


@given(st.data())
def test_decisions_equal_those_of_the_oracle(data: st.DataObject) -> None:
    rules = data.draw(oracle.rules(PATHS))
    path = data.draw(st.sampled_from(PATHS))
    names = oracle.witnesses(rules, PATHS)
    expected = oracle.decide(rules, path, names)
    found = ColumnPolicies(tuple(rules)).of_table(TableId("p", "shop", "customer")).decide(path)
    assert found == Decision(Action.MASK if expected is None else expected, expected is not None)


@given(st.data())
def test_order_of_rules_makes_no_difference(data: st.DataObject) -> None:
    rules = data.draw(oracle.rules(PATHS))
    other = data.draw(st.permutations(rules))
    for path in PATHS:
        assert TablePolicies(tuple(rules)).decide(path) == TablePolicies(tuple(other)).decide(path)


@pytest.mark.parametrize(
    ("pattern", "open_", "named"),
    [
        ("payload.email", False, True),
        ("PAYLOAD.*", False, True),
        ("payload*.email", False, False),
        ("payload*.email", True, True),
        ("*.email", True, True),
        ("*.email", False, False),
        ("payload", True, False),
        ("email", True, False),
        ("*", True, False),
        ("payloads.email", True, False),
    ],
)
def test_fields_that_a_whole_value_may_hold(pattern: str, open_: bool, named: bool) -> None:
    found = policies(("*", pattern, "drop")).decide_below("Payload", open_)
    assert found == (Decision(Action.DROP) if named else None)


def test_most_specific_pattern_decides_about_a_field_of_a_whole_value() -> None:
    found = policies(("*", "payload.email", "mask"), ("customer", "payload.email", "clear"))
    assert found.decide_below("payload", open_=False) == Decision(Action.CLEAR)


def test_strictest_is_decided_only_if_all_are() -> None:
    undecided = Decision(Action.MASK, decided=False)
    assert strictest([Decision(Action.DROP), undecided]) == Decision(Action.DROP, decided=False)
    assert strictest([]) is None
