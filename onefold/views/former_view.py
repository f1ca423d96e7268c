"""What a view that is not there must not show: what another view of the table, or the ledger, says is held back.

A view that was dropped is made anew as the contract left it. Where nothing is known, nobody has read it, and it shows all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from onefold.changes.decisions import read_verdicts
from onefold.changes.entry import Entry
from onefold.changes.ids import new_columns_id
from onefold.changes.read import read_entries
from onefold.changes.under_contract import NOT_SHOWN, former_type, outcome_in
from onefold.core.errors import AccessDenied, InvalidType, NotFound, SchemaConflict
from onefold.core.names import TableId, at_and_above, fold_case, is_at_or_in
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.held_note import read_held_note
from onefold.refresh.labels import LABEL
from onefold.schema.columns import Column, Schema
from onefold.schema.contract_rules import Verdicts
from onefold.schema.diff import SchemaChange, Severity
from onefold.schema.former import NotShown, missing
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import type_at
from onefold.schema.types import Type, parse_type
from onefold.schema.versions import Version, join_types
from onefold.settings.environment import Settings


def not_shown(
    warehouse: BaseWarehouse,
    view: TableId,
    full: Sequence[Column],
    base: TableId,
    settings: Settings,
    landed: Sequence[Version],
) -> NotShown:
    """Return what a view that is not there must not show.

    Args:
        warehouse: where the other view and the ledger are.
        view: the view.
        full: its columns without a contract.
        base: the base name of the table.
        settings: those of the installation.
        landed: the versions that the view reads, with its columns as they landed.

    Raises:
        AccessDenied: the account may not read the ledger, the table has several versions, and no other view.
        OnefoldError: the ledger cannot be read.
    """
    others = [one for one in (settings.view_of(base), settings.current_view_of(base)) if one != view]
    known = [stored for one in others if (stored := warehouse.get_view(one)) and LABEL in stored.labels]
    if found := next(filter(None, (_of_view(stored, full) for stored in known)), None):
        return found
    if not settings.changes_dataset:
        return NotShown()
    rules = settings.rules_for(base)
    try:
        own = rules.contract.verdicts
        entries = read_entries(warehouse, settings.changes_dataset, own, of_dataset=base.dataset, of_table=base.table)
    except NotFound:
        return NotShown()
    except AccessDenied as error:
        if known:
            return NotShown()
        if len(landed) == 1:  # nothing has changed, but for columns that came in place
            return NotShown(_rejected(own.over(read_verdicts(warehouse, settings.changes_dataset)), base, ()))
        raise AccessDenied(
            f"{view} is not there, and what it must not show cannot be read from the ledger ({error}): have it written by "
            f"somebody who may read that, by `onefold refresh {base.dataset}.{base.table}`"
        ) from error
    verdicts = own.over(read_verdicts(warehouse, settings.changes_dataset))
    found = _of_entries(entries, landed, rules, verdicts)
    return replace(found, paths=found.paths | _rejected(verdicts, base, entries))


def _of_view(stored: StoredView, full: Sequence[Column]) -> NotShown:
    """Return what another view of the table does not show: what it holds, and what came after it was written."""
    note, columns = read_held_note(stored.query), Schema(stored.columns)
    types = {fold_case(name): column.type for name in note.types if (column := columns.get(name))}
    pairs = ((column, columns.get(column.name)) for column in full)
    return NotShown(frozenset(path for column, shown in pairs for path in missing(column, shown)), types)


def _of_entries(entries: Sequence[Entry], landed: Sequence[Version], rules: TableRules, verdicts: Verdicts) -> NotShown:
    held = [operation for entry in entries if entry.change for operation in _held(entry, verdicts)]
    retyped: dict[str, list[SchemaChange]] = {}
    for one in held:
        if one.kind == "retyped":
            retyped.setdefault(fold_case(one.path), []).append(one)
    brought = _brought(entries)
    kept = ((path, _kept_type(path, found, _others(landed, brought, path), rules)) for path, found in retyped.items())
    types = {path: type_ for path, type_ in kept if type_}
    return NotShown(frozenset(fold_case(one.path) for one in held if one.kind == "added"), types)


def _brought(entries: Iterable[Entry]) -> frozenset[tuple[str, str]]:
    """Return the versions of changes that views do not show, each with the columns and fields that it changed."""
    held = [entry for entry in entries if entry.change and entry.version_after and entry.decision in NOT_SHOWN]
    return frozenset((entry.version_after, fold_case(one.path)) for entry in held for one in entry.operations)


def _others(landed: Iterable[Version], brought: Iterable[tuple[str, str]], path: str) -> list[Version]:
    """Return the versions of which nothing is held of a column: one may bring a field to a type that was held before."""
    held = {version for version, name in brought if is_at_or_in(name, path)}
    return [version for version in landed if version.id not in held]


def _rejected(verdicts: Verdicts, base: TableId, entries: Iterable[Entry]) -> frozenset[str]:
    """Return the new columns and fields that were rejected, also those of a struct that was accepted: no entry has these."""
    by_name = new_columns_id(base)
    new = {(entry.change, fold_case(one.path)) for entry in entries for one in _of_view_of(entry) if one.kind == "added"}
    found: dict[str, set[str]] = {"accept": set(), "reject": set()}
    for (change, path), verdict in verdicts.by_change.items():
        if change == by_name or any((change, name) in new for name in at_and_above(path)):
            found[verdict].add(path)
    return frozenset(found["reject"] - found["accept"])


def _held(entry: Entry, verdicts: Verdicts) -> Iterator[SchemaChange]:
    """Yield what views do not show of a change by now. Of a field, an effect may name the column alone."""
    held = [fold_case(effect.path) for effect in entry.effects if outcome_in(effect)]
    known = [fold_case(effect.path) for effect in entry.effects]
    for one in _of_view_of(entry) if entry.decision in NOT_SHOWN else ():
        path = fold_case(one.path)
        has_effect = any(is_at_or_in(name, path) for name in known)
        is_unknown = not has_effect and verdicts.about(entry.change, path) != "accept"
        if one.kind in ("added", "retyped") and (is_unknown or any(is_at_or_in(path, name) for name in held)):
            yield one


def _of_view_of(entry: Entry) -> Iterator[SchemaChange]:
    """Yield the operations of an entry as they are of its views.

    A column that came back in another type is no new one there. Fields of a struct that became a list are.
    """
    held = {fold_case(effect.path): effect for effect in entry.effects if outcome_in(effect)}
    for one in entry.operations:
        effect = held.pop(fold_case(one.path), None)
        former = former_type(effect) if effect else ""
        yield replace(one, kind="retyped", old=one.old or former) if former else one
    for effect in held.values():
        if effect.kind == "hidden":
            yield SchemaChange("added", effect.path, Severity.INFO)


def _kept_type(path: str, held: Sequence[SchemaChange], landed: Sequence[Version], rules: TableRules) -> Type | None:
    """Return the type before all changes that are held: of the first of them, and of versions that none of them is about."""
    new = {one.new for one in held}
    columns = [column for version in landed if (column := version.schema.get(path.partition(".")[0]))]
    others = [type_ for column in columns if (type_ := type_at(column, path)) and str(type_) not in new]
    try:
        before = [parse_type(one.old) for one in held if one.old and one.old not in new]
        return join_types([*before, *others], rules) if before or others else None
    except (InvalidType, SchemaConflict):  # a row that somebody else wrote, or types that no view has had
        return None
