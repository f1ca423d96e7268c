"""`multipleOf` is judged by the digits of both numbers, as people read them, and not by the nearest doubles."""

from __future__ import annotations

from decimal import Decimal

import pytest

from onefold.events.registry.multiple_of import MultipleOf

NUMBERS = [(0.3, 0.1), (1234567890123.4, 0.1), (1e300, 1e-5), (7, 7), (0, 5), (-0.75, 0.25), (4.0, 2), (1e-9, 1e-9)]


@pytest.mark.parametrize(("value", "step"), NUMBERS)
def test_a_multiple_is_accepted(value: float, step: float) -> None:
    MultipleOf({}, step, []).validate(value)


@pytest.mark.parametrize(
    ("value", "step"), [(0.35, 0.1), (1234567890123.45, 0.1), (1e300, 3), (7, 2), (Decimal("1e-400"), 1), (1.1, 0.25)]
)
def test_what_is_no_multiple_is_refused(value: float, step: float) -> None:
    with pytest.raises(ValueError, match=r"is not a multiple of"):
        MultipleOf({}, step, []).validate(value)


def test_a_number_of_many_digits_is_judged_by_all_of_them() -> None:
    step = MultipleOf({}, Decimal("0.01"), [])
    step.validate(Decimal("12345678901234567890123456789.01"))
    with pytest.raises(ValueError, match=r"12345678901234567890123456789\.011 is not a multiple of 0\.01"):
        step.validate(Decimal("12345678901234567890123456789.011"))


@pytest.mark.parametrize("value", ["7", True, None, [7], {"a": 7}])
def test_what_is_not_a_number_has_no_multiples(value: object) -> None:
    MultipleOf({}, 2, []).validate(value)
