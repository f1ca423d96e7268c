"""The owners of onefold.yaml: by patterns of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onefold.core.names import fold_case
from onefold.core.problems import Problem
from onefold.core.text import shown_list
from onefold.schema.diff import Severity
from onefold.settings.owners import Owner, Owners, full_pattern
from onefold.settings.yaml_policies import given_twice

_CHANNELS = ("webhook", "topic", "email")
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
        yield from _channel_problems(owners[pattern], ("owners", pattern))


def _channel_problems(body: Mapping[str, Any], where: tuple[str, str]) -> Iterator[Problem]:
    named = [channel for channel in _CHANNELS if channel in body]
    if len(named) > 1:
        yield Problem(f"names {shown_list(named, joint=' and ')}: remove all but one of them", where)
    elif "topic" in named and body.get("form", "json") != "json":
        yield Problem("a topic takes JSON only: remove form", (*where, "form"))
    elif "email" in named and "form" in body:
        yield Problem("an e-mail has a form of its own: remove form", (*where, "form"))


def read_owners(owners: OwnerBodies) -> Owners:
    """Return the owners, from a checked mapping."""
    return Owners(
        tuple(
            Owner(
                pattern,
                body.get("webhook", ""),
                body.get("form", "json"),
                Severity[body.get("severity", "INFO")],
                body.get("topic", ""),
                body.get("email", ""),
            )
            for pattern, body in owners.items()
        )
    )
