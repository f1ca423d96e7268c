"""What a decision about a change is about: the columns that views do not show, and all identifiers that these have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from onefold.changes.entry import Entry
from onefold.core.names import fold_case, is_at_or_in
from onefold.schema.columns import Column
from onefold.schema.contract_rules import SHOW_ALL, Contract, DecisionKey, Verdict, Verdicts
from onefold.schema.former import missing
from onefold.schema.target_types import type_at
from onefold.schema.types import Struct, element_of, parse_landed_type
from onefold.schema.versions import Version
from onefold.schema.waiting import Waiting


@dataclass(frozen=True)
class ChangeToDecide:
    """A change of a table, as a plan or the ledger names it: it has another identifier where the version before is gone.

    Attributes:
        change: its identifier.
        columns: the columns and fields that are decided; empty for all of them.
        held: what the views of the table do not show, whatever was decided about it.
        entries: those of the table.
        verdicts: what was decided before.
        contract: that of the table, which says what of it waits.
    """

    change: str
    columns: Sequence[str]
    held: Sequence[Waiting]
    entries: Sequence[Entry]
    verdicts: Verdicts = field(default_factory=Verdicts)
    contract: Contract = SHOW_ALL

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
        return next((one for one, name in new if any(is_at_or_in(path, name) for path in paths)), None)

    @property
    def new_above(self) -> tuple[str, str] | None:
        """A field that is decided, and the new struct that holds it, is not shown, and is not decided along."""
        names, new = {fold_case(name) for name in self.columns}, [one for one in self.open if one.old is None]
        pairs = ((name, one.path) for name in self.columns for one in new if fold_case(one.path) not in names)
        return next((pair for pair in pairs if is_at_or_in(fold_case(pair[0]), fold_case(pair[1]))), None)

    def keys(self, verdict: Verdict) -> Iterator[DecisionKey]:
        """Yield what is decided: each column under each identifier that it has.

        No decision is about a change as a whole, which may be found to have more columns later: where its table gains one
        in place, or where a version is gone that had brought them before. By the identifier of its version alone a column
        is found where the version before is gone; by that of the column, where its own version is.
        """
        chosen = self.chosen(verdict)
        own = [(name, path) for one in chosen for name in self._names(one) for path in self._asked(one)]
        if not chosen or verdict == "reject":
            own += [(self.change, path) for path in self.columns or sorted(self._done(verdict))]
        yield from dict.fromkeys(key for key in own if key[0])

    def chosen(self, verdict: Verdict) -> tuple[Waiting, ...]:
        """Return what is decided.

        Where no column is named, what waits is accepted; without that, what the contract hides or keeps; and what was
        rejected only where there is nothing else.
        """
        if self.columns or verdict == "reject":
            return self.open
        left = tuple(one for one in self.open if not self._is_rejected(one))
        return tuple(one for one in left if self._waits(one)) or left or self.open

    def left_out(self, verdict: Verdict) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns and fields of the change that are not decided along: rejected ones, and those that are held."""
        left = [one for one in self.open if one not in self.chosen(verdict)]
        rejected = tuple(one.path for one in left if self._is_rejected(one))
        return rejected, tuple(one.path for one in left if one.path not in rejected)

    def fields_in_text(self, versions: Sequence[Version]) -> tuple[str, ...]:
        """Return the fields that views show once a type is accepted: a whole struct as text or JSON has all of its fields.

        Args:
            versions: those of the table.
        """
        texts = [one for one in self.chosen("accept") if one.old and _is_struct(one.old) and not _is_struct(one.new)]
        columns = [(one, version.schema.get(one.path.partition(".")[0])) for one in texts for version in versions]
        landed = [(one, column and type_at(column, one.path)) for one, column in columns]
        shown = {one: Column(one.path, parse_landed_type(one.old or "")) for one in texts}
        paths = (path for one, type_ in landed if type_ for path in missing(Column(one.path, type_), shown[one]))
        return tuple(dict.fromkeys(paths))

    def rejected_below(self) -> tuple[DecisionKey, ...]:
        """Return the fields of what is accepted that were rejected, which they stay when the version is gone, too."""
        paths = [(one, fold_case(path)) for one in self.chosen("accept") if one.old is None for path in self._asked(one)]
        return tuple(
            dict.fromkeys(
                (one.by_column, below)
                for one, path in paths
                for (name, below), verdict in self.verdicts.by_change.items()
                if verdict == "reject" and name in self._names(one) and below.startswith(f"{path}.")
            )
        )

    def _asked(self, one: Waiting) -> list[str]:
        """Return what is decided of something that is open: it, or the fields of it that are named."""
        path = fold_case(one.path)
        names = [name for name in self.columns if is_within(fold_case(name), path)]
        return [name if len(name) > len(path) else one.path for name in names] or [one.path]

    def _waits(self, one: Waiting) -> bool:
        """Return whether the contract asks for a decision. A text of a struct is held as its fields are."""
        is_new = one.old is None or self.contract.types == "widen"
        return (self.contract.new_columns if is_new else self.contract.types) == "review"

    def _is_rejected(self, one: Waiting) -> bool:
        """Return whether a column or its type was rejected, also where another version has that type, too."""
        same = (
            other for other in self.held if other.by_column and (other.by_column, other.path) == (one.by_column, one.path)
        )
        return any(self._verdict(other) == "reject" for other in (one, *same))

    def _verdict(self, one: Waiting) -> Verdict | None:
        names = (one.change, one.by_version, one.by_column)
        return next((found for name in names if (found := self.verdicts.about(name, one.path))), None)

    def _done(self, verdict: Verdict) -> Iterator[str]:
        """Yield the columns of a change of which nothing is open: those that views show, or whose version is gone."""
        held = [fold_case(one.path) for one in self.held]
        for path in self.paths | self._shown_paths:
            if verdict == "reject" or not any(is_within(path, name) for name in held):
                yield path

    @property
    def _shown_paths(self) -> frozenset[str]:
        """The columns that views have for the change: of a field, they may name the column."""
        own = (entry for entry in self.entries if entry.change == self.change)
        return frozenset(fold_case(effect.path) for entry in own for effect in entry.effects if effect.path)

    def _names(self, one: Waiting) -> Iterator[str]:
        yield from (self.change, one.change, one.by_version, one.by_column)
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


def _is_struct(type_: str) -> bool:
    return isinstance(element_of(parse_landed_type(type_)), Struct)


def is_within(name: str, path: str) -> bool:
    """Return whether a decision about a column decides about a path: it is the same, or one is a field of the other."""
    return is_at_or_in(name, path) or is_at_or_in(path, name)
