"""What readers of a view notice when a table gains a version: a pure function of the versions before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from onefold.changes.entry import Effect
from onefold.core.names import at_and_above, fold_case
from onefold.schema.column_policy import Action, TablePolicies
from onefold.schema.columns import Column, Schema
from onefold.schema.diff import SchemaChange, compare
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import type_at
from onefold.schema.treatment import Treatment, treat
from onefold.schema.types import Type
from onefold.schema.versions import Version, casts, fold


@dataclass(frozen=True)
class Shown:
    """A view as its readers see it.

    Attributes:
        columns: its columns, without those that are left out.
        losses: what its conversions can lose: the column, and the types with a sentence.
        hidden: the columns and fields that a policy leaves out or masks, each with its action.
    """

    columns: tuple[Column, ...]
    losses: frozenset[tuple[str, str]] = frozenset()
    hidden: tuple[tuple[str, str], ...] = ()

    @cached_property
    def hidden_paths(self) -> frozenset[str]:
        """The hidden paths in the form in which names are compared."""
        return frozenset(fold_case(path) for path, _ in self.hidden)

    def type_of(self, path: str) -> Type | None:
        """Return the type of a column or field that is shown and not hidden; None for any other."""
        paths = at_and_above(path)
        if any(one in self.hidden_paths for one in paths):
            return None
        column = Schema(self.columns).get(paths[-1])
        return type_at(column, path) if column else None


@dataclass(frozen=True)
class ReadView:
    """A view of a table that people read, and what decides its columns.

    Attributes:
        name: its full name.
        rules: the rules by which versions are united.
        without: columns of the versions that it does not show.
        policies: the policies of a clean view; None for any other.
    """

    name: str
    rules: TableRules
    without: tuple[str, ...] = ()
    policies: TablePolicies | None = None

    def shown(self, versions: Sequence[Version]) -> Shown:
        """Return the view over some versions."""
        columns = Schema(fold(versions, self.rules)).minus(self.without)
        losses = frozenset(
            (fold_case(cast.column), f"{cast.source} -> {cast.target}: {loss}")
            for cast in casts(versions, columns, self.rules)
            for loss in cast.losses
        )
        if self.policies is None:
            return Shown(tuple(columns), losses)
        landed: dict[str, dict[Type, None]] = {}
        for column in (column for version in versions for column in version.columns):
            landed.setdefault(fold_case(column.name), {})[column.type] = None
        treatments = [treat(one, list(landed.get(fold_case(one.name), ())), self.policies) for one in columns]
        shown = tuple(Column(one.path, type_) for one in treatments if (type_ := one.shown_type))
        return Shown(shown, losses, tuple(_hidden(treatments)))


def _hidden(treatments: Iterable[Treatment]) -> Iterator[tuple[str, str]]:
    for one in treatments:
        if one.action in (Action.DROP, Action.MASK):
            yield one.path, str(one.action)
        yield from _hidden(one.fields)


def effects_of(view: str, before: Shown, after: Shown, operations: Iterable[SchemaChange]) -> tuple[Effect, ...]:
    """Return what readers of a view notice of a change, at least one effect.

    Args:
        view: the full name of the view.
        before: the view before the change.
        after: the view after it.
        operations: how the schema of the table changed: what is removed there becomes NULL here.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> old, new = (Shown((Column("id", parse_type(type_)),)) for type_ in ("INT64", "STRING"))
        >>> [(one.kind, one.path, one.detail) for one in effects_of("p.shop.customer_unified", old, new, ())]
        [('cast', 'id', 'INT64 -> STRING')]
    """
    found = [*_lossy(view, before, after), *_nulls(view, after, operations), *_changed(view, before, after)]
    found += [Effect(view, "hidden", path, action) for path, action in after.hidden if _is_new(path, before)]
    return tuple(found) or (Effect(view, "nothing", ""),)


def _is_new(path: str, before: Shown) -> bool:
    return fold_case(path) not in before.hidden_paths


def _lossy(view: str, before: Shown, after: Shown) -> Iterator[Effect]:
    details: dict[str, list[str]] = {}
    for name, loss in sorted(after.losses - before.losses):
        details.setdefault(name, []).append(loss)
    for column in after.columns:
        if (lost := details.get(fold_case(column.name))) and after.type_of(column.name):
            yield Effect(view, "lossy cast", column.name, "; ".join(lost))


def _nulls(view: str, after: Shown, operations: Iterable[SchemaChange]) -> Iterator[Effect]:
    for operation in operations:
        if operation.kind == "removed" and (type_ := after.type_of(operation.path)):
            yield Effect(view, "null", operation.path, str(type_))


def _changed(view: str, before: Shown, after: Shown) -> Iterator[Effect]:
    new_losses = {column for column, _ in after.losses - before.losses}
    for change in compare(before.columns, after.columns):
        if change.kind == "added" and after.type_of(change.path):
            yield Effect(view, "new column", change.path, change.new or "")
        elif change.kind == "removed" and fold_case(change.path) not in after.hidden_paths:
            yield Effect(view, "removed", change.path, change.old or "")
        elif change.kind == "retyped" and fold_case(change.path.partition(".")[0]) not in new_losses:
            yield Effect(view, "cast", change.path, f"{change.old} -> {change.new}")
