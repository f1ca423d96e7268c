"""The keyword `multipleOf`, judged by the digits of both numbers: a double calls 8624302472392871.7 a multiple of 3."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

_EXACT = Context(prec=2_000)
"""More digits than any quotient has: numbers of schemas and data lie between 1e-400 and 1e400, and have 100 digits."""


class MultipleOf:
    """The keyword of one schema, as the validator calls it."""

    def __init__(self, parent: Any, step: Any, path: Sequence[str | int]) -> None:  # noqa: ARG002 what the validator passes
        self._step = _decimal(step)

    def validate(self, value: Any) -> None:
        """Check one value; what is not a number has no multiples.

        Raises:
            ValueError: the value is not a multiple.
        """
        if type(value) in (int, float, Decimal) and _EXACT.remainder(_decimal(value), self._step):
            raise ValueError(f"{value} is not a multiple of {self._step}")


def _decimal(number: float | Decimal) -> Decimal:
    # The text of a float is the number that was read: a float that would not give it back was read as a Decimal.
    return Decimal(repr(number)) if type(number) is float else Decimal(number)
