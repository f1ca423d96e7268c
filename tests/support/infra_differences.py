"""Compares what infra/ says with what is expected of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def unequal(kind: str, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield kind and name of everything that is missing, unexpected or different."""
    for name in expected.keys() | found.keys():
        if expected.get(name) != found.get(name):
            yield f"{kind} {name}"
