"""Entries of the ledger as a page shows them: as texts, and without anything about hidden columns but their names."""

from __future__ import annotations

from collections.abc import Iterable

from onefold.changes.entry import Effect, Entry, SettingChange
from onefold.changes.page.dataset import HIDDEN_TEXT, PageChange
from onefold.changes.page.hidden import HiddenColumns
from onefold.changes.page.hidden_entries import without_hidden


def page_changes(entries: Iterable[Entry], hidden: HiddenColumns) -> tuple[PageChange, ...]:
    """Return the changes of a table, the newest first.

    Args:
        entries: the entries of the table, in any order.
        hidden: what the policies of the table hide.
    """
    newest = sorted(entries, key=lambda one: (one.changed_at or one.recorded_at, one.id), reverse=True)
    return tuple(_change(without_hidden(one, hidden)) for one in newest)


def _change(entry: Entry) -> PageChange:
    return PageChange(
        entry.change or entry.id,
        entry.recorded_at,
        entry.origin,
        entry.version_before,
        entry.version_after,
        entry.decision,
        entry.severity.name,
        (*map(str, entry.operations), *map(_setting, entry.settings)),
        tuple(_effect(one) for one in entry.effects if one.kind != "nothing"),
        entry.statement,
        entry.changed_at,
        entry.tenant,
        entry.decided_at,
    )


def _effect(effect: Effect) -> str:
    return f"{effect.view}: {' '.join(part for part in (effect.kind, effect.path, effect.detail) if part)}"


def _setting(setting: SettingChange) -> str:
    return f"{setting.name} {HIDDEN_TEXT}" if setting.after == HIDDEN_TEXT else str(setting)
