"""Drafts and checks of policies as text: YAML for onefold.yaml, and lines for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from onefold.core.names import TableId
from onefold.core.text import counted, shown_list
from onefold.schema.column_policy import PolicyRule, TablePolicies
from onefold.schema.treatment import Treatment
from onefold.views.policy_check import DraftedColumn, TablePolicyCheck

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_YAML_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def draft_lines(drafts: Sequence[tuple[TableId, Sequence[DraftedColumn]]]) -> Iterator[str]:
    """Yield the lines of a section `policies`, with the reasons as comments; of no table no line.

    Args:
        drafts: tables with their drafted columns; a table without any is left out.
    """
    if not any(columns for _, columns in drafts):
        yield from ["# Every column has a policy: there is nothing to draft."] if drafts else ()
        return
    yield "# A draft: read it before you put it into onefold.yaml."
    yield "policies:"
    for base, columns in drafts:
        if columns:
            yield f"  {_key(f'{base.dataset}.{base.table}')}:"
        for column in columns:
            yield f"    {_key(column.path)}: {column.draft.action}  # {column.draft.reason}"


def check_lines(checked: Sequence[TablePolicyCheck]) -> Iterator[str]:
    """Yield a line for each column that waits for a decision, and one with their number."""
    for one in checked:
        yield from (f"{one.table}: {path} is masked until a policy names it" for path in one.waiting)
    waiting = sum(len(one.waiting) for one in checked)
    if waiting:
        yield f"{counted(waiting, 'column')} of {counted(len(checked), 'table')} to decide: see `onefold policies init`"
    else:
        yield f"{counted(len(checked), 'table')}: every column has a policy"


def decision_lines(table: TablePolicyCheck, policies: TablePolicies) -> Iterator[str]:
    """Yield a line for each column and field of a table: what the clean view shows of it, and which policies say so.

    Args:
        table: the table, checked by these policies.
        policies: those of the table.
    """
    yield f"{table.table}:"
    for one in _leaves(table.treatments):
        yield f"  {one.path}: {one.action}, {'; '.join(_reasons(one, policies.deciding(one.path)))}"


def _leaves(treatments: Sequence[Treatment]) -> Iterator[Treatment]:
    for one in treatments:
        yield from _leaves(one.fields) if one.fields else (one,)


def _reasons(one: Treatment, rules: Sequence[PolicyRule]) -> Iterator[str]:
    if not rules:
        yield "undecided"
        return
    first, *others = rules
    if first.action is one.action:
        yield f"by {_policy(first)}"
        if less_strict := [f"{_policy(rule)} ({rule.action})" for rule in others if rule.action < first.action]:
            yield f"of equal rank and less strict: {shown_list(less_strict)}"
    else:
        yield f"the strictest of all that it can hold; {_policy(first)} says {first.action}"


def _policy(rule: PolicyRule) -> str:
    return f"policies.{rule.table}.{rule.column}"


def _key(text: str) -> str:
    """Return a key of YAML, in quotes where YAML would read something else."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS else json.dumps(text, ensure_ascii=False)
