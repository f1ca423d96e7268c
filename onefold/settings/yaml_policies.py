"""The policies of onefold.yaml: by patterns of tables, then by patterns of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from onefold.core.names import fold_case
from onefold.core.problems import Path, Problem
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule

Policies = Mapping[str, Mapping[str, str]]
"""Actions by patterns of columns, by patterns of tables."""


def policy_problems(policies: Policies) -> Iterator[Problem]:
    """Yield the problems of policies that the schema cannot tell: the stricter one of two equal ones would win unseen."""
    at: Path = ("policies",)
    yield from given_twice(policies, at)
    for table, columns in policies.items():
        yield from given_twice(columns, (*at, table))
    yield from _repeated(policies)


def read_policies(policies: Policies) -> ColumnPolicies:
    """Return the policies, from a checked mapping."""
    return ColumnPolicies(tuple(_rules(policies)))


def _rules(policies: Policies) -> Iterator[PolicyRule]:
    for table, columns in policies.items():
        for column, action in columns.items():
            yield PolicyRule(table, column, Action[action.upper()])


def given_twice(names: Iterable[str], at: Path) -> Iterator[Problem]:
    """Yield a problem for each name that another one differs from by case alone."""
    seen: set[str] = set()
    for name in names:
        if fold_case(name) in seen:
            yield Problem("given twice; case makes no difference", (*at, name))
        seen.add(fold_case(name))


def _repeated(policies: Policies) -> Iterator[Problem]:
    """Yield a problem for each rule that is another one written otherwise.

    `customer` is `*.customer`, and several stars in a row are one. Rules that differ by nothing but case are found before.
    """
    first: dict[tuple[str, str], PolicyRule] = {}
    for rule in _rules(policies):
        other = first.setdefault((_plain(rule.full_table), _plain(rule.column)), rule)
        if other is not rule and (fold_case(other.table), fold_case(other.column)) != (
            fold_case(rule.table), fold_case(rule.column),
        ):  # fmt: skip
            yield Problem(
                f"{rule.action} for the columns that policies.{other.table}.{other.column} ({other.action}) names, too: "
                "remove one of them",
                ("policies", rule.table, rule.column),
            )


def _plain(pattern: str) -> str:
    return re.sub(r"\*+", "*", fold_case(pattern))
