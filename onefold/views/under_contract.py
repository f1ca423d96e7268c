"""Use case: build a view under the contract of its table.

The view is built as if there were no contract, and then shows less. Merges and base tables know nothing of contracts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol

from onefold.changes.decisions import read_verdicts
from onefold.changes.entry import SettingChange
from onefold.changes.ids import new_columns_id
from onefold.core.errors import LimitExceeded, SchemaConflict
from onefold.core.names import TableId, fold_case
from onefold.core.text import shown_list
from onefold.core.version_pattern import DEFAULT_PATTERN
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.built_view import BuiltView
from onefold.refresh.stored_settings import change_types
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column, Schema
from onefold.schema.contract_rules import Verdicts
from onefold.schema.contracts import held
from onefold.schema.dropped import dropped_paths
from onefold.schema.fit import gives_back, same_through
from onefold.schema.former import former_columns
from onefold.schema.held import Held
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type
from onefold.schema.types import Type
from onefold.schema.versions import Version
from onefold.schema.waiting import Waiting
from onefold.settings.environment import Settings
from onefold.views.change_names import ChangeNames
from onefold.views.contract_text import held_view
from onefold.views.former_view import not_shown
from onefold.views.protected import key_columns, known_columns

_ALL_NULL = "no version of {} has {}, where all rows are NULL: accept a column, or set `new_columns: show`"


class FullKind(Protocol):
    """A kind of view that can be built without the contract of its table; a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def warehouse(self) -> BaseWarehouse:
        """Where the tables and the view are."""

    @property
    def base(self) -> TableId:
        """The base name of the versioned tables, or a table without versions."""

    @property
    def settings(self) -> Settings:
        """Those of the installation."""

    @property
    def grows(self) -> bool:
        """Whether versions of the table gain columns in place."""

    def build_full(self, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None) -> BuiltView:
        """Return the view with everything; as `ViewKind.build`."""

    def landed(self, versions: Sequence[Version]) -> Sequence[Version]:
        """Return the versions with the columns of the view, as they landed."""

    def setting_changes(self, stored: StoredView) -> tuple[SettingChange, ...]:
        """Return the settings with which the view was not written before."""


class UnderContract:
    """What a kind of view gets of contracts: it has `build_full`, and a refresh calls `build`."""

    warehouse: BaseWarehouse
    base: TableId
    settings: Settings

    @property
    def grows(self) -> bool:
        """Whether versions of the table gain columns in place: those that are not named after their columns may."""
        names = self.settings.rules_for(self.base).names
        return names.are_noted or names.pattern != DEFAULT_PATTERN

    def build(self: FullKind, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None) -> BuiltView:
        """Return the view as it has to be under the contract of its table.

        Raises:
            OnefoldError: as `build_full` and `build_under_contract`.
        """
        return build_under_contract(self, found, versions, stored)

    def landed(self, versions: Sequence[Version]) -> Sequence[Version]:
        """Return the versions with the columns of the view, as they landed."""
        return versions


def build_under_contract(
    kind: FullKind, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None
) -> BuiltView:
    """Return a view as it has to be under the contract of its table.

    Args:
        kind: the kind of view.
        found: all versions.
        versions: those that are not retired, in their order; at least one.
        stored: the view as it is; None where it does not exist. Its columns are what people have accepted. Of one
            that does not exist, another view of the table and the ledger tell what people have not.

    Raises:
        SchemaConflict: the contract keeps a type that the view cannot give any more.
        LimitExceeded: the text is too long.
        OnefoldError: as the kind of view.
    """
    rules, view = kind.settings.rules_for(kind.base), kind.build_full(found, versions, stored)
    if not versions:
        return view
    landed = kind.landed(versions)
    dropped = _dropped(view, landed, rules)
    former = _former(kind, view, landed, stored) if rules.contract.holds else None
    if former is None:
        return replace(view, warnings=(*view.warnings, *dropped))
    keeps_wider = stored is None or not change_types(kind.setting_changes(stored))
    shown = _held(kind, view, landed, former, rules, keeps_wider)
    if not shown.columns:  # fail closed: the versions that had them are gone
        shown = replace(shown, columns=tuple(former))
    if shown.lost:
        dropped = (*dropped, f"{view.id}: {_ALL_NULL.format(kind.base, shown_list(shown.lost))}")
    view = _in_held_types(kind, view, found, versions, stored, shown, landed)
    view = replace(view, waiting=shown.waiting, warnings=(*view.warnings, *dropped))
    made = held_view(view, shown, landed, rules)
    reserved = stored.reserved if stored else 0
    if len(made.query) + reserved <= MAX_TEXT:
        return made
    # Longer forms of the text inside may be chosen without regard to the text around it.
    around = replace(stored or StoredView(view.id, is_view=True), reserved=reserved + len(made.query) - len(view.query))
    made = held_view(_in_held_types(kind, None, found, versions, around, shown, landed), shown, landed, rules)
    if len(made.query) + reserved > MAX_TEXT:
        raise LimitExceeded(f"{view.id}: its text takes {len(made.query)} of {MAX_TEXT} characters under the contract")
    return replace(made, waiting=shown.waiting, warnings=view.warnings)


