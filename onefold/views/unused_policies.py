"""Policies of onefold.yaml that name no table or no column: probably typing mistakes, which leave a column as it was."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches

from onefold.core.names import fold_hidden
from onefold.schema.column_policy import ColumnPolicies, PolicyRule
from onefold.schema.treatment import Treatment
from onefold.schema.types import JSON, STRING
from onefold.settings.environment import Settings
from onefold.views.policy_check import TablePolicyCheck


def policy_warnings(
    settings: Settings, dataset: str, checked: Sequence[TablePolicyCheck], tables: Collection[str] | None
) -> Iterator[str]:
    """Yield what is doubtful about the policies of an installation.

    Args:
        settings: those of the installation.
        dataset: as for `unused_policies`.
        checked: as for `unused_policies`.
        tables: as for `unused_policies`.
    """
    if settings.policies is None:
        yield "onefold.yaml has no `policies`, so there are no clean views: see `onefold policies init`"
    else:
        yield from unused_policies(settings.policies, dataset, checked, tables)


def unused_policies(
    policies: ColumnPolicies, dataset: str, checked: Sequence[TablePolicyCheck], tables: Collection[str] | None
) -> Iterator[str]:
    """Yield a warning for each policy with a spelled-out table that names nothing. Patterns of tables may be for others.

    Args:
        policies: those of the installation.
        dataset: the dataset of the tables.
        checked: tables with their columns.
        tables: the names of all tables of the dataset; None where only some of them are known.
    """
    columns = {fold_hidden(one.table.table): list(_columns(one.treatments)) for one in checked}
    variants = {fold_hidden(one.table.table): one.policies.variant_names for one in checked}
    known = None if tables is None else {fold_hidden(name): name for name in tables}
    missing: set[str] = set()
    for rule in policies.rules:
        of_dataset, _, table = rule.table.rpartition(".")
        if "*" in rule.table or fold_hidden(of_dataset) not in ("", fold_hidden(dataset)):
            continue
        if any(map(rule.names_column, variants.get(fold_hidden(table), ()))):
            continue
        if fold_hidden(table) in columns:
            yield from _unused_column(rule, columns[fold_hidden(table)])
        elif of_dataset and known is not None and fold_hidden(table) not in known and rule.table not in missing:
            missing.add(rule.table)
            yield f"policies.{rule.table}: dataset {dataset} has no table {table}: {_advice(table, known.values())}"


def _unused_column(rule: PolicyRule, columns: Sequence[Treatment]) -> Iterator[str]:
    if not any(_names(rule, column) for column in columns):
        advice = _advice(rule.column, [column.path for column in columns])
        yield f"policies.{rule.table}.{rule.column} names no column: {advice}"


def _names(rule: PolicyRule, column: Treatment) -> bool:
    path = fold_hidden(column.path)
    # What a value without fields of its own holds is not known: JSON, or text that is a struct in another version.
    return rule.names_column(path) or (
        not column.fields and any(rule.fields_named_below(path, open_=column.type in (JSON, STRING)))
    )


def _columns(treatments: Sequence[Treatment]) -> Iterator[Treatment]:
    """Yield the columns, and the fields below them at any depth."""
    for one in treatments:
        yield one
        yield from _columns(one.fields)


def _advice(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else "correct the name, or remove the entry"
