"""A table that another tool writes in a form of its own, such as Airbyte, Fivetran or dlt, as the views of it need it.

onefold.yaml names the tool, and says whether the rows are a history. The tool's module in `onefold.existing.tools` says what
its columns mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onefold.changelog.key_columns import key_problems
from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId
from onefold.existing.current_query import landed_versions
from onefold.existing.recognise import noted_by, recognise_as
from onefold.existing.table import ExistingTable, Recognised, TableNote
from onefold.merge.merge_state import MergeState
from onefold.merge.plan import chosen_keys
from onefold.ports.warehouse import BaseWarehouse, Warehouse
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version, fold
from onefold.settings.environment import Settings
from onefold.views.direct_rows import order_problems


@dataclass(frozen=True)
class ToolTable:
    """A table that a tool writes, as it is now.

    Attributes:
        id: its full name.
        table: what its metadata tell.
        found: what its tool says of its rows.
        rules: its settings.
    """

    id: TableId
    table: ExistingTable
    found: Recognised
    rules: TableRules

    def with_metadata(self) -> ToolTable:
        """Return the table with the columns of the tool as columns that people read."""
        return replace(self, found=replace(self.found, metadata=()))

    def with_notes(self, warehouse: BaseWarehouse) -> ToolTable:
        """Return the table with what its tool noted of it, such as which columns say that a row is valid.

        Raises:
            AccessDenied: the table in which the tool notes it may not be read.
        """
        notes = noted_by(self.found.tool)
        if notes is None or not warehouse.has_table(source := self.id.sibling(notes.table)):
            return self
        noted = notes.read(warehouse.fetch(notes.query(source))).get(self.id.table, TableNote())
        table = replace(self.table, notes={notes.table: noted})
        return replace(self, table=table, found=recognise_as(self.found.tool, table, self.id))

    def columns(self, former: Sequence[Column]) -> tuple[Column, ...]:
        """Return the columns of a view, which keep the order of those that it has already."""
        return fold(landed_versions(self.table, self.found), self.rules, former, self.id)

    def check(self, columns: Sequence[Column]) -> None:
        """Check that a history has a latest row for each key. The tool itself may mark the rows that are current.

        Args:
            columns: those of the view.

        Raises:
            KeyUnknown: the columns of the key are not known.
            SchemaConflict: the key or the order names no column of the table, or a type without one.
        """
        if self.found.rows != "history" or self.found.active:
            return
        keys = chosen_keys(self.id, self.table.key or self.found.key, MergeState(), None)
        problems = [
            *key_problems(str(self.id), columns, keys),
            *order_problems(self.id, self.table.columns, self.table.order_by),
        ]
        if not self.found.order:
            problems.append(f"{self.id}: nothing tells which row of a key is the latest: declare `order_by` in onefold.yaml")
        if problems:
            raise SchemaConflict(problems)


def read_tool_table(
    warehouse: BaseWarehouse, base: TableId, settings: Settings, keys: Sequence[str] = ()
) -> ToolTable | None:
    """Return a table that a tool writes; None where there is no such table.

    Args:
        warehouse: where the table is.
        base: the table.
        settings: those that name its tool.
        keys: the columns of the key, where somebody named them.

    Raises:
        SchemaConflict: no such tool is known, or it did not write the table.
    """
    stored, rules = warehouse.read_table(base), settings.rules_for(base)
    if stored is None:
        return None
    key = tuple(keys) or rules.keys or stored.primary_key
    return _recognised(base, stored.columns, rules, key, dict(stored.descriptions))


def tool_versions(warehouse: Warehouse, base: TableId, settings: Settings) -> tuple[Version, ...]:
    """Return the columns that people read of a table that a tool writes, in all types in which they landed.

    Of a table that its tool did not write these are all of its columns: the error is one of the current view, and a clean
    view that exists still has to hide what the policies say.

    Args:
        warehouse: where the table is.
        base: the table.
        settings: those that name its tool.
    """
    columns = warehouse.read_columns(base)
    if columns is None:
        return ()
    try:
        read = _recognised(base, columns, settings.rules_for(base), (), {})
    except SchemaConflict:
        return (Version("", columns),)
    return landed_versions(read.table, read.found)


def _recognised(
    base: TableId, columns: Sequence[Column], rules: TableRules, key: tuple[str, ...], described: Mapping[str, str]
) -> ToolTable:
    order, rows = rules.order_by, rules.rows
    table = ExistingTable(base.table, Schema(columns), key, order_by=order, declared_rows=rows, described=described)
    return ToolTable(base, table, recognise_as(rules.tool or "", table, base), rules)
