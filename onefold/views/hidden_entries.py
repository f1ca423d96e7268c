"""Entries of the ledger for lists and messages: of a column that a policy hides, they have the name only.

Who reads them may not read the rows. No table is read for that: entries tell the columns, and whether there is a clean view.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from onefold.changes.entry import Entry
from onefold.changes.page.hidden import NOTHING_HIDDEN, HiddenColumns, hidden_columns
from onefold.changes.page.hidden_entries import without_hidden
from onefold.core.errors import InvalidType
from onefold.core.names import TableId, fold_case
from onefold.landing.table import column_name
from onefold.schema.column_policy import TablePolicies, UnitedPolicies
from onefold.schema.columns import Column
from onefold.schema.types import STRING, parse_landed_type
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.table_policies import table_policies


def names_of_hidden(entries: Sequence[Entry], settings: Settings, project: str) -> tuple[Entry, ...]:
    """Return entries with the names of hidden columns, and without their types, in their order.

    Args:
        entries: the entries, with their present outcomes.
        settings: those of the installation, with its policies.
        project: the project of the tables.
    """
    by_table: dict[TableId, list[Entry]] = {}
    for one in entries:
        by_table.setdefault(TableId(project, one.dataset, one.table), []).append(one)
    hidden = {base: _hidden(base, found, settings) for base, found in by_table.items()}
    pairs = ((one, hidden[TableId(project, one.dataset, one.table)]) for one in entries)
    return tuple(one if of_table is NOTHING_HIDDEN else without_hidden(one, of_table) for one, of_table in pairs)


def has_rules(policies: TablePolicies) -> bool:
    """Return whether any policy names the table, or one of the tables that it is united of."""
    united = policies.tables if isinstance(policies, UnitedPolicies) else ()
    return bool(policies.rules) or any(one.rules for one, _ in united)


def _hidden(base: TableId, entries: Sequence[Entry], settings: Settings) -> HiddenColumns:
    """Return what is hidden of a table: something only where it has a clean view, or a policy names it."""
    versions = list(_versions(base, entries, settings))
    policies, clean = table_policies(settings, base, versions), str(settings.clean_view_of(base))
    if not has_rules(policies) and all(effect.view != clean for one in entries for effect in one.effects):
        return NOTHING_HIDDEN
    return hidden_columns((), versions, policies, column_name)


def _versions(base: TableId, entries: Iterable[Entry], settings: Settings) -> Iterator[Version]:
    """Yield the columns that entries name, as versions: of a united table, the name of a version is that of its dataset."""
    is_united = settings.rules_for(base).of_united
    for one in {(one.version_after, one.operations): one for one in entries}.values():  # tenants share most of them
        named = {fold_case(column.name): column for column in _columns(one)}
        dataset = one.version_after if is_united else ""
        yield Version(one.version_after, tuple(named.values()), table=base.table if dataset else "", dataset=dataset)


def _columns(entry: Entry) -> Iterator[Column]:
    for operation in entry.operations:
        if operation.path and "." not in operation.path and operation.kind in ("added", "removed", "retyped"):
            for text in filter(None, (operation.old, operation.new)):
                try:
                    yield Column(operation.path, parse_landed_type(text))
                except InvalidType:  # a row that somebody else wrote
                    yield Column(operation.path, STRING)
