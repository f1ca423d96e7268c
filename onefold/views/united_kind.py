"""The current view of a united table: the latest row of each key in each dataset.

The rows of the tables are changes in all datasets, or in none: rows that are current already are shown as they are. Where
there are more tables than a query may read, the view reads the base only, into which they are merged in groups. It shows
then what the last merge has read. Tables of tools such as Fivetran are refused: the rows do not say it in one way which are
gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.changelog.metadata import has_metadata
from onefold.changelog.plain_tables import is_current_already
from onefold.core.errors import LimitExceeded, SchemaConflict
from onefold.core.names import TableId, quote
from onefold.core.text import shown_list
from onefold.merge.base_table import DELETED, PACKED, POSITION, base_table
from onefold.merge.change_tables import ChangeTable, changes_in_use
from onefold.merge.merge_state import MergeState
from onefold.merge.plain import declared_key
from onefold.merge.stored_base import is_base, read_log
from onefold.ports.warehouse import StoredTable, StoredView
from onefold.refresh.built_view import BuiltView
from onefold.schema.columns import Column, Schema
from onefold.schema.versions import Version, active_versions
from onefold.views.already_current import AlreadyCurrentKind
from onefold.views.current_kind import CurrentKind
from onefold.views.current_text import AlreadyCurrentText, CurrentText, base_comment, keys_comment
from onefold.views.direct_rows import DirectText
from onefold.views.united_tools import check_no_tool

_SHOWN = 5


@dataclass(frozen=True)
class UnitedCurrentKind(AlreadyCurrentKind):
    """The current view of a united table."""

    def build_full(self, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None) -> BuiltView:
        """Return the view as it has to be.

        Raises:
            SchemaConflict: another tool writes some of the tables, and so deleted or old rows would be shown.
            LimitExceeded: there are too many tables for a query, and no base.
            OnefoldError: as `CurrentKind.build`.
        """
        check_no_tool(self.base, found, self.settings)
        try:
            return super().build_full(found, versions, stored)
        except LimitExceeded as error:
            place = self.settings.rules_for(self.base).base_place(self.base)
            base = self.warehouse.read_table(base_table(place))
            if base is None or not is_base(base):
                raise LimitExceeded([*error.problems, _advice(self.base.dataset, self.base.table)]) from error
            return self._over_base(base)

    def _over_base(self, base: StoredTable) -> BuiltView:
        """Return the view of the rows of a base, in its own types: no query can read the changes that it lacks."""
        place = self.settings.rules_for(self.base).base_place(self.base)
        keys = self._known_keys((), base_table(place), read_log(self.warehouse, place, base), None)
        columns = Schema(base.columns).minus([POSITION, PACKED, DELETED])
        names = ",\n  ".join(f"b.{quote(column.name)}" for column in columns)
        query = (
            f"{self._settings_comment()}{keys_comment(keys)}{base_comment(base)}"
            f"SELECT\n  {names}\nFROM {base_table(place).quoted} AS b\nWHERE NOT b.{quote(DELETED)}"
        )
        return BuiltView(self.id, tuple(columns), (), (), "spelled", query)

    def _text(
        self, found: Sequence[Version], columns: tuple[Column, ...], stored: StoredView | None
    ) -> CurrentText | DirectText | AlreadyCurrentText:
        """Return the text around the rows of all tables.

        Raises:
            SchemaConflict: the rows are changes in some datasets, and not in others.
            OnefoldError: as `CurrentKind.build`.
        """
        rules = self.settings.rules_for(self.base)
        used = active_versions(found, rules)
        logs = [one.id for one in used if has_metadata(one.columns) and not is_current_already(one.columns)]
        others = [one.id for one in used if one.id not in logs]
        if logs and others:
            raise SchemaConflict(
                f"{self.base}: the rows are changes in {shown_list(logs, _SHOWN)}, and they are not in "
                f"{shown_list(others, _SHOWN)}: have all datasets written alike, or leave some out with `retire` of "
                f"tables.{self.base.dataset}.{self.base.table} in onefold.yaml"
            )
        are_ordered = rules.order_by and not any(is_current_already(one.columns) for one in used)
        if logs or are_ordered:
            return CurrentKind._text(self, found, columns, stored)
        return super()._text(found, columns, stored)

    def _named_keys(
        self, changes: Sequence[ChangeTable], _: TableId | None, state: MergeState, __: tuple[str, ...]
    ) -> tuple[str, ...]:
        rules = self.settings.rules_for(self.base)
        used = () if state.keys else changes_in_use(self.base, changes, rules)
        named = rules.whole_key(self.keys) or rules.keys
        return named or declared_key(self.warehouse, self.base, self.settings, used)


def _advice(dataset: str | None, table: str) -> str:
    return (
        f"where rows are changes, name the key, and merge them in groups with `onefold merge {dataset}.{table}`: the view "
        "reads the base then. Otherwise split the datasets over several entries of `unite`, each with its own `into`"
    )
