"""The entries of the ledger that follow from the plan of a view: new versions, settings, versions that changed in place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeGuard

from onefold.changelog.metadata import DAY, LANDED_AT, METADATA
from onefold.changes.decided import is_held
from onefold.changes.effects import ReadView
from onefold.changes.entry import Effect, EffectKind, Entry, Origin
from onefold.changes.held_fields import operation_of
from onefold.changes.ids import digest
from onefold.changes.under_contract import entries_by_column, entry_under, held_effect
from onefold.changes.versions import ReportedChange, version_entries
from onefold.core.names import fold_case
from onefold.ports.warehouse import StoredView
from onefold.refresh.announce import view_of
from onefold.refresh.built_view import BuiltView
from onefold.refresh.held_note import read_held_note
from onefold.refresh.kind import ViewKind
from onefold.refresh.labels import CHANGE_LABEL, LABEL
from onefold.refresh.plan import ViewPlan
from onefold.refresh.tables_read import covered_versions
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import is_at_or_below
from onefold.schema.diff import SchemaChange
from onefold.schema.outcomes import Outcome
from onefold.schema.target_types import type_at
from onefold.schema.types import parse_landed_type
from onefold.schema.versions import Version, active_versions
from onefold.schema.waiting import Waiting
from onefold.views.change_names import ChangeNames
from onefold.views.protected import protected_columns
from onefold.views.table_policies import table_policies
from onefold.views.under_contract import FullKind, UnderContract, held_by_contract

_EFFECTS: dict[str, EffectKind] = {"added": "new column", "removed": "removed", "retyped": "cast", "undecided": "hidden"}


def entries_of_plan(
    kind: ViewKind, plan: ViewPlan, reported: tuple[str, ReportedChange] | None, now: datetime
) -> Iterator[Entry]:
    """Yield the entries of what a view is about to show.

    Args:
        kind: the kind of view.
        plan: what a refresh is about to do with it.
        reported: the version that a message names and what it reports of it; None where it reports nothing, or that is
            recorded.
        now: the present time.
    """
    versions = _versions(kind, plan, reported)
    missing = _missing(kind, plan, versions)
    of_versions = tuple(_of_versions(kind, plan, versions, missing, reported, now))
    yield from of_versions
    if plan.settings and plan.stored:
        parts = (plan.stored.labels.get(LABEL, ""), kind.fingerprint, plan.stored.etag or "")
        entry = _of_view(plan, digest("settings", view_of(plan), *parts), "settings", now)
        yield replace(entry, settings=plan.settings)
    elif plan.stored:
        changes = _changes_without(of_versions, plan) if missing else plan.changes
        yield from _one_by_one(plan, plan.stored, changes, now)
    yield from _held_in_place(kind, plan, missing, now)


def _changes_without(entries: Sequence[Entry], plan: ViewPlan) -> tuple[SchemaChange, ...]:
    """Return the changes of a view that no entry of a version has: of versions that are gone, or changed in place."""
    known = {
        ("cast" if one.kind == "lossy cast" else one.kind, fold_case(one.path))
        for entry in entries
        for one in entry.effects
        if one.view == view_of(plan)
    }
    shown = [one for one in plan.changes if one.kind in _EFFECTS]
    return tuple(one for one in shown if (_EFFECTS[one.kind], fold_case(one.path)) not in known)


def _one_by_one(plan: ViewPlan, stored: StoredView, changes: Sequence[SchemaChange], now: datetime) -> Iterator[Entry]:
    """Yield an entry for each change that readers notice: others may come before a write that failed is made again."""
    noticed: list[tuple[SchemaChange, ...]] = [(one,) for one in changes if one.kind in _EFFECTS]
    first, *rest = noticed or [()]
    others = [one for one in changes if one.kind not in _EFFECTS]
    former = stored.labels.get(CHANGE_LABEL, "")
    for operations in filter(None, ((*first, *others), *rest)):
        one = operations[0]
        id_ = digest("view", view_of(plan), former, one.kind, fold_case(one.path), one.old or "", one.new or "")
        yield replace(_of_view(replace(plan, changes=operations), id_, "discovered", now), operations=operations)


def _versions(kind: ViewKind, plan: ViewPlan, reported: tuple[str, ReportedChange] | None) -> tuple[Version, ...]:
    """Return the versions in their order. A plan that took a shortcut has not read them, which only a message needs."""
    found = kind.read_versions() if plan.shortcut and reported else plan.versions
    return active_versions([one for one in found if one.id], kind.settings.rules_for(plan.base))


def _missing(kind: ViewKind, plan: ViewPlan, versions: Sequence[Version]) -> frozenset[str]:
    """Return the versions that the stored view does not read. One that is not there is read by nobody."""
    if plan.shortcut or (plan.stored is None and kind.id != kind.settings.view_of(kind.base)):
        return frozenset()
    names = kind.settings.names_in(plan.base.dataset)
    covered = covered_versions(plan.stored.query, plan.base.table, names) if plan.stored else frozenset()
    return frozenset(version.id for version in versions) - covered


def _of_versions(
    kind: ViewKind,
    plan: ViewPlan,
    versions: Sequence[Version],
    missing: Collection[str],
    reported: tuple[str, ReportedChange] | None,
    now: datetime,
) -> Iterator[Entry]:
    if not missing and not (reported and any(version.id == reported[0] for version in versions)):
        return
    if plan.stored:
        rules = kind.settings.rules_for(plan.base)
        protected, held = _under_contract(kind, plan, versions, plan.stored)
        names = ChangeNames(plan.base, kind.landed(versions), grow=True) if _grows(kind) else None
        for entry in version_entries(plan.base, versions, missing, list(read_views(kind, versions)), now, reported):
            former = plan.stored.columns if entry.version_after in missing else ()
            if names:
                yield from entries_by_column(rules.contract, entry, protected, former, names.of, held)
                continue
            found = entry_under(rules.contract, entry, protected, former, held)
            # What a view shows by now waits for nothing, as for a tenant that migrates after somebody has decided.
            yield entry_under(rules.contract, entry, protected, plan.stored.columns, held) if is_held(found) else found
        return
    for entry in version_entries(plan.base, versions, missing, (), now, reported):
        # What came before there was a view is history: no reader notices it.
        yield replace(entry, effects=(Effect(str(kind.id), "nothing", ""),) if entry.version_before else ())


def _under_contract(
    kind: ViewKind, plan: ViewPlan, versions: Sequence[Version], stored: StoredView
) -> tuple[frozenset[str], Sequence[Waiting] | None]:
    """Return the columns that no contract holds, and what the contract holds; None where there is no contract."""
    rules = kind.settings.rules_for(plan.base)
    if not _has_contract(kind) or not rules.contract.holds:
        return frozenset(), None
    query = plan.view.query if plan.view else stored.query
    columns = [column for version in versions for column in version.columns]
    held = held_by_contract(kind, plan.versions or versions, versions, stored)
    return protected_columns(kind, columns, query, rules, versions), held


def _grows(kind: ViewKind) -> TypeGuard[UnderContract]:
    """Return whether versions gain columns in place, so that contracts tell their changes by the columns."""
    return isinstance(kind, UnderContract) and kind.grows


def _held_in_place(kind: ViewKind, plan: ViewPlan, missing: Collection[str], now: datetime) -> Iterator[Entry]:
    """Yield the changes that a view is about to hold, of versions that it reads already: their tables changed in place."""
    if not plan.stored or not plan.view or plan.action != "update":
        return
    former, present = read_held_note(plan.stored.query), read_held_note(plan.view.query)
    # A column that was hidden keeps a type once it is accepted; the version that brought the other type has its entry.
    names = ({*present.hidden} | dict(present.types.items() - former.types.items()).keys()) - {*former.hidden}
    new = {fold_case(name) for name in names}
    found = _outcomes(kind, plan, plan.view, plan.stored) if new else {}
    before = Schema(Column(one.name, former.types.get(one.name, one.type)) for one in plan.stored.columns)
    held = {one: outcome for one, outcome in found.items() if one.version not in missing}
    own = {one: held[one] for one in held if fold_case(one.path.partition(".")[0]) in new and _is_new(one, before)}
    for one, outcome in own.items():
        yield replace(
            _of_view(plan, digest(outcome, view_of(plan), one.change, one.path), "discovered", now),
            operations=(operation_of(one),),
            effects=(_effect_of_held(plan, one, outcome),),
            decision=outcome,
            version_after=one.version,
            change=one.change,
        )


def _is_new(held: Waiting, before: Schema) -> bool:
    """Return whether no version had a column, field or type when the view was written, given its full columns then."""
    column = before.get(held.path.partition(".")[0])
    type_ = type_at(column, held.path) if column else None
    return type_ is None or not is_at_or_below(parse_landed_type(held.new), type_)


def _outcomes(kind: ViewKind, plan: ViewPlan, view: BuiltView, stored: StoredView) -> dict[Waiting, Outcome]:
    """Return what the view of a plan does not show by its contract, with what became of each."""
    found: dict[Waiting, Outcome] = dict.fromkeys(view.waiting, "waiting")
    rules, shown = kind.settings.rules_for(plan.base), Schema(view.columns)
    contract = rules.contract
    if not _has_contract(kind) or (contract.new_columns != "hide" and contract.types != "keep"):
        return found
    for one in held_by_contract(kind, plan.versions, active_versions(plan.versions, rules), stored):
        column = shown.get(one.path.partition(".")[0])
        type_ = type_at(column, one.path) if column else None
        is_held = one.old == (str(type_) if type_ else None)
        if is_held and (contract.new_columns if one.old is None else contract.types) != "review":
            found[one] = "hidden" if one.old is None else "kept"
    return found


def _has_contract(kind: ViewKind) -> TypeGuard[FullKind]:
    return isinstance(kind, UnderContract)


def _effect_of_held(plan: ViewPlan, held: Waiting, outcome: Outcome) -> Effect:
    if held.old is None:
        return held_effect(Effect(view_of(plan), "new column", held.path, held.new), outcome)
    return held_effect(Effect(view_of(plan), "cast", held.path, f"{held.old} -> {held.new}"), outcome)


def read_views(kind: ViewKind, versions: Sequence[Version]) -> Iterator[ReadView]:
    """Yield the views of a table that exist, as people read them.

    Args:
        kind: one of the views, which exists.
        versions: the versions of the table.
    """
    base, settings = kind.base, kind.settings
    rules = settings.rules_for(base)
    unified, current, clean = settings.view_of(base), settings.current_view_of(base), settings.clean_view_of(base)
    is_there = {view: view == kind.id or kind.warehouse.get_view(view) is not None for view in (unified, current, clean)}
    without = (METADATA, LANDED_AT, DAY)
    if is_there[unified]:
        yield ReadView(str(unified), rules)
    if is_there[current]:
        yield ReadView(str(current), rules, without)
    if is_there[clean]:
        yield ReadView(str(clean), rules, without, table_policies(settings, base, versions))


def _of_view(plan: ViewPlan, id_: str, origin: Origin, now: datetime) -> Entry:
    effects = tuple(_effects(plan)) or (Effect(view_of(plan), "nothing", ""),)
    return Entry(id_, now, origin, plan.base.dataset or "", plan.base.table, (), effects)


def _effects(plan: ViewPlan) -> Iterator[Effect]:
    for change in plan.changes:
        if change.kind in _EFFECTS:
            lost = _losses(plan, change)
            detail = " -> ".join(type_ for type_ in (change.old, change.new) if type_)
            yield Effect(
                view_of(plan),
                "lossy cast" if lost else _EFFECTS[change.kind],
                change.path,
                f"{detail}: {'; '.join(lost)}" if lost else detail,
            )
        elif change.kind == "view removed":
            yield Effect(view_of(plan), "removed", "")


def _losses(plan: ViewPlan, change: SchemaChange) -> list[str]:
    """Return what the view's conversions of a retyped column can lose."""
    if change.kind != "retyped" or plan.view is None:
        return []
    column = fold_case(change.path.partition(".")[0])
    return list(dict.fromkeys(loss for cast in plan.view.casts if fold_case(cast.column) == column for loss in cast.losses))
