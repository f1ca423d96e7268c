"""Use case: the columns of tables with what the policies say about them, before or after a clean view exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onefold.changelog.metadata import source_columns
from onefold.core.errors import NotFound
from onefold.core.names import TableId, fold_case, quote
from onefold.merge.change_tables import read_change_versions
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.landed_note import all_landed
from onefold.schema.column_policy import TablePolicies
from onefold.schema.columns import Column
from onefold.schema.policy_draft import Draft, draft_policy
from onefold.schema.treatment import Treatment, treat
from onefold.schema.types import Array, Struct, Type
from onefold.schema.versions import active_versions, fold
from onefold.settings.environment import Settings
from onefold.settings.unknown_keys import near_name
from onefold.views.table_policies import gone_tenants, is_of_tool, table_policies
from onefold.views.tool_rows import tool_versions

SAMPLES = 1_000
"""Rows that a draft reads of a table."""


@dataclass(frozen=True)
class TablePolicyCheck:
    """A table's columns, what a clean view shows of each, and the policies that say so."""

    table: TableId
    treatments: tuple[Treatment, ...]
    policies: TablePolicies

    @property
    def waiting(self) -> tuple[str, ...]:
        """The columns and fields that no policy names."""
        return tuple(path for one in self.treatments for path in one.all_waiting)


@dataclass(frozen=True)
class DraftedColumn:
    """A column that waits for a decision, with a proposal."""

    path: str
    type: Type
    draft: Draft


def check_policies(warehouse: BaseWarehouse, base: TableId, settings: Settings) -> TablePolicyCheck:
    """Return what the policies say about the columns of a table.

    Args:
        warehouse: where the tables are.
        base: the base name of the versioned tables.
        settings: those of the installation; without policies every column waits.

    Raises:
        NotFound: there is no version of the table.
    """
    rules = settings.rules_for(base)
    of_tool = is_of_tool(settings, base)
    found = tool_versions(warehouse, base, settings) if of_tool else read_change_versions(warehouse, base, rules.names)
    versions = active_versions(found, rules)
    if not versions:
        near = near_name(base.table, warehouse.list_bases(str(base.dataset), rules.names))
        raise NotFound(f"there is no version of {base}{near}: correct the name")
    source = warehouse.get_view(settings.current_view_of(base))
    columns = source.columns if source and source.is_view else source_columns(fold(versions, rules, table=base))
    gone = gone_tenants(warehouse, settings, base, found, [column.name for column in columns])
    policies = table_policies(settings, base, [*found, *gone])
    clean = warehouse.get_view(settings.clean_view_of(base))
    landed = all_landed(columns, [version.columns for version in found], clean.query if clean and clean.is_view else "")
    treated = (treat(column, landed[fold_case(column.name)], policies) for column in columns)
    return TablePolicyCheck(base, tuple(treated), policies)


def draft_policies(
    warehouse: BaseWarehouse, base: TableId, settings: Settings, *, samples: int = SAMPLES
) -> tuple[DraftedColumn, ...]:
    """Return proposals for the columns of a table that no policy names.

    Args:
        warehouse: where the tables are.
        base: the base name of the versioned tables.
        settings: those of the installation.
        samples: how many rows of the current view are read; 0 for none.

    Raises:
        NotFound: there is no version of the table.
    """
    check = check_policies(warehouse, base, settings)
    types = {path: type_ for one in check.treatments for path, type_ in _types(Column(one.path, one.type))}
    waiting = [path for path in check.waiting if path in types]
    rows = _samples(warehouse, settings.current_view_of(base), check, samples) if samples and waiting else []
    return tuple(
        DraftedColumn(path, types[path], draft_policy(path, types[path], list(_values(rows, path.split(".")))))
        for path in waiting
    )


def _samples(warehouse: BaseWarehouse, source: TableId, check: TablePolicyCheck, most: int) -> Sequence[Mapping[str, Any]]:
    stored = warehouse.get_view(source)
    if stored is None or not stored.is_view:
        return []
    columns = ", ".join(quote(one.path) for one in check.treatments if one.all_waiting)
    return warehouse.fetch(f"SELECT {columns} FROM {source.quoted} LIMIT {most}")


def _types(column: Column) -> Iterator[tuple[str, Type]]:
    element = column.type.element if isinstance(column.type, Array) else column.type
    if not isinstance(element, Struct):
        yield column.name, column.type
        return
    for field in element.fields:
        yield from _types(Column(f"{column.name}.{field.name}", field.type))


def _values(value: object, path: Sequence[str]) -> Iterator[object]:
    """Yield what lies at a path in rows, structs and arrays, NULL left out."""
    if isinstance(value, list):
        for one in value:
            yield from _values(one, path)
    elif path and isinstance(value, Mapping):
        yield from _values(value.get(path[0]), path[1:])
    elif value is not None and not path:
        yield value
