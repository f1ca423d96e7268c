"""Entries of the ledger as a page shows them: as texts, and without anything about hidden columns but their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onefold.changes.entry import Effect, Entry, SettingChange
from onefold.changes.page.dataset import HIDDEN_TEXT, PageChange
from onefold.changes.page.hidden import HiddenColumns
from onefold.changes.page.statement_names import possible_columns
from onefold.schema.diff import SchemaChange


def page_changes(entries: Iterable[Entry], hidden: HiddenColumns) -> tuple[PageChange, ...]:
    """Return the changes of a table, the newest first.

    Args:
        entries: the entries of the table, in any order.
        hidden: what the policies of the table hide.
    """
    newest = sorted(entries, key=lambda one: (one.changed_at or one.recorded_at, one.id), reverse=True)
    return tuple(_change(one, hidden) for one in newest)


def _change(entry: Entry, hidden: HiddenColumns) -> PageChange:
    settings = tuple(_setting(one, hidden) for one in entry.settings)
    return PageChange(
        entry.change or entry.id,
        entry.recorded_at,
        entry.origin,
        entry.version_before,
        entry.version_after,
        entry.decision,
        entry.severity.name,
        (*shown_operations(entry.operations, hidden), *settings),
        tuple(_effect(one, hidden) for one in entry.effects if one.kind != "nothing"),
        _statement(entry, hidden),
        entry.changed_at,
        entry.tenant,
        entry.decided_at,
    )


def shown_operations(operations: Iterable[SchemaChange], hidden: HiddenColumns) -> Iterator[str]:
    """Yield the text of each change; of a hidden column only its name.

    Args:
        operations: the changes.
        hidden: what the policies of the table hide.
    """
    for one in operations:
        if _is_hidden(one, hidden):
            yield f"{one.kind} {one.path}"
        else:
            yield str(one)


def _is_hidden(operation: SchemaChange, hidden: HiddenColumns) -> bool:
    return bool(operation.path) and hidden.hides_types(operation.path, operation.old, operation.new)


def _statement(entry: Entry, hidden: HiddenColumns) -> str:
    """Return the statement of an entry. One that led to a hidden change tells its type, by whatever name it has there."""
    if entry.statement and any(_is_hidden(one, hidden) for one in entry.operations):
        return HIDDEN_TEXT
    return shown_statement(entry.statement, hidden)


def shown_statement(statement: str, hidden: HiddenColumns) -> str:
    """Return a statement, or a note where it names a hidden column, whose type it would tell.

    Args:
        statement: the statement, without literals.
        hidden: what the policies of the table hide.
    """
    if any(map(hidden.hides_name, possible_columns(statement))):
        return HIDDEN_TEXT
    return hidden.without_hidden(statement, HIDDEN_TEXT)


def _effect(effect: Effect, hidden: HiddenColumns) -> str:
    is_hidden = bool(effect.path) and hidden.hides_types(effect.path, effect.detail)
    parts = (effect.kind, effect.path, "" if is_hidden else effect.detail)
    return f"{effect.view}: {' '.join(part for part in parts if part)}"


def _setting(setting: SettingChange, hidden: HiddenColumns) -> str:
    instead = f"{setting.name} {HIDDEN_TEXT}"
    kind, _, path = setting.name.partition(".")
    if kind == "types" and hidden.hides_types(path, setting.before, setting.after):
        return instead
    return hidden.without_hidden(str(setting), instead)
