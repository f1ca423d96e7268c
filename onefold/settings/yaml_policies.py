"""The policies of onefold.yaml: by patterns of tables, then by patterns of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
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
    return ColumnPolicies(tuple(_rules({} if value is None else value, problem)))


def _rules(tables: Any, problem: Problem) -> Iterator[PolicyRule]:
    for table, columns in _entries(tables, "policies", problem):
        if not _TABLE.fullmatch(table):
            problem(f"policies: {shortened(table)} is no pattern of tables: write customer, shop.customer, or * in a name")
        for column, text in _entries(columns, f"policies.{table}", problem):
            if action := _action(column, text, f"policies.{table}.{column}", problem):
                yield PolicyRule(table, column, action[0])


def _action(column: str, text: Any, where: str, problem: Problem) -> tuple[Action] | None:
    if not _COLUMN.fullmatch(column) or not all(column.split(".")):
        problem(f"{where}: {shortened(column)} is no pattern of columns: write email, address.zip, or * in a name")
    if not isinstance(text, str) or text not in _ACTIONS:
        problem(f"{where} must be {', '.join(_ACTIONS)}, not {text!r}")
        return None
    return (_ACTIONS[text],)


def _entries(value: Any, where: str, problem: Problem) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        problem(f"{where} must be a mapping")
        return
    seen: set[str] = set()
    for name, body in value.items():
        if not isinstance(name, str):
            problem(f"{where}: {name!r} is not a text; put it in quotes")
            continue
        if fold_case(name) in seen:
            problem(f"{where}.{name} is given twice; case makes no difference")
        seen.add(fold_case(name))
        yield name, body
