"""The rules of an addition: numbers, order, the class that a number claims, and names."""

from __future__ import annotations

from typing import Any

import pytest
from support.schemas import described, fields, versions

from onefold.core.errors import Violation
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.order import Rules, check_addition

ANY: dict[str, Any] = fields(a="string")
SEQUENTIAL = Rules(order="sequential")


def existing(*numbers: str) -> list[JsonSchema]:
    return versions(*[ANY] * len(numbers), numbers=numbers)


def refused(number: str, *numbers: str, rules: Rules = Rules()) -> list[Violation]:  # noqa: B008
    return check_addition(existing(*numbers), described(ANY, number), rules)


@pytest.mark.parametrize("number", ["1-0-2", "1-1-0", "2-0-0"])
def test_what_may_follow(number: str) -> None:
    assert refused(number, "1-0-0", "1-0-1") == []


@pytest.mark.parametrize("number", ["1-0-3", "1-2-0", "3-0-0", "1-1-1", "2-0-1", "2-1-0"])
def test_a_gap_is_refused_and_the_error_says_what_is_allowed(number: str) -> None:
    (violation,) = refused(number, "1-0-0", "1-0-1")
    assert (violation.path, violation.allowed) == ("/self/version", "use 1-0-2 or 1-1-0 or 2-0-0")


def test_numbers_are_not_texts() -> None:
    numbers = [f"2-0-{addition}" for addition in range(10)]
    assert refused("2-0-10", "1-0-0", *numbers) == []


def test_the_first_version_of_a_model_is_m_0_0() -> None:
    assert refused("1-0-0") == []
    assert [violation.allowed for violation in refused("1-0-1")] == ["use 1-0-0"]
    assert refused("2-0-0", "1-0-0") == []


def test_the_example_of_the_specification_is_taken_by_addition() -> None:
    order = ["1-0-0", "1-1-0", "1-2-0", "1-0-1", "1-2-1"]
    for count, number in enumerate(order):
        assert refused(number, *order[:count]) == []


def test_sequential_refuses_ambiguity() -> None:
    (violation,) = refused("1-0-1", "1-0-0", "1-1-0", rules=SEQUENTIAL)
    assert "1-0-1 comes before 1-1-0" in violation.problem
    assert violation.allowed == "use 1-1-1 or 1-2-0 or 2-0-0"
    assert refused("1-0-1", "1-0-0", "2-0-0", rules=SEQUENTIAL) == []  # another model has another table


def test_a_patch_is_refused_unless_the_rules_allow_it() -> None:
    (violation,) = refused("1-0-1", "1-0-0", "1-0-1")
    assert "exists already" in violation.problem
    for rules in (Rules(patches=True), Rules("sequential", patches=True)):
        assert refused("1-0-0", "1-0-0", "1-0-1", rules=rules) == []
        assert refused("1-0-1", "1-0-0", "1-0-1", "1-1-0", rules=rules) == []


def test_a_change_that_is_more_than_its_number_claims_is_refused_with_each_reason() -> None:
    old = [described(fields(a="string", b="integer"))]
    new = fields(["c"], a={"type": "string", "format": "uuid"}, b="string", c="string")
    found = check_addition(old, described(new, "1-0-1"), Rules())
    assert [(violation.path, violation.allowed) for violation in found] == [
        ("/properties/b", "add it as 2-0-0, or keep the type"),
        ("/properties/a/format", "add it as 2-0-0, or keep what was valid"),
        ("/properties/b/type", "add it as 2-0-0, or keep what was valid"),
        ("/required", "add it as 2-0-0, or keep what was valid"),
    ]
    assert all("claims ADDITION" in violation.problem for violation in found)
    as_revision = check_addition(old, described(new, "1-1-0"), Rules())
    assert [violation.path for violation in as_revision] == ["/properties/b"]
    assert check_addition(old, described(new, "2-0-0"), Rules()) == []


def test_a_number_may_claim_more_than_the_change_is() -> None:
    assert check_addition([described(ANY)], described(ANY, "1-1-0"), Rules()) == []


def test_what_cannot_be_decided_names_the_keyword() -> None:
    new = fields(a={"type": "string", "anyOf": [{}]})
    (violation,) = check_addition([described(ANY)], described(new, "1-0-1"), Rules())
    assert violation.path == "/properties/a/anyOf"
    assert "counted as REVISION, the stricter class" in violation.problem


def test_names_that_collide_are_refused_for_new_schemas_only() -> None:
    both = fields(fooBar="string", foo_bar="string")
    (violation,) = check_addition([], described(both), Rules())
    assert violation.path == "/properties/foo_bar"
    later = check_addition([described(fields(foo_bar="string"))], described(both, "1-0-1"), Rules())
    assert [one.path for one in later] == ["/properties/fooBar"]
    assert check_addition([described(both)], described({**both, "title": "t"}, "1-0-1"), Rules()) == []
    assert [one.path for one in check_addition([], described(fields(rootId="string")), Rules())] == ["/properties/rootId"]


@pytest.mark.parametrize(
    ("number", "numbers", "rules", "problem"),
    [
        ("1-0-2", ["1-0-0"], Rules(), "1-0-2 leaves a gap"),
        ("2-0-1", ["1-0-0", "3-0-0"], Rules(), "2-0-1 leaves a gap"),
        ("1-0-1", [], Rules(), "1-0-1 is not the first version"),
        ("1-0-1", ["1-0-0", "1-1-0", "1-2-0", "2-0-0"], SEQUENTIAL, "1-0-1 comes before 1-2-0, which exists"),
        ("1-0-0", ["1-0-0"], Rules(), "1-0-0 exists already"),
    ],
)
def test_the_problem_of_a_number_is_named(number: str, numbers: list[str], rules: Rules, problem: str) -> None:
    assert [violation.problem for violation in refused(number, *numbers, rules=rules)] == [problem]
