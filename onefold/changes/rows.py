"""Rows of the ledger as entries. A row may be of a newer release, or of somebody else: what is known of it is shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar, cast, get_args

from onefold.changes.entry import Decision, Effect, EffectKind, Entry, Origin, SettingChange
from onefold.core.text import counted, cut, shown_list
from onefold.schema.diff import Kind, SchemaChange, Severity

_Instead = TypeVar("_Instead")
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of a row that has none."""


def entry_of(row: Mapping[str, Any]) -> Entry:
    """Return the entry that a row holds; times of rows have a zone. `Entry.unknown` names what is not known of it.

    A kind or an origin that this release does not know stays as it is, with the worst severity. An unknown decision is
    `waiting`: nothing says that the views show the change.
    """
    return _Row(row).entry()


def unknown_warnings(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield a warning for each value of the ledger that this release does not know, with the entries that have it.

    Args:
        entries: entries that were read.
    """
    found: dict[str, list[str]] = {}
    for entry in entries:
        for text in dict.fromkeys(entry.unknown):
            found.setdefault(text, []).append(f"{entry.id} of {entry.dataset}.{entry.table}")
    for text, names in found.items():
        verb = "has" if len(names) == 1 else "have"
        where = f"{counted(len(names), 'row')} of the ledger ({shown_list(names, most=4)})"
        yield f"{where} {verb} {text}: update Onefold, or correct what another program has written"


@dataclass(frozen=True)
class _Row:
    """A row, and what of it is not known."""

    row: Mapping[str, Any]
    unknown: list[str] = field(default_factory=list)

    def entry(self) -> Entry:
        row = self.row
        texts: dict[str, Any] = {name: row[name] or "" for name in _TEXTS}
        operations = tuple(map(self._operation, row["operations"]))
        effects = tuple(map(self._effect, row["effects"]))
        settings = tuple(map(self._setting, row["settings"]))
        origin, decision = cast(Origin, self._text("origin", row["origin"], _ORIGINS)), self._decision()
        recorded_at = row["recorded_at"] or self._unknown("recorded_at", None, _NO_TIME)
        return Entry(
            **texts, recorded_at=recorded_at, changed_at=row["changed_at"], origin=origin, decision=decision,
            operations=operations, effects=effects, settings=settings, unknown=tuple(self.unknown),
        )  # fmt: skip

    def _operation(self, one: Mapping[str, Any]) -> SchemaChange:
        kind = cast(Kind, self._text("kind of an operation", one["kind"], _KINDS))
        name = one["severity"]
        known = name in Severity.__members__
        severity = Severity[name] if known else self._unknown("severity", name, Severity.CRITICAL)
        return SchemaChange(kind, one["path"] or "", severity, one["old"], one["new"])

    def _effect(self, one: Mapping[str, Any]) -> Effect:
        kind = cast(EffectKind, self._text("kind of an effect", one["kind"], get_args(EffectKind)))
        return Effect(self._text("view", one["view"]), kind, one["path"] or "", one["detail"] or "")

    def _setting(self, one: Mapping[str, Any]) -> SettingChange:
        return SettingChange(self._text("setting", one["setting"]), one["before"], one["after"])

    def _decision(self) -> Decision:
        decision: Decision = self.row["decision"]
        return decision if decision in get_args(Decision) else self._unknown("decision", decision, "waiting")

    def _text(self, what: str, value: str | None, known: Collection[str] = ()) -> str:
        """Return a text as it is; NULL as an empty one. Without known values, any other text is known."""
        return value if value and (not known or value in known) else self._unknown(what, value, value or "")

    def _unknown(self, what: str, value: str | None, instead: _Instead) -> _Instead:
        self.unknown.append(f"the unknown {what} {cut(value)!r}" if value else f"no {what}")
        return instead


_TEXTS = ("id", "change", "dataset", "table", "tenant", "version_before", "version_after", "statement")
_ORIGINS, _KINDS = get_args(Origin), get_args(Kind)
