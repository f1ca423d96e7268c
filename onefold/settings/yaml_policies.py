"""The policies of onefold.yaml: by patterns of tables, then by patterns of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from onefold.core.names import fold_case
from onefold.core.text import shortened
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule

_ACTIONS = {str(action): action for action in Action}
_TABLE = re.compile(r"([\w*-]+\.)?[\w*-]+")
# BigQuery forbids these characters in the names of columns ("Flexible column names",
# https://cloud.google.com/bigquery/docs/schemas, 2026-11); the dot and the star separate and stand for names here.
_COLUMN = re.compile(r'[^!"$(),/;?@\[\]\\^`{}~\x00-\x1f]+')

Problem = Callable[[str], None]


def read_policies(value: Any, problem: Problem) -> ColumnPolicies:
    """Return the policies; one with a problem is left out.

    Args:
        value: the mapping below `policies`; None for one without entries.
        problem: called with each problem.
    """
    rules = tuple(_rules({} if value is None else value, problem))
    for repeated in _repeated(rules):
        problem(repeated)
    return ColumnPolicies(rules)


def _rules(tables: Any, problem: Problem) -> Iterator[PolicyRule]:
    for table, columns in _entries(
        tables, "policies", "tables with their columns, as in `customer: {email: hash}`", problem
    ):
        if not _TABLE.fullmatch(table):
            problem(f"policies: {shortened(table)} is no pattern of tables: write customer, shop.customer, or * in a name")
        for column, text in _entries(columns, f"policies.{table}", "columns with actions, as in `email: hash`", problem):
            if action := _action(column, text, f"policies.{table}.{column}", problem):
                yield PolicyRule(table, column, action[0])


def _action(column: str, text: Any, where: str, problem: Problem) -> tuple[Action] | None:
    if not _COLUMN.fullmatch(column) or not all(column.split(".")):
        problem(f"{where}: {shortened(column)} is no pattern of columns: write email, address.zip, or * in a name")
    if not isinstance(text, str) or text not in _ACTIONS:
        *others, last = _ACTIONS
        near = get_close_matches(text.lower(), _ACTIONS, n=1) if isinstance(text, str) else []
        hint = f": did you mean {near[0]}?" if near else ""
        problem(f"{where}: expected {', '.join(others)} or {last}, got {_got(text)}{hint}")
        return None
    return (_ACTIONS[text],)


def _entries(value: Any, where: str, expected: str, problem: Problem) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        problem(f"{where}: expected {expected}, got {_got(value)}")
        return
    seen: set[str] = set()
    for name, body in value.items():
        if not isinstance(name, str):
            problem(f"{where}: {name!r} is not a text; put names such as 3, yes and on in quotes")
            continue
        if fold_case(name) in seen:
            problem(f"{where}.{name} is given twice; case makes no difference")
        seen.add(fold_case(name))
        yield name, body


def _got(value: Any) -> str:
    return "nothing" if value is None else shortened(str(value))


def _repeated(rules: Sequence[PolicyRule]) -> Iterator[str]:
    """Yield a problem for each rule that is another one written otherwise: the stricter one would win unseen.

    `customer` is `*.customer`, and several stars in a row are one. Rules that differ by nothing but case are found before.
    """
    first: dict[tuple[str, str], PolicyRule] = {}
    for rule in rules:
        other = first.setdefault((_plain(rule.full_table), _plain(rule.column)), rule)
        if other is not rule and (fold_case(other.table), fold_case(other.column)) != (
            fold_case(rule.table), fold_case(rule.column),
        ):  # fmt: skip
            yield (
                f"policies.{rule.table}.{rule.column} ({rule.action}) and policies.{other.table}.{other.column} "
                f"({other.action}) name the same columns: remove one of them"
            )


def _plain(pattern: str) -> str:
    return re.sub(r"\*+", "*", fold_case(pattern))
