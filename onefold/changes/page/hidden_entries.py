"""Entries of the ledger without anything about hidden columns but their names, for lists, messages and pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from onefold.changes.entry import Effect, Entry, SettingChange
from onefold.changes.page.dataset import HIDDEN_TEXT
from onefold.changes.page.hidden import HiddenColumns
from onefold.changes.page.statement_names import possible_columns
from onefold.schema.diff import SchemaChange


def without_hidden(entry: Entry, hidden: HiddenColumns) -> Entry:
    """Return an entry with the names of hidden columns, and without their types, and without statements that tell these.

    Args:
        entry: an entry of the table. Its outcome has to be known: it follows from the types.
        hidden: what the policies of the table hide.
    """
    return replace(
        entry,
        operations=tuple(shown_operations(entry.operations, hidden)),
        effects=tuple(_effect(one, hidden) for one in entry.effects),
        settings=tuple(_setting(one, hidden) for one in entry.settings),
        statement=_statement(entry, hidden),
    )


def shown_operations(operations: Iterable[SchemaChange], hidden: HiddenColumns) -> Iterator[SchemaChange]:
    """Yield changes; those of a hidden column without types.

    Args:
        operations: the changes.
        hidden: what the policies of the table hide.
    """
    for one in operations:
        yield replace(one, old=None, new=None) if _is_hidden(one, hidden) else one


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


def _effect(effect: Effect, hidden: HiddenColumns) -> Effect:
    # What a policy or a contract does with a column is no type.
    is_shown = not effect.path or effect.kind == "hidden" or not hidden.hides_types(effect.path, effect.detail)
    return effect if is_shown else replace(effect, detail="")


def _setting(setting: SettingChange, hidden: HiddenColumns) -> SettingChange:
    kind, _, path = setting.name.partition(".")
    is_of_type = kind == "types" and hidden.hides_types(path, setting.before, setting.after)
    if is_of_type or not hidden.without_hidden(str(setting), ""):
        return replace(setting, before=None, after=HIDDEN_TEXT)
    return setting
