"""Sweeps: many cases of one rule, of which `make test` runs the first one, and `make test-long` all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import pytest


def sweep(cases: Mapping[str, Any] | Iterable[Any]) -> list[Any]:
    """Return parameters of a test: the first case as it is, the others as long ones.

    Args:
        cases: a tuple of values for each case, or a value where a test has one argument; by name, where they have names.
    """
    named = cases.items() if isinstance(cases, Mapping) else ((None, case) for case in cases)
    found = [(name, case if isinstance(case, tuple) else (case,)) for name, case in named]
    first = [pytest.param(*case, id=name) for name, case in found[:1]]
    return first + [pytest.param(*case, id=name, marks=pytest.mark.long) for name, case in islice(found, 1, None)]
