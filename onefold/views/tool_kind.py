"""The views of a table that another tool writes in a form of its own, such as Airbyte, Fivetran or dlt.

The current view shows the latest row of each key without the columns of the tool, and clean views read it. The unified view
shows all rows with all columns, where the tool has written values of a column into columns of other types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onefold.core.errors import LimitExceeded, NotFound
from onefold.core.names import TableId
from onefold.existing.current_query import all_rows_query, current_query, landed_versions
from onefold.existing.nested_rows import NestedRows
from onefold.merge.plain import check_own_dataset
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.built_view import BuiltView
from onefold.refresh.stored_settings import settings_comment
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column
from onefold.schema.versions import Version, casts
from onefold.settings.environment import Settings
from onefold.views.current_kind import CurrentKind
from onefold.views.current_text import keys_comment, remembered_keys
from onefold.views.tool_rows import ToolTable, read_tool_table, tool_versions
from onefold.views.unified_kind import UnifiedKind
from onefold.views.windows import Windows
from onefold.views.within_limits import build_within_limits


@dataclass(frozen=True)
class ToolKind(CurrentKind):
    """The current view of a table that a tool writes."""

    def read_versions(self) -> tuple[Version, ...]:
        return tool_versions(self.warehouse, self.base, self.settings)

    def build_full(
        self,
        found: Sequence[Version],  # noqa: ARG002 the table is read again, with all that its metadata tell
        versions: Sequence[Version],  # noqa: ARG002
        stored: StoredView | None,
    ) -> BuiltView:
        """Return the view as it has to be.

        Raises:
            NotFound: the table was dropped meanwhile.
            KeyUnknown: the table is a history, and the columns of its key are not known.
            NoOwnDataset: there is no dataset for the view.
            SchemaConflict: the tool did not write the table, or its rows have no latest one for each key.
            LimitExceeded: the text is too long.
            AccessDenied: what the tool noted of the table may not be read.
        """
        _check_place(self.warehouse, self.id, self.base, self.settings, stored)
        remembered = remembered_keys(stored.query) if stored and not self.settings.rules_for(self.base).keys else ()
        read = _read(self.warehouse, self.base, self.settings, self.keys or remembered).with_notes(self.warehouse)
        columns = read.columns(stored.columns if stored else ())
        read.check(columns)
        query = current_query(self.base, read.table, read.found, columns, read.rules)
        return _built(self.id, read, columns, f"{self._settings_comment()}{keys_comment(read.found.key)}{query}", stored)

    def landed(self, versions: Sequence[Version]) -> Sequence[Version]:
        return _landed(self.warehouse, self.base, self.settings, versions)


@dataclass(frozen=True)
class ToolUnifiedKind(UnifiedKind):
    """The unified view of a table that a tool writes."""

    warehouse: BaseWarehouse

    def landed(self, versions: Sequence[Version]) -> Sequence[Version]:
        return _landed(self.warehouse, self.base, self.settings, versions)

    def read_versions(self) -> tuple[Version, ...]:
        return tool_versions(self.warehouse, self.base, self.settings)

    def is_needed(self) -> bool:
        """Return whether the table has variants of columns, or has a unified view since it had some.

        Raises:
            SchemaConflict: the tool did not write the table.
        """
        if self.warehouse.get_view(self.id):
            return True
        read = read_tool_table(self.warehouse, self.base, self.settings)
        return read is not None and bool(read.found.variants)

    def build_full(
        self,
        found: Sequence[Version],  # noqa: ARG002
        versions: Sequence[Version],  # noqa: ARG002
        stored: StoredView | None,
    ) -> BuiltView:
        """Return the view as it has to be.

        Raises:
            OnefoldError: as `ToolKind.build`; a key is not needed.
        """
        _check_place(self.warehouse, self.id, self.base, self.settings, stored)
        read = _read(self.warehouse, self.base, self.settings).with_metadata()
        columns = read.columns(stored.columns if stored else ())
        query = all_rows_query(self.base, read.table, read.found, columns, read.rules)
        return _built(self.id, read, columns, settings_comment(read.rules) + query, stored)


@dataclass(frozen=True)
class PartKind(UnifiedKind):
    """The unified view of rows that are in columns of another table: of a schema, in a wide table of events.

    Attributes:
        table: the wide table; `base` is the base name of the rows.
    """

    warehouse: BaseWarehouse
    table: TableId

    @property
    def grows(self) -> bool:
        return True

    def read_versions(self) -> tuple[Version, ...]:
        return tuple(Version(part.column, part.columns) for part in self._parts())

    def build_full(
        self,
        found: Sequence[Version],  # noqa: ARG002
        versions: Sequence[Version],
        stored: StoredView | None,
    ) -> BuiltView:
        """Return the view as it has to be: the versions are the columns, which are reconciled as tables are.

        Raises:
            OnefoldError: as `UnifiedKind.build`, and as `ToolKind.build`; a key is not needed.
        """
        _check_place(self.warehouse, self.id, self.table, self.settings, stored)
        reserved, former = (stored.reserved, stored.columns) if stored else (0, ())
        windows = Windows(parts={part.column: part.rows(self.table) for part in self._parts()})
        rules = self.settings.rules_for(self.base)
        return build_within_limits(self.id, self.base, versions, rules, reserved, former, windows)

    def _parts(self) -> tuple[NestedRows, ...]:
        return _read(self.warehouse, self.table, self.settings).found.parts.get(self.base.table, ())


def part_kinds(warehouse: BaseWarehouse, table: TableId, settings: Settings) -> Iterator[PartKind]:
    """Yield the unified views of the rows that are in columns of a table; none of a table without such columns.

    They are where the current view of the table is.

    Raises:
        SchemaConflict: the tool did not write the table.
    """
    read, plain = read_tool_table(warehouse, table, settings), settings.plain_table(table)
    for name in read.found.parts if read else ():
        known = settings.with_plain(table.dataset or "", {name: plain}) if plain else settings
        yield PartKind(warehouse, table.sibling(name), known, table)


def _check_place(
    warehouse: BaseWarehouse, view: TableId, base: TableId, settings: Settings, stored: StoredView | None
) -> None:
    """Check that the dataset of a view that is not there yet exists; that of the tool is never written to.

    Raises:
        NoOwnDataset: it does not.
    """
    if stored is None and view.dataset == settings.rules_for(base).base_dataset:
        check_own_dataset(warehouse, base, settings)


def _read(warehouse: BaseWarehouse, base: TableId, settings: Settings, keys: Sequence[str] = ()) -> ToolTable:
    """Return the table.

    Raises:
        NotFound: it was dropped meanwhile.
    """
    read = read_tool_table(warehouse, base, settings, keys)
    if read is None:
        raise NotFound(f"there is no table {base}: correct its name in onefold.yaml")
    return read


def _landed(warehouse: BaseWarehouse, base: TableId, settings: Settings, versions: Sequence[Version]) -> Sequence[Version]:
    """Return the columns that people read, as they landed, as versions; the table is read only where a contract asks."""
    if not settings.rules_for(base).contract.holds:
        return versions
    read = _read(warehouse, base, settings)
    return landed_versions(read.table, read.found)


def _built(id_: TableId, read: ToolTable, columns: tuple[Column, ...], query: str, stored: StoredView | None) -> BuiltView:
    """Return a view with its text.

    Raises:
        LimitExceeded: the text is too long.
    """
    if len(query) + (stored.reserved if stored else 0) > MAX_TEXT:
        raise LimitExceeded(f"{id_}: its text takes {len(query)} of {MAX_TEXT} characters")
    made = casts(landed_versions(read.table, read.found), columns, read.rules)
    return BuiltView(id_, columns, ("",), made, "spelled", query)
