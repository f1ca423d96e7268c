"""The columns that no contract holds: other values of them would be other rows, or would merge rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from onefold.changelog.declared_keys import TENANT
from onefold.changelog.metadata import DAY, LANDED_AT, METADATA
from onefold.core.names import TableId
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version, table_of
from onefold.settings.environment import Settings
from onefold.views.current_text import remembered_keys

_AT_ONCE = 900
"""Tables in one query of declared keys."""


class ViewOfTable(Protocol):
    """A view of a table, of which the warehouse and the settings are known."""

    @property
    def warehouse(self) -> BaseWarehouse: ...

    @property
    def base(self) -> TableId: ...

    @property
    def settings(self) -> Settings: ...


def protected_columns(
    kind: ViewOfTable, columns: Collection[Column], query: str, rules: TableRules, versions: Sequence[Version]
) -> frozenset[str]:
    """Return the columns that no contract holds: of the key, the order and the tenant, and those that landing adds.

    Args:
        kind: the view.
        columns: its columns without a contract.
        query: its text, which may tell the key.
        rules: those of the table.
        versions: those that it reads.

    Raises:
        OnefoldError: the keys that the tables declare cannot be read.
    """
    return known_columns(columns, query, rules) | key_columns(kind, versions)


def known_columns(columns: Collection[Column], query: str, rules: TableRules) -> frozenset[str]:
    """Return those of the columns that no contract holds for which no table is looked at."""
    tenant = TENANT if len(Schema(columns).only(TENANT)) == len(TENANT) else ()
    added = (METADATA, LANDED_AT, DAY, *filter(None, (rules.version_column, rules.landed_column)))
    return frozenset((*remembered_keys(query), *tenant, *rules.keys, *rules.order_by, *added))


def key_columns(kind: ViewOfTable, versions: Iterable[Version]) -> frozenset[str]:
    """Return the columns of the key that the current view knows, and of those that the tables declare.

    Raises:
        OnefoldError: they cannot be read.
    """
    current = kind.warehouse.get_view(kind.settings.current_view_of(kind.base))
    names = kind.settings.rules_for(kind.base).names
    tables = defaultdict(list)
    for version in versions:
        table = table_of(kind.base, version, names)
        tables[table.dataset].append(table)
    groups = (ids[start : start + _AT_ONCE] for ids in tables.values() for start in range(0, len(ids), _AT_ONCE))
    declared = [key for group in groups for key in kind.warehouse.declared_keys(group).values()]
    return frozenset([*remembered_keys(current.query if current else ""), *(name for key in declared for name in key)])
