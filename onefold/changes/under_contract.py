"""What a contract makes of an entry: the decision, and effects that readers do not notice yet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from onefold.changes.entry import Effect, Entry
from onefold.core.names import fold_case
from onefold.schema.contract_rules import Contract
from onefold.schema.contracts import Outcome, decision_of, outcomes_of

_NOT_SHOWN = ("waiting", "rejected", "hidden", "kept")


def entry_under(contract: Contract, entry: Entry, protected: Collection[str]) -> Entry:
    """Return an entry as the views have it under the contract of their table.

    A new column that is held is hidden. A column whose type is held stays as it is, and has NULL for values that do not fit.

    Args:
        contract: that of the table, with the decisions that are known.
        entry: what views would do without a contract.
        protected: columns that no contract holds.

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
    outcomes = outcomes_of(entry.change, entry.operations, contract, protected)
    effects = tuple(_effect_under(effect, outcomes.get(fold_case(effect.path), "shown")) for effect in entry.effects)
    return replace(entry, effects=effects, decision=decision_of(entry.change, entry.operations, contract, protected))


def _effect_under(effect: Effect, outcome: Outcome) -> Effect:
    if outcome in _NOT_SHOWN and effect.kind == "new column":
        return replace(effect, kind="hidden", detail=outcome)
    if outcome in _NOT_SHOWN and effect.kind in ("cast", "lossy cast"):
        return replace(effect, kind="null", detail=f"{outcome}: values that do not fit the former type ({effect.detail})")
    return effect
