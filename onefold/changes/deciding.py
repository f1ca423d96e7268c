"""What a decision about a change is about: the columns that views do not show, and all identifiers that these have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onefold.changes.entry import Entry
from onefold.core.names import fold_case
from onefold.schema.contract_rules import DecisionKey
from onefold.schema.waiting import Waiting


@dataclass(frozen=True)
class ChangeToDecide:
    """A change of a table, as a plan or the ledger names it: it has another identifier where the version before is gone.

    Attributes:
        change: its identifier.
        columns: the columns and fields that are decided; empty for all of them.
        held: what the views of the table do not show, whatever was decided about it.
        entries: those of the table.
    """

    change: str
    columns: Sequence[str]
    held: Sequence[Waiting]
    entries: Sequence[Entry]

    @property
    def paths(self) -> frozenset[str]:
        """The columns and fields of the change, in the form in which names are compared; empty where there is no change."""
        return frozenset(path for _, path in self._brought())

    @property
    def versions(self) -> frozenset[str]:
        """The versions that brought the change."""
        return frozenset(version for version, _ in self._brought())

    @property
    def open(self) -> tuple[Waiting, ...]:
        """What views do not show of what is decided."""
        return tuple(one for one in self.held if self._is_own(one) and self._is_asked(fold_case(one.path)))

    @property
    def first(self) -> Waiting | None:
        """What hides a column of the change until it is accepted, too: a column or field that another version brought."""
        paths = [fold_case(name) for name in self.columns] or self.paths
        new = [(one, fold_case(one.path)) for one in self.held if one.old is None]
        return next((one for one, name in new if any(f"{path}.".startswith(f"{name}.") for path in paths)), None)

    def keys(self) -> Iterator[DecisionKey]:
        """Yield what is decided: each column of the change, and each that is open, under each identifier that it has.

        The change as a whole is none of it: its version may come to have more columns than somebody has decided about, in
        place, or since the version before is dropped or retired. By the identifier of the version alone a column is found
        where the version before is gone.
        """
        yield from ((self.change, path) for path in self.columns or sorted(self.paths | self._shown_paths))
        own = [(name, path) for one in self.open for name in self._names(one) for path in self.columns or (one.path,)]
        yield from dict.fromkeys(key for key in own if key[0] not in ("", self.change))

    @property
    def _shown_paths(self) -> frozenset[str]:
        """The columns that views have for the change: of a field, they may name the column."""
        own = (entry for entry in self.entries if entry.change == self.change)
        return frozenset(fold_case(effect.path) for entry in own for effect in entry.effects if effect.path)

    def _names(self, one: Waiting) -> Iterator[str]:
        yield from (one.change, one.by_version)
        if not one.by_version:
            return  # a column that came in place: another type of it is another change
        for entry in self.entries:
            paths = (fold_case(operation.path) for operation in entry.operations)
            if entry.version_after == one.version and any(is_within(path, fold_case(one.path)) for path in paths):
                yield entry.change

    def _brought(self) -> Iterator[tuple[str, str]]:
        """Yield each column and field of the change with the version that brought it."""
        yield from ((one.version, fold_case(one.path)) for one in self.held if one.change == self.change)
        for entry in self.entries:
            if entry.change == self.change:
                yield from ((entry.version_after, fold_case(operation.path)) for operation in entry.operations)

    def _is_own(self, one: Waiting) -> bool:
        if not one.by_version:
            return one.change == self.change
        path = fold_case(one.path)
        return any(version == one.version and is_within(name, path) for version, name in self._brought())

    def _is_asked(self, path: str) -> bool:
        return not self.columns or any(is_within(fold_case(name), path) for name in self.columns)


def is_within(name: str, path: str) -> bool:
    """Return whether a decision about a column decides about a path: it is the same, or one is a field of the other."""
    return name == path or path.startswith(f"{name}.") or name.startswith(f"{path}.")
