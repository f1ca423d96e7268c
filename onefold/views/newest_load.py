"""The full view of a table that is loaded full: the rows of the newest load, and no others.

While a load replaces the table, older versions still have the rows of an older load. Each version takes the rows of a load
at one moment, so the newest load that any version has is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.changelog.metadata import DAY, LANDED_AT, METADATA, metadata_problems, metadata_sql
from onefold.core.errors import LimitExceeded, SchemaConflict
from onefold.core.names import TableId, quote
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.built_view import BuiltView
from onefold.refresh.stored_settings import settings_comment
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column, Schema
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.already_current import AlreadyCurrentKind
from onefold.views.current_kind import CurrentKind
from onefold.views.tool_kind import ToolKind
from onefold.views.united_kind import UnitedCurrentKind
from onefold.views.within_limits import build_within_limits

_LEFT_OUT = (METADATA, LANDED_AT, DAY)


def newest_load_query(changes: str, columns: Sequence[Column]) -> str:
    """Return a query of the rows of the newest load, in the source's columns.

    Args:
        changes: a query of the rows of all versions, such as the text of the unified view.
        columns: its columns, metadata included.

    Raises:
        SchemaConflict: the rows do not say to which load they belong.
    """
    if problems := list(metadata_problems("the versions", columns)):
        raise SchemaConflict(problems)
    left_out = ", ".join(map(quote, Schema(columns).only(_LEFT_OUT).names))
    return (
        f"WITH loaded AS (\n{changes}\n)\n"
        f"SELECT n.* EXCEPT ({left_out})\nFROM loaded AS n\n"
        f"WHERE {_load('n')} = (SELECT MAX({_load('m')}) FROM loaded AS m)"
    )


@dataclass(frozen=True)
class NewestLoadKind(CurrentKind):
    """The full view of a table that is loaded full. It needs no key."""

    def build_full(self, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None) -> BuiltView:
        """Return the view as it has to be.

        Raises:
            LimitExceeded: the text is too long.
        """
        columns = self._columns(found, versions, stored)
        rules = self.settings.rules_for(self.base)
        settings, of_unified = self._settings_comment(), settings_comment(rules)
        around = len(newest_load_query("", columns)) + len(settings) - len(of_unified) + (stored.reserved if stored else 0)
        view = build_within_limits(self.id, self.base, versions, self._rules(found), around, columns)
        query = settings + newest_load_query(view.query.removeprefix(of_unified), view.columns)
        if len(query) > MAX_TEXT:
            raise LimitExceeded(f"{self.id}: its text takes {len(query)} of {MAX_TEXT} characters")
        shown = tuple(Schema(view.columns).minus(_LEFT_OUT))
        return BuiltView(view.id, shown, view.versions, view.casts, view.form, query, view.leaves, view.names)


def kind_of(
    warehouse: BaseWarehouse, table: TableId, settings: Settings, keys: tuple[str, ...] = (), *, by_itself: bool = False
) -> CurrentKind:
    """Return the kind of a table's current view: one that is loaded full, current already, of a tool, or united has its own.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        settings: those of the installation.
        keys: the columns of the key, where somebody named them.
        by_itself: whether a message asks for the view.
    """
    plain = settings.plain_table(table)
    kind = NewestLoadKind if settings.pull_mode_of(table) == "full" else CurrentKind
    kind = AlreadyCurrentKind if plain and plain.mode == "current" else kind
    kind = ToolKind if plain and plain.mode == "tool" else kind
    kind = UnitedCurrentKind if settings.rules_for(table).of_united else kind
    return kind(warehouse, table, settings, keys, by_itself)


def _load(row: str) -> str:
    """Return SQL for the load of a row, which sorts by the time at which its pull read."""
    read_at = f"LPAD(CAST(IFNULL({metadata_sql(row, 'source_timestamp')}, 0) AS STRING), 20, '0')"
    return f"CONCAT({read_at}, ' ', IFNULL({metadata_sql(row, 'uuid')}, ''))"
