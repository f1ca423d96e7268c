"""The owners of onefold.yaml: by patterns of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onefold.core.names import fold_case
from onefold.core.problems import Problem
from onefold.schema.diff import Severity
from onefold.settings.owners import Owner, Owners, full_pattern
from onefold.settings.yaml_policies import given_twice

OwnerBodies = Mapping[str, Mapping[str, Any]]
"""The keys of owners, by patterns."""


def owner_problems(owners: OwnerBodies) -> Iterator[Problem]:
    """Yield the problems of owners that the schema cannot tell."""
    yield from given_twice(owners, ("owners",))
    first: dict[str, str] = {}
    for pattern in owners:
        other = first.setdefault(full_pattern(pattern), pattern)
        if fold_case(other) != fold_case(pattern):
            yield Problem(f"names the tables that owners.{other} names: remove one of them", ("owners", pattern))


def read_owners(owners: OwnerBodies) -> Owners:
    """Return the owners, from a checked mapping."""
    return Owners(
        tuple(
            Owner(pattern, body["webhook"], body["form"], Severity[body.get("severity", "INFO")])
            for pattern, body in owners.items()
        )
    )
