"""A value has the types that its dataclass declares, or the first field that has not is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from onefold.core.declared_types import check_types


@dataclass(frozen=True)
class Place:
    row: int
    name: str | None = None


@dataclass(frozen=True)
class Book:
    first: Place
    more: tuple[Place, ...] = ()
    pair: tuple[int, str] = (1, "a")
    names: Mapping[str, Place] | None = None
    tags: frozenset[str] = frozenset()
    kind: Literal["a", "b"] = "a"
    other: Any = None


def test_a_value_with_the_declared_types_is_accepted() -> None:
    shared = Place(1, "x")
    check_types(Book(shared, (shared, Place(2)), (3, "b"), {"one": shared}, frozenset({"t"}), "b", [object()]))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"first": Place("1")}, "expected int for first.row, got str"),  # type: ignore[arg-type]
        ({"first": Place(True)}, "expected int for first.row, got bool"),
        ({"first": Place(1, 2)}, "expected str for first.name, got int"),  # type: ignore[arg-type]
        ({"first": None}, "expected Place for first, got NoneType"),
        ({"more": [Place(1)]}, "expected tuple for more, got list"),
        ({"more": (Place(1), Place(None))}, "expected int for more.1.row, got NoneType"),  # type: ignore[arg-type]
        ({"pair": (1, 2)}, "expected str for pair.1, got int"),
        ({"pair": (1,)}, "expected 2 values, got 1"),
        ({"names": {"one": 1}}, "expected Place for names.one, got int"),
        ({"names": [Place(1)]}, "expected Mapping for names, got list"),
        ({"tags": frozenset({1})}, "expected str for tags, got int"),
        ({"kind": 1}, "expected str for kind, got int"),
    ],
)
def test_the_first_field_of_another_type_is_named(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(TypeError) as refused:
        check_types(Book(**{"first": Place(1), **fields}))
    assert str(refused.value) == problem
