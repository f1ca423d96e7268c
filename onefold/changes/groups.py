"""Entries that say the same of many tenants, as one change for people: its lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from onefold.changes.entry import Effect, Entry
from onefold.changes.reader_counts import NOBODY, ColumnReaders, KnownReaders
from onefold.core.text import counted, cut, shown_list

_LONGEST = 300
"""Characters of a statement that a line shows."""
_MOST_READ = 4
"""Columns of which a line names the readers."""


@dataclass(frozen=True)
class ChangeGroup:
    """Entries of one change: the same versions, operations and settings, of one or many tenants or datasets.

    Attributes:
        entries: the entries, by the time of the recording; at least one.
    """

    entries: tuple[Entry, ...]

    @property
    def first(self) -> Entry:
        """The entry that was recorded first."""
        return self.entries[0]

    @property
    def id(self) -> str:
        """The identifier that decisions name: that of the change that all tenants share."""
        return self.first.change or self.first.id

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables as `dataset.table`, each once."""
        return tuple(dict.fromkeys(f"{one.dataset}.{one.table}" for one in self.entries))

    @property
    def tenants(self) -> tuple[str, ...]:
        """The tenants, each once."""
        return tuple(dict.fromkeys(one.tenant for one in self.entries if one.tenant))

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What readers of views notice, each once."""
        return tuple(dict.fromkeys(effect for one in self.entries for effect in one.effects))

    @property
    def severity(self) -> str:
        """The highest severity of the entries."""
        return max(one.severity for one in self.entries).name

    @property
    def title(self) -> str:
        """The table and who changed it."""
        who = self.first.origin if not self.tenants else f"{self.first.origin}: {_tenants(self.tenants)}"
        where = self.tables[0] if len(self.tables) == 1 else f"{self.first.table} in {counted(len(self.tables), 'dataset')}"
        return f"{where} ({who})"

    def facts(self) -> Iterator[str]:
        """Yield what changed, what each view does with it, and the decision where there is one."""
        if told := [*map(str, self.first.operations), *map(str, self.first.settings)]:
            yield shown_list(told)
        for view, effects in groupby(sorted(self.effects, key=lambda one: one.view), key=lambda one: one.view):
            yield f"{view}: {shown_list(_effect_text(one) for one in effects)}"
        if self.first.decision != "shown":
            time = self.first.decided_at
            yield f"decision: {self.first.decision}{f' on {time:%Y-%m-%d %H:%M} UTC' if time else ''}"

    def readers(self, known: KnownReaders) -> tuple[ColumnReaders, ...]:
        """Return who reads the columns of views that the change is about.

        Args:
            known: who reads columns, as far as it is known.
        """
        places = dict.fromkeys((effect.view.rpartition("."), effect.path) for effect in self.effects if effect.path)
        views = ((name[0].rpartition(".")[2], name[2], path) for name, path in places)
        return tuple(dict.fromkeys(one for dataset, view, path in views for one in known.readers_of(dataset, view, path)))

    def readers_text(self, known: KnownReaders) -> Iterator[str]:
        """Yield who reads these columns, in words; nothing where nobody is known to read them."""
        places = dict.fromkeys((one.dataset, one.table, one.column) for one in self.readers(known))
        read = [
            f"{dataset}.{table}.{column} by {known.summary(dataset, table, column)}" for dataset, table, column in places
        ]
        if read:
            yield f"read: {shown_list(read, most=_MOST_READ)}"

    def lines(self, known: KnownReaders = NOBODY) -> Iterator[str]:
        """Yield the facts, who reads the columns, and the statement."""
        yield from self.facts()
        yield from self.readers_text(known)
        if self.first.statement:
            yield cut(" ".join(self.first.statement.split()), _LONGEST)


def _tenants(tenants: Sequence[str]) -> str:
    return tenants[0] if len(tenants) == 1 else counted(len(tenants), "tenant")


def _effect_text(effect: Effect) -> str:
    return " ".join(part for part in (effect.kind, effect.path, effect.detail) if part)


def grouped(entries: Iterable[Entry]) -> tuple[ChangeGroup, ...]:
    """Return the changes that entries are about, by the time at which each was recorded first.

    A migration of 300 tenants is one change, also where each tenant has a dataset of its own.
    """
    found: dict[tuple[object, ...], list[Entry]] = {}
    for one in sorted(entries, key=lambda entry: (entry.recorded_at, entry.id)):
        key = (one.table, one.version_before, one.version_after, one.operations, one.settings, one.decision)
        found.setdefault(key, []).append(one)
    return tuple(ChangeGroup(tuple(group)) for group in found.values())