def held_by_contract(
    kind: FullKind, found: Sequence[Version], versions: Sequence[Version], stored: StoredView
) -> tuple[Waiting, ...]:
    """Return what the contract of a table keeps from a view, whatever was decided: also what it hides or keeps for good.

    The arguments are those of `build_under_contract`.
    """
    settings = replace(kind.settings, contracts=kind.settings.contracts.undecided(), changes_dataset="")
    by = replace(kind, settings=settings)
    view, landed = by.build_full(found, versions, stored), by.landed(versions)
    return _held(by, view, landed, stored.columns, settings.rules_for(by.base), keeps_wider=True).waiting


def _former(
    kind: FullKind, view: BuiltView, landed: Sequence[Version], stored: StoredView | None
) -> tuple[Column, ...] | None:
    """Return what people have accepted; None where nobody has read the view yet."""
    if stored:
        return stored.columns or None
    found = not_shown(kind.warehouse, view.id, view.columns, kind.base, kind.settings, landed)
    return former_columns(view.columns, found) if found else None


def _held(
    kind: FullKind,
    view: BuiltView,
    landed: Sequence[Version],
    former: Sequence[Column],
    rules: TableRules,
    keeps_wider: bool,
) -> Held:
    names, dataset = ChangeNames(kind.base, landed, kind.grows), kind.settings.changes_dataset

    def under(verdicts: Verdicts, protected: frozenset[str]) -> Held:
        by = replace(rules, contract=replace(rules.contract, verdicts=verdicts))
        of_type, new = None if names.grow else names.of_type, new_columns_id(kind.base)
        return held(former, view.columns, landed, by, names.of, protected, keeps_wider, of_type, new)

    own, known = replace(rules.contract.verdicts, names=names.lasting), known_columns(view.columns, view.query, rules)
    shown = under(own, known)
    if shown.columns == shown.full:
        return shown
    verdicts = own.over(read_verdicts(kind.warehouse, dataset)) if dataset else own
    return under(verdicts, known | key_columns(kind, landed))


def _dropped(view: BuiltView, landed: Sequence[Version], rules: TableRules) -> tuple[str, ...]:
    if rules.contract.dropped == "keep" or not (paths := dropped_paths(view.columns, landed)):
        return ()
    newest = landed[-1].id
    text = f"the newest version{f', {newest},' if newest else ''} lacks {shown_list(paths)}: its rows have NULL there"
    return (f"{view.id}: {text}",)


def _in_held_types(
    kind: FullKind,
    view: BuiltView | None,
    found: Sequence[Version],
    versions: Sequence[Version],
    stored: StoredView | None,
    shown: Held,
    landed: Sequence[Version],
) -> BuiltView:
    """Return the view, built anew where values would show something else once they were in the unified type of a column.

    Then each value is converted from its landed type to the type that is kept. So what a value shows does not depend on
    versions that come later.

    Args:
        kind: the kind of view.
        view: the view as it was built; None to build it anew.
        found: all versions.
        versions: those that are not retired.
        stored: the view as it is.
        shown: what the view shows.
        landed: the versions with the columns of the view, as they landed.

    Raises:
        SchemaConflict: the view is of a kind that reads rows in the unified type only, which does not give a type back.
    """
    rules = kind.settings.rules_for(kind.base)
    kept = [(one.name, one.type) for one, full in shown.types if not _is_same_through(one, full, landed, rules)]
    if view and not kept:
        return view
    made = replace(kind, settings=_holding(kind.settings, kind.base, kept)).build_full(found, versions, stored)
    types = Schema(made.columns)
    lost = [name for name, type_ in kept if not ((one := types.get(name)) and gives_back(one.type, type_, rules.time_zone))]
    if lost:
        raise SchemaConflict(
            f"{made.id}: the contract of {kind.base} keeps the type of {shown_list(lost)}, and the rows are there in "
            "the new type only: accept the change, or set a target type in onefold.yaml"
        )
    return made


def _is_same_through(column: Column, full: Type, landed: Sequence[Version], rules: TableRules) -> bool:
    types = (landed_type(found, rules) for version in landed if (found := version.schema.get(column.name)))
    return gives_back(full, column.type, rules.time_zone) and all(same_through(one, full, column.type) for one in types)


def _holding(settings: Settings, base: TableId, kept: Sequence[tuple[str, Type]]) -> Settings:
    rules = replace(settings.rules_for(base), held=tuple((fold_case(name), type_) for name, type_ in kept))
    return replace(settings, tables={**settings.tables, f"{base.dataset}.{base.table}": rules})
