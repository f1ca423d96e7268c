"""The current view as a kind of view that a refresh keeps.

The view reads the versions and the base in its own text, never the unified view by name, whose types may not fit between two
writes. A comment in the text holds the key, so that the key of a captured table is read from its rows only once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

from onefold.changelog.key_columns import check_change_table, key_type_problems
from onefold.changelog.metadata import DAY, LANDED_AT, METADATA, is_pulled, source_columns
from onefold.changes.entry import SettingChange
from onefold.core.errors import InvalidInput, KeyUnknown, LimitExceeded, NotFound, SchemaConflict, ViewNameTaken
from onefold.core.names import TableId
from onefold.merge.base_table import base_table
from onefold.merge.change_tables import (
    ChangeTable,
    are_direct,
    change_tables,
    changes_in_use,
    check_changes,
    is_single,
    read_change_versions,
    with_arrivals,
)
from onefold.merge.keys import captured_keys, is_captured, still_key
from onefold.merge.landed_rows import count_landed
from onefold.merge.merge_state import MergeState
from onefold.merge.plain import check_own_dataset, declared_key
from onefold.merge.plan import chosen_keys, make_plan
from onefold.merge.stored_base import is_base, read_log
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.built_view import BuiltView
from onefold.refresh.labels import TABLE_LABEL, fingerprint_of, owner_digest
from onefold.refresh.stored_settings import setting_changes, settings_comment
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column, Schema
from onefold.schema.diff import SchemaChange, base_left_out, base_read_again
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version, fold
from onefold.settings.environment import Settings
from onefold.views.clean_refresh import tighten_clean
from onefold.views.current_text import (
    RENDERER,
    AlreadyCurrentText,
    CurrentText,
    columns_comment,
    is_disputed,
    left_out,
    remembered_keys,
)
from onefold.views.direct_rows import DirectText, check_direct, no_order, with_version
from onefold.views.under_contract import UnderContract
from onefold.views.windows import ALL_ROWS
from onefold.views.within_limits import build_within_limits


@dataclass(frozen=True)
class CurrentKind(UnderContract):
    """The current view of a table.

    Attributes:
        warehouse: where the tables are.
        base: a change table, or the base name of versioned ones.
        settings: those of the installation.
        keys: the columns of the key, where somebody named them.
        by_itself: whether a message asks for the view. Then the key that the view remembers is not looked for again, and a
            table without a known key gets no view.
    """

    outlives_versions: ClassVar[bool] = False

    warehouse: BaseWarehouse
    base: TableId
    settings: Settings
    keys: tuple[str, ...] = ()
    by_itself: bool = False

    @property
    def id(self) -> TableId:
        return self.settings.current_view_of(self.base)

    @property
    def owner(self) -> str:
        return current_owner(self.base)

    @property
    def fingerprint(self) -> str:
        rules = self.settings.rules_for(self.base)
        parts: tuple[object, ...] = (RENDERER, fingerprint_of(self.settings, self.base), rules.keys, rules.overlap_minutes)
        parts += tuple(part for part in (self.settings.pull_mode_of(self.base), rules.order_by) if part)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def is_ours(self, stored: StoredView) -> bool:
        """Return whether Onefold wrote a view for this table."""
        return stored.is_view and stored.labels.get(TABLE_LABEL) == self.owner

    def check_owner(self, stored: StoredView) -> None:
        if not self.is_ours(stored):
            raise ViewNameTaken(f"{stored.id} was not written by `onefold current` or a message for {self.base}: rename it")

    def is_settled(self, stored: StoredView) -> bool:
        """Return whether no version declares another key than the view has, so that rows that land later change nothing."""
        return not is_disputed(stored.query)

    def read_versions(self) -> tuple[Version, ...]:
        return read_change_versions(self.warehouse, self.base, self.settings.names_in(self.base.dataset))

    def build_full(self, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None) -> BuiltView:
        """Return the view without the contract of the table.

        The base and the log are read after the view and the versions: a base that was replaced while that went on may lack
        rows that the former one had, and then the view has to read them from the changes.

        Raises:
            KeyUnknown: a message asks for a view that does not exist, and the key is not known; or the table is pulled, and
                the settings do not name its source.
            NoOwnDataset: there is no dataset for the view of a plain change table.
            SchemaConflict: everything that keeps the table from having a latest state.
            LimitExceeded: the text is too long.
        """
        self._check_source(found, stored)
        rules = self.settings.rules_for(self.base)
        if stored is None and (rules.of_united or self.id.dataset == rules.base_dataset):
            check_own_dataset(self.warehouse, self.base, self.settings)
        columns = self._columns(found, versions, stored)
        text = replace(self._text(found, columns, stored), without=self._without(found))
        # The form of the versions' text is chosen so that the text around it fits, too.
        settings, of_unified = self._settings_comment(), settings_comment(self._rules(found))
        if is_single(found) and self.settings.plain_table(self.base):
            settings += columns_comment(columns)
        around = len(text.around("")) + len(settings) - len(of_unified) + (stored.reserved if stored else 0)
        windows = text.windows if isinstance(text, CurrentText) else ALL_ROWS
        view = build_within_limits(self.id, self.base, versions, self._rules(found), around, columns, windows)
        # The settings come first in every view, so that they can be read from its text.
        plain = is_single(found) and not view.casts
        query = settings + text.around(self.base if plain else view.query.removeprefix(of_unified))
        if len(query) > MAX_TEXT:
            raise LimitExceeded(f"{self.id}: its text takes {len(query)} of {MAX_TEXT} characters")
        shown = tuple(source_columns(view.columns).minus(text.without))
        return BuiltView(view.id, shown, view.versions, view.casts, view.form, query, view.leaves, view.names)

    def _settings_comment(self) -> str:
        rules, mode = self.settings.rules_for(self.base), self.settings.pull_mode_of(self.base)
        return settings_comment(rules, current=True, pull_mode=mode)

    def _check_source(self, found: Sequence[Version], stored: StoredView | None) -> None:
        """Check that the settings name the source of a pulled table: it has a full view, and no current view beside it.

        Raises:
            KeyUnknown: they do not, and there is no view yet.
        """
        if stored is None and not self.settings.pull_of(self.base) and any(is_pulled(one.columns) for one in found):
            raise KeyUnknown(
                f"{self.base} is pulled from a source that no `sources` of onefold.yaml names, so its full view is not "
                "known: name the deployment's onefold.yaml with --config or ONEFOLD_CONFIG"
            )

    def warnings(self, _query: str) -> tuple[str, ...]:
        plain, rules = self.settings.plain_table(self.base), self.settings.rules_for(self.base)
        return no_order(self.base, rules.order_by) if plain and plain.mode == "direct" else ()

    def before_write(self) -> None:
        """Hide in the clean view what the policies hide of new versions, before the current view shows it."""
        tighten_clean(self.warehouse, self.base, self.settings)

    def setting_changes(self, stored: StoredView) -> tuple[SettingChange, ...]:
        rules, mode = self.settings.rules_for(self.base), self.settings.pull_mode_of(self.base)
        return setting_changes(stored.query, rules, current=True, pull_mode=mode)

    def other_changes(self, stored: StoredView | None, view: BuiltView) -> tuple[SchemaChange, ...]:
        if stored is None:
            return ()
        before, after = left_out(stored.query), left_out(view.query)
        if after and not before:
            return (base_left_out(after),)
        return (base_read_again(),) if before and not after else ()

    def _columns(
        self, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None
    ) -> tuple[Column, ...]:
        """Return the unified columns: those that the view shows, in its order, and then the hidden ones.

        The view does not show the metadata, nor the day of a pulled row. If they had no place of their own, a new column
        would come after them in this text and before them in the next one.
        """
        columns = Schema(fold(versions, self._rules(found), stored.columns if stored else (), self.base))
        hidden = (METADATA, LANDED_AT, *self._without(found))
        return (*columns.minus(hidden), *columns.only(hidden))

    def _text(
        self, found: Sequence[Version], columns: tuple[Column, ...], stored: StoredView | None
    ) -> CurrentText | DirectText | AlreadyCurrentText:
        rules = self.settings.rules_for(self.base)
        changes = tuple(change_tables(self.base, found, rules))
        if are_direct(found, rules):
            return self._direct_text(columns, changes, stored)
        place = rules.base_place(self.base)
        table = self.warehouse.read_table(base_table(place))
        base = table if table and is_base(table) else None
        state = read_log(self.warehouse, place, base) if base else MergeState()
        keys = self._known_keys(changes, base_table(place) if base else None, state, stored)
        used = changes_in_use(self.base, changes, rules)
        self._check(columns, used, keys, stored)
        disputed = not rules.keys and not still_key(self.warehouse, used, keys)
        if base is None or (now := state.now) is None:
            return CurrentText(keys, columns, disputed=disputed)
        if self.settings.plain_table(self.base):
            changes = tuple(with_arrivals(self.warehouse, changes, rules, now))
            used = changes_in_use(self.base, changes, rules)
        _, state = count_landed(self.warehouse, used, state, now)
        # No merge follows from this plan, so it needs no time at which the change tables were listed.
        plan = make_plan(self.base, rules, keys, base, state, changes, now)
        return replace(CurrentText.over_base(self.warehouse, plan, columns), disputed=disputed)

    def _direct_text(
        self, columns: tuple[Column, ...], changes: Sequence[ChangeTable], stored: StoredView | None
    ) -> DirectText:
        """Return the text over rows without change metadata, which are in no base.

        Raises:
            KeyUnknown: a message asks for a view that does not exist, and the key is not known.
            SchemaConflict: everything that keeps the rows from having a latest one for each key.
        """
        rules = self.settings.rules_for(self.base)
        keys = self._known_keys(changes, None, MergeState(), stored)
        check_direct(self.base, columns, changes_in_use(self.base, changes, rules), keys, rules.order_by)
        return DirectText(keys, columns, rules.order_by, self._rules([one.version for one in changes]).version_column)

    def _check(
        self, columns: Sequence[Column], changes: Sequence[ChangeTable], keys: tuple[str, ...], stored: StoredView | None
    ) -> None:
        """Check that the versions together and each of them have a latest row for each key.

        Raises:
            KeyUnknown: a message asks for a view that does not exist, and the type of a key has no equality.
            SchemaConflict: everything else that keeps the table from having a latest state.
        """
        try:
            check_change_table(str(self.base), columns, keys)
        except SchemaConflict as error:
            if self.by_itself and stored is None and any(key_type_problems(str(self.base), columns, keys)):
                raise KeyUnknown(str(error)) from error
            raise
        # A captured table whose key gets a column is copied, and the rows of its former key get deletions.
        check_changes([one for one in changes if not is_captured(one.version.columns)], keys)

    def _without(self, found: Sequence[Version]) -> tuple[str, ...]:
        """Return the columns that are none of the source: the partition of a pulled table, or the version of direct rows."""
        rules = self.settings.rules_for(self.base)
        if are_direct(found, rules):
            added = self._rules(found).version_column
            return (added,) if added and not rules.version_column else ()
        return (DAY,) if any(is_pulled(version.columns) for version in found) else ()

    def _rules(self, found: Sequence[Version]) -> TableRules:
        """Return the rules by which the columns are united: those of a merge. A single table has no version to show."""
        rules = self.settings.rules_for(self.base)
        if is_single(found):
            return replace(rules, version_column=None)
        return with_version(rules, found) if are_direct(found, rules) else rules

    def _known_keys(
        self, changes: Sequence[ChangeTable], base: TableId | None, state: MergeState, stored: StoredView | None
    ) -> tuple[str, ...]:
        remembered = remembered_keys(stored.query) if stored else ()
        try:
            named = self._named_keys(changes, base, state, remembered)
            return chosen_keys(self.base, named or (() if state.keys else remembered), state, base)
        except (InvalidInput, NotFound) as error:
            if self.by_itself and stored is None:
                raise KeyUnknown(str(error)) from error
            raise

    def _named_keys(
        self, changes: Sequence[ChangeTable], base: TableId | None, state: MergeState, remembered: tuple[str, ...]
    ) -> tuple[str, ...]:
        rules = self.settings.rules_for(self.base)
        if named := self.keys or rules.keys or declared_key(self.warehouse, self.base, self.settings):
            return named
        overlap = timedelta(minutes=rules.overlap_minutes)
        windows = [source.windowed(state, overlap) for source in changes_in_use(self.base, changes, rules)]
        try:
            return captured_keys(self.warehouse, self.base, windows, state.keys if base else ())
        except NotFound:
            if not remembered:  # no row is there that tells another key
                raise
            return remembered


def current_owner(table: TableId) -> str:
    """Return the value of the label of a table's current view."""
    return owner_digest(f"{table} current")
