"""How many values a view does not show because a contract keeps the type of their column: counted, never listed.

Both sides are counted by one query: the view as it is, and the query that it would be without the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onefold.core.errors import OnefoldError
from onefold.core.log import LogSeverity
from onefold.core.names import TableId, quote
from onefold.messages.consumer import MessageLog
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.held_note import read_held_note
from onefold.refresh.kind import ViewKind
from onefold.refresh.plan import ViewPlan
from onefold.schema.casts import free_name
from onefold.schema.columns import Schema
from onefold.schema.types import Array, Struct, Type, element_of
from onefold.schema.versions import active_versions
from onefold.views.current_kind import CurrentKind
from onefold.views.under_contract import FullKind
from onefold.views.unified_kind import UnifiedKind


@dataclass(frozen=True)
class HeldValues:
    """The values of a view that are NULL, or left out of an array, because a type is kept.

    Attributes:
        view: the view.
        values: how many, by the column; columns without any are left out.
    """

    view: TableId
    values: Mapping[str, int]

    def __str__(self) -> str:
        found = ", ".join(f"{name} {count:,}" for name, count in self.values.items())
        return f"{self.view}: values that do not fit the types that the contract keeps: {found or 'none'}"


def count_held_values(warehouse: BaseWarehouse, kind: FullKind, plan: ViewPlan) -> HeldValues | None:
    """Count the values that do not fit; None where no type is kept.

    Args:
        warehouse: where the view is.
        kind: the kind of view.
        plan: what a refresh did with it; not a shortcut.

    Raises:
        OnefoldError: the warehouse refuses the query, or does not answer.
    """
    if plan.view is None or not (types := read_held_note(plan.view.query).types):
        return None
    rules = kind.settings.rules_for(kind.base)
    full = kind.build_full(plan.versions, active_versions(plan.versions, rules), plan.stored)
    shown = Schema(plan.view.columns)
    kept = {column.name: (column.type, types[name]) for name in types if (column := shown.get(name))}
    sides = (plan.view.id.quoted, f"(\n{full.query}\n)")
    held, free = (f"({_total(side, kept, own)})" for own, side in enumerate(sides))
    (row,) = warehouse.fetch(f"SELECT\n{held} AS held,\n{free} AS free")
    lost = {name: row["free"][f"n{number}"] - row["held"][f"n{number}"] for number, name in enumerate(kept)}
    return HeldValues(plan.view.id, {name: count for name, count in lost.items() if count > 0})


def log_held_values(warehouse: BaseWarehouse, kind: ViewKind, plan: ViewPlan, message_log: MessageLog) -> None:
    """Log how many values of a table the views do not show. What a unified view counts is not counted for the current one.

    An error is logged: the view is as it has to be.
    """
    if plan.shortcut or not isinstance(kind, UnifiedKind | CurrentKind):
        return
    try:
        is_counted = isinstance(kind, CurrentKind) and _is_counted(warehouse, kind, plan)
        found = None if is_counted else count_held_values(warehouse, kind, plan)
    except OnefoldError as error:
        text = f"{kind.id}: the values that do not fit the types of the contract are not known: {error}"
        message_log.log("WARNING", text, "held_values_unknown", view=str(kind.id), reason=str(error))
        return
    if found:
        severity: LogSeverity = "WARNING" if found.values else "INFO"
        total = sum(found.values.values())
        message_log.log(severity, str(found), "held_values", view=str(found.view), values=dict(found.values), total=total)


def _is_counted(warehouse: BaseWarehouse, kind: CurrentKind, plan: ViewPlan) -> bool:
    """Return whether the unified view of a table keeps the types that a current view keeps, so that it counts the values.

    A table without versions has no unified view, nor has one that is united of too many tables; and one that was made anew
    shows everything.
    """
    kept = read_held_note(plan.view.query).types if plan.view else {}
    unified = warehouse.get_view(kind.settings.view_of(kind.base)) if kept else None
    return unified is not None and kept.keys() <= read_held_note(unified.query).types.keys()


def _total(item: str, kept: Mapping[str, tuple[Type, Type]], own: int) -> str:
    values = [_values(f"r.{quote(name)}", types[own], types[1 - own]) for name, types in kept.items()]
    sums = ", ".join(f"IFNULL(SUM({one}), 0) AS n{number}" for number, one in enumerate(values))
    return f"SELECT AS STRUCT {sums} FROM {item} AS r"


def _values(x: str, own: Type, other: Type, depth: int = 1) -> str:
    """Return an expression that counts the values of `x` that are not NULL, in each field that both types have.

    A text of a struct has no fields, so both are counted as a whole.

    Args:
        x: an expression of type `own`.
        own: the type on the side that is counted.
        other: the type on the other side.
        depth: the number of arrays around the expression, counted from 1.
    """
    if isinstance(own, Array) and (isinstance(other, Array) or _are_of_structs(own, other)):
        e = free_name("e", depth, own.element)
        inner = _values(e, own.element, element_of(other), depth + 1)
        return f"(SELECT IFNULL(SUM({inner}), 0) FROM UNNEST({x}) AS {e})"
    if isinstance(own, Struct) and isinstance(of := element_of(other), Struct):
        pairs = [(field, found) for field in own.fields if (found := of.get(field.name))]
        values = (_values(f"{x}.{quote(field.name)}", field.type, found.type, depth) for field, found in pairs)
        return " + ".join(values) or "0"
    return f"IF({f'ARRAY_LENGTH({x}) > 0' if isinstance(own, Array) else f'{x} IS NOT NULL'}, 1, 0)"


def _are_of_structs(*types: Type) -> bool:
    """Return whether types are structs or lists of structs, whose fields are counted whichever of both they are."""
    return all(isinstance(element_of(one), Struct) for one in types)
