"""Entries of the ledger with what became of them since: what people decided, and what views show by now.

No row of the ledger is changed. So whoever reads entries gets those that were held back with their present outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from onefold.changes.entry import Effect, Entry
from onefold.changes.ids import version_change_id, version_id
from onefold.changes.under_contract import NOT_SHOWN, held_effect, outcome_in, shown_effect
from onefold.core.errors import InvalidType
from onefold.core.names import TableId, at_and_above, fold_case
from onefold.schema.columns import Column
from onefold.schema.common_type import is_at_or_below
from onefold.schema.contract_rules import Verdicts
from onefold.schema.outcomes import Outcome, foremost
from onefold.schema.target_types import type_at
from onefold.schema.types import Struct, element_of, parse_type

_Shown = Mapping[tuple[str, str], Sequence[tuple[datetime, str]]]
"""When views came to show columns and fields, and in which types, by the view and the path."""
_Path = tuple[str, str, str]
"""A column or field: its dataset, its table, and its path in the form in which names are compared."""


def is_held(entry: Entry) -> bool:
    """Return whether views did not show a change when it was recorded, so that it could be decided."""
    return entry.decision in NOT_SHOWN and bool(entry.change)


def decided(entries: Sequence[Entry], verdicts: Verdicts) -> tuple[Entry, ...]:
    """Return entries with their present outcomes.

    A column that a view shows by now, as a later entry about this view says, waits no longer, even where no decision is
    known: the line of onefold.yaml may be gone by then, or the contract.

    Args:
        entries: entries of the ledger, with those that came after them.
        verdicts: all decisions.

    Examples:
        >>> from datetime import UTC
        >>> effects = (Effect("p.d.v", "hidden", "zip", "waiting"),)
        >>> entry = Entry("1", datetime(2026, 1, 1, tzinfo=UTC), "pull", "d", "t", (), effects, "waiting", change="c1")
        >>> [one.decision for one in decided([entry], Verdicts({("c1", "zip"): "reject"}))]
        ['rejected']
    """
    shown, rejected = _shown_later(entries), _rejected(entries, verdicts)
    return tuple(_Held(entry, verdicts, shown, rejected).now() if is_held(entry) else entry for entry in entries)


def later_names(project: str, entries: Sequence[Entry], own: Verdicts) -> dict[str, str]:
    """Return another identifier for each change, under which it may be decided where the version before is gone.

    It is that by which onefold.yaml names it, as the change from another version that is known; else that of what the
    version brought, under which the table of decisions has it, too.

    Args:
        project: the project of the tables.
        entries: entries of the ledger.
        own: the decisions of onefold.yaml.
    """
    known: dict[tuple[str, str], set[str]] = {}
    for one in entries:
        known.setdefault((one.dataset, one.table), {""}).update((one.version_before, one.version_after))
    named, found = {change for change, _ in own.by_change}, {}
    for change, one in {entry.change: entry for entry in entries if is_held(entry)}.items():
        base = TableId(project, one.dataset, one.table)
        befores = known[one.dataset, one.table] if named else ()
        others = {version_change_id(base, before, one.version_after) for before in befores}
        found[change] = min(named & others - {change}, default=version_id(base, one.version_after))
    return found


@dataclass(frozen=True)
class _Held:
    """An entry that was held back when it was recorded, and what is known since."""

    entry: Entry
    verdicts: Verdicts
    shown: _Shown
    rejected: Collection[_Path]

    def now(self) -> Entry:
        """Return the entry with its present outcome."""
        entry = self.entry
        outcomes = {effect: self._outcome(effect) for effect in self._effects()}
        effects = tuple(self._effect(one, outcomes[one]) if one in outcomes else one for one in entry.effects)
        decision = foremost(outcomes.values())
        times = self._times(outcomes) if decision in ("accepted", "rejected") else []
        return replace(entry, effects=effects, decision=decision, decided_at=max(times, default=None))

    def _effects(self) -> list[Effect]:
        """Return the effects that were held back. An entry may lack them: a view keeps long ones without them."""
        held = [effect for effect in self.entry.effects if outcome_in(effect)]
        changed = [one.path for one in self.entry.operations if one.kind in ("added", "retyped")]
        return held or [Effect("", "hidden", path, self.entry.decision) for path in changed or [""]]

    def _outcome(self, effect: Effect) -> Outcome:
        verdict = self.verdicts.about(self.entry.change, effect.path)
        if verdict == "accept" and self.verdicts.is_of_struct(self.entry.change, effect.path):
            verdict = None  # a command that accepted the type of a struct
        if verdict == "accept":
            return "accepted"
        if self._is_shown(effect):
            return "shown"
        rejected = verdict or any((*self._table, one) in self.rejected for one in at_and_above(effect.path))
        return "rejected" if rejected else outcome_in(effect) or "shown"

    def _is_shown(self, effect: Effect) -> bool:
        path, *above = at_and_above(effect.path)
        new = self._new_type(effect)
        texts = (type_ for one in above for type_ in self._later(effect.view, one) if _is_text(type_))
        return any(_holds(type_, new) for type_ in self._later(effect.view, path)) or any(texts)

    def _later(self, view: str, path: str) -> Iterator[str]:
        """Yield the types in which a view came to show a column or field after the entry."""
        return (type_ for time, type_ in self.shown.get((view, path), ()) if time > self.entry.recorded_at)

    @property
    def _table(self) -> tuple[str, str]:
        return self.entry.dataset, self.entry.table

    def _effect(self, effect: Effect, outcome: Outcome) -> Effect:
        return (
            effect if outcome == outcome_in(effect) else held_effect(shown_effect(effect, self._new_type(effect)), outcome)
        )

    def _new_type(self, effect: Effect) -> str:
        """Return the type that the version brought; empty where it is not known."""
        path = fold_case(effect.path)
        brought = {fold_case(one.path): one.new for one in self.entry.operations if one.new}
        above = next((one for one in brought if path.startswith(f"{one}.")), "")
        return brought.get(path) or (_field_type(above, brought[above], path) if above else "")

    def _times(self, effects: Iterable[Effect]) -> list[datetime]:
        keys = [self.verdicts.deciding(self.entry.change, effect.path) for effect in effects]
        return [time for key in keys if key and (time := self.verdicts.times.get(key))]


def _shown_later(entries: Iterable[Entry]) -> _Shown:
    """Return what entries about single views say. One about a change of versions says what a contract may hold back."""
    found: dict[tuple[str, str], list[tuple[datetime, str]]] = {}
    for entry in entries:
        for effect in () if entry.change else entry.effects:
            if effect.kind in ("new column", "cast", "lossy cast"):
                type_ = effect.detail.partition(": ")[0].rpartition(" -> ")[2]
                found.setdefault((effect.view, fold_case(effect.path)), []).append((entry.recorded_at, type_))
    return found


def _rejected(entries: Iterable[Entry], verdicts: Verdicts) -> set[_Path]:
    """Return the new columns and fields that were rejected: what other versions bring of them is not shown, either."""
    return {
        (entry.dataset, entry.table, fold_case(one.path))
        for entry in entries
        if is_held(entry)
        for one in entry.operations
        if one.kind == "added" and verdicts.about(entry.change, one.path) == "reject"
    }


def _is_text(shown: str) -> bool:
    """Return whether a type is that of a column which shows all fields of a struct as a text."""
    try:
        return not isinstance(element_of(parse_type(shown)), Struct)
    except InvalidType:  # a row that somebody else wrote
        return False


def _holds(shown: str, new: str) -> bool:
    try:
        return is_at_or_below(parse_type(new), parse_type(shown))
    except InvalidType:  # a row that somebody else wrote
        return False


def _field_type(above: str, type_: str, path: str) -> str:
    """Return the type of a field that came with another type of its struct; empty where it is not known."""
    name = above.rpartition(".")[2]
    try:
        return str(type_at(Column(name, parse_type(type_)), name + path.removeprefix(above)) or "")
    except InvalidType:  # a row that somebody else wrote
        return ""
