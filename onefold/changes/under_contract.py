"""What a contract makes of an entry: the decision, and effects that readers do not notice yet."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from onefold.changes.entry import Effect, Entry
from onefold.changes.held_fields import effects_with_fields, operation_of, operations_with_fields
from onefold.changes.ids import digest
from onefold.core.names import fold_case, is_at_or_in
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import is_at_or_below
from onefold.schema.contract_rules import Contract, Types
from onefold.schema.contracts import ChangeOf
from onefold.schema.diff import SchemaChange
from onefold.schema.outcomes import Outcome, foremost, outcomes_of
from onefold.schema.target_types import type_at
from onefold.schema.types import parse_type
from onefold.schema.waiting import Waiting

NOT_SHOWN: tuple[Outcome, ...] = ("waiting", "rejected", "hidden", "kept")
"""The outcomes of a change that views do not show."""
_KEPT_TYPE = re.compile(r"(\w+): values that do not fit the former type \((.*)\)")


def entry_under(
    contract: Contract,
    entry: Entry,
    protected: Collection[str],
    former: Sequence[Column] = (),
    held: Sequence[Waiting] | None = None,
) -> Entry:
    """Return an entry as the views have it under the contract of their table.

    A new column that is held is hidden. A column whose type is held stays as it is, and has NULL for values that do not fit.

    Args:
        contract: that of the table, with the decisions that are known.
        entry: what views would do without a contract.
        protected: columns that no contract holds.
        former: the columns of the view before; a column that it has, in a type that holds the new values, waits for nothing.
        held: what the view does not show, whatever was decided about it; None where that is not known, and
            all that a contract may hold counts as held.

    Examples:
        >>> from datetime import UTC, datetime
        >>> from onefold.schema.diff import SchemaChange, Severity
        >>> added = SchemaChange("added", "zip", Severity.INFO, new="STRING")
        >>> now, effects = datetime(2026, 1, 1, tzinfo=UTC), (Effect("p.d.v", "new column", "zip", "STRING"),)
        >>> entry = Entry("1", now, "capture", "d", "t", (added,), effects, change="c1")
        >>> found = entry_under(Contract(new_columns="review"), entry, ())
        >>> found.decision, [(one.kind, one.detail) for one in found.effects]
        ('waiting', [('hidden', 'waiting')])
    """
    outcomes = _outcomes(contract, entry, protected, former, held)
    noticed = effects_with_fields(entry, held or ())
    effects = tuple(held_effect(effect, outcomes.get(fold_case(effect.path), "shown")) for effect in noticed)
    return replace(entry, effects=effects, decision=foremost(outcomes.values()))


def entries_by_column(
    contract: Contract,
    entry: Entry,
    protected: Collection[str],
    former: Sequence[Column],
    change_of: ChangeOf,
    held: Sequence[Waiting] | None = None,
) -> Iterator[Entry]:
    """Yield the entries of a table that gains columns in place, where each column that is held is a change of its own.

    What is shown is one entry, which nobody has to decide about.

    Args:
        contract: as for `entry_under`.
        entry: as for `entry_under`.
        protected: as for `entry_under`.
        former: as for `entry_under`.
        change_of: returns the identifier of the change of a column or field, given the version and the path.
        held: as for `entry_under`.
    """
    found = []
    entry = replace(entry, effects=effects_with_fields(entry, held or ()))
    for operation in operations_with_fields(entry, held or ()):
        change, path = change_of(entry.version_after, operation.path), fold_case(operation.path)
        effects = tuple(effect for effect in entry.effects if fold_case(effect.path) == path)
        own = replace(
            entry, id=digest("of column", entry.id, change), change=change, operations=(operation,), effects=effects
        )
        of_column = None if held is None else [one for one in held if _is_about(one, entry, path)]
        if (one := entry_under(contract, own, protected, former, of_column)).decision != "shown":
            found.append(one)
    kept = {one.operations[0] for one in found}
    left = tuple(operation for operation in entry.operations if operation not in kept)
    if left or not found:
        paths = {fold_case(one.path) for one in kept}
        effects = tuple(effect for effect in entry.effects if fold_case(effect.path) not in paths)
        yield replace(entry, change="", operations=left, effects=effects)
    yield from found


def _outcomes(
    contract: Contract, entry: Entry, protected: Collection[str], former: Sequence[Column], held: Sequence[Waiting] | None
) -> dict[str, Outcome]:
    """Return what became of a change, by the paths: of what the view holds, and of later changes of that."""
    found = outcomes_of(entry.change, _noticed(entry.operations, former), contract, protected)
    if held is None:
        return dict(found)
    paths = [fold_case(one.path) for one in held]
    left = {
        path: one for path, one in found.items() if one not in NOT_SHOWN or any(is_at_or_in(path, other) for other in paths)
    }
    # Where types are widened, one is held all the same that would show fields which are not shown.
    types: Types = "review" if contract.new_columns == "review" else "keep"
    by = replace(contract, types=types) if contract.types == "widen" else contract
    own = (operation_of(one) for one in held if one.version == entry.version_after and _is_changed(one, entry))
    found = {**left, **outcomes_of(entry.change, own, by, protected)}
    earlier = [one for one in held if one.old is None and one.version != entry.version_after]
    return {path: _with_its_column(path, one, earlier, by, protected) for path, one in found.items()}


def _is_changed(held: Waiting, entry: Entry) -> bool:
    """Return whether an entry is about what a view holds: a version may have a type that an earlier one brought."""
    path, changed = fold_case(held.path), [fold_case(one.path) for one in entry.operations]
    return any(is_at_or_in(path, one) or is_at_or_in(one, path) for one in changed)


def _with_its_column(
    path: str, outcome: Outcome, new_columns: Sequence[Waiting], contract: Contract, protected: Collection[str]
) -> Outcome:
    """Return what became of a change: nobody can decide about a column that the view does not show, or a field in one."""
    column = next((one for one in new_columns if is_at_or_in(path, fold_case(one.path))), None)
    if column is None or outcome != "waiting":
        return outcome
    return foremost(outcomes_of(column.change, [operation_of(column)], contract, protected).values())


def _is_about(held: Waiting, entry: Entry, path: str) -> bool:
    """Return whether what a view holds is about one column of an entry, or about another version."""
    return held.version != entry.version_after or fold_case(held.path) == path


def _noticed(operations: Iterable[SchemaChange], former: Sequence[Column]) -> Iterator[SchemaChange]:
    """Yield the operations that are new to a view: a column that comes back is another type of it, if anything."""
    shown = Schema(former)
    for operation in operations:
        column = shown.get(operation.path.partition(".")[0])
        type_ = type_at(column, operation.path) if column else None
        if type_ is None or operation.kind not in ("added", "retyped") or not operation.new:
            yield operation
        elif not is_at_or_below(parse_type(operation.new), type_):
            yield replace(operation, kind="retyped")


def held_effect(effect: Effect, outcome: Outcome) -> Effect:
    """Return what readers notice of a change by its outcome.

    Args:
        effect: what they notice where it is shown.
        outcome: what became of the change.
    """
    if outcome in NOT_SHOWN and effect.kind == "new column":
        return replace(effect, kind="hidden", detail=outcome)
    if outcome in NOT_SHOWN and effect.kind in ("cast", "lossy cast"):
        return replace(effect, kind="null", detail=f"{outcome}: values that do not fit the former type ({effect.detail})")
    return effect


def outcome_in(effect: Effect) -> Outcome | None:
    """Return the outcome with which `held_effect` made an effect; None for one that is shown, or that a policy hides.

    Examples:
        >>> outcome_in(held_effect(Effect("p.d.v", "cast", "id", "INT64 -> STRING"), "kept"))
        'kept'
    """
    found = _KEPT_TYPE.fullmatch(effect.detail) if effect.kind == "null" else None
    named = found[1] if found else effect.detail if effect.kind == "hidden" else ""
    return next((outcome for outcome in NOT_SHOWN if outcome == named), None)


def former_type(effect: Effect) -> str:
    """Return the type that a view keeps, by an effect that `held_effect` made; empty where the effect is another one.

    Examples:
        >>> former_type(held_effect(Effect("p.d.v", "cast", "id", "INT64 -> STRING"), "kept"))
        'INT64'
    """
    found = _KEPT_TYPE.fullmatch(effect.detail) if effect.kind == "null" else None
    return found[2].partition(" -> ")[0] if found else ""


def shown_effect(effect: Effect, type_: str) -> Effect:
    """Return what readers notice once a change is shown that `held_effect` held.

    Args:
        effect: what they notice while it is held.
        type_: the type of the column or field in the version that brought it.

    Examples:
        >>> cast = Effect("p.d.v", "cast", "id", "INT64 -> STRING")
        >>> shown_effect(held_effect(cast, "waiting"), "STRING") == cast
        True
    """
    if found := _KEPT_TYPE.fullmatch(effect.detail):
        return replace(effect, kind="lossy cast" if ": " in found[2] else "cast", detail=found[2])
    return replace(effect, kind="new column", detail=type_)
