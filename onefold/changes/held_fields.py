"""Fields that a view does not show of a struct whose type changes: in an entry, they are changes of their own.

The versions before and after differ in one type, as where a struct became a list of structs. The view has the new type
without the fields that it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from onefold.changes.entry import Effect, Entry
from onefold.core.names import fold_case, is_at_or_in
from onefold.schema.columns import Column
from onefold.schema.diff import SchemaChange, Severity
from onefold.schema.former import NotShown, former_columns
from onefold.schema.types import parse_landed_type
from onefold.schema.waiting import Waiting


def operation_of(held: Waiting) -> SchemaChange:
    """Return what a view does not show as an operation on the columns of its table."""
    if held.old is None:
        return SchemaChange("added", held.path, Severity.INFO, new=held.new)
    return SchemaChange("retyped", held.path, Severity.CRITICAL, held.old, held.new)


def operations_with_fields(entry: Entry, held: Iterable[Waiting]) -> Iterator[SchemaChange]:
    """Yield the operations of an entry, and those of the fields that have effects of their own (`effects_with_fields`).

    Args:
        entry: the entry.
        held: what the view does not show.
    """
    yield from entry.operations
    left = {fold_case(effect.path) for effect in entry.effects} - {fold_case(one.path) for one in entry.operations}
    yield from (operation_of(one) for one in _new_fields(entry, held) if fold_case(one.path) in left)


def effects_with_fields(entry: Entry, held: Sequence[Waiting]) -> tuple[Effect, ...]:
    """Return the effects of an entry: fields that the view does not show are no part of a type, but new columns.

    Args:
        entry: an entry with what views would do without a contract.
        held: what the view does not show.
    """
    return tuple(_effects(entry, held))


def _effects(entry: Entry, held: Sequence[Waiting]) -> Iterator[Effect]:
    known = {(effect.view, fold_case(effect.path)) for effect in entry.effects}
    for effect in entry.effects:
        yield _as_shown(effect, entry, held) if effect.kind == "cast" else effect
        for one in _new_fields(entry, held) if effect.kind in ("cast", "lossy cast") else ():
            path = fold_case(one.path)
            if (effect.view, path) not in known and is_at_or_in(path, fold_case(effect.path)):
                yield Effect(effect.view, "new column", one.path, one.new)


def _new_fields(entry: Entry, held: Iterable[Waiting]) -> Iterator[Waiting]:
    return (one for one in held if one.old is None and one.version == entry.version_after)


def _as_shown(effect: Effect, entry: Entry, held: Iterable[Waiting]) -> Effect:
    """Return a cast with the type that the view has or keeps, and without the fields that it does not show."""
    path, types = fold_case(effect.path), effect.detail.split(" -> ")
    hidden = frozenset(fold_case(one.path) for one in held if one.old is None)
    kept = (one.old for one in held if one.version == entry.version_after and fold_case(one.path) == path)
    types[0] = next(filter(None, kept), types[0])
    if any(is_at_or_in(one, path) for one in hidden):
        columns = (Column(effect.path, parse_landed_type(type_)) for type_ in types)
        types = [str(one.type) for one in former_columns(columns, NotShown(hidden - {path}))]
    return replace(effect, detail=" -> ".join(types)) if len(types) > 1 else effect
