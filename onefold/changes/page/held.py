"""Changes that a contract keeps out of the view of a table, as far as they concern a column of a version."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from onefold.core.names import fold_case
from onefold.schema.casts import UTC, losses
from onefold.schema.columns import Column
from onefold.schema.target_types import type_at
from onefold.schema.types import Array, Field, Struct, Type


@dataclass(frozen=True)
class HeldChange:
    """A change of a column or field that a contract keeps out of the views.

    Attributes:
        path: the column, or the field in the form `address.zip`.
        is_waiting: whether it waits for a person's decision, or stays out by the contract.
        id: the change that a person may accept or reject; empty where there is none.
        version: the version that brought it; empty where it is not known.
    """

    path: str
    is_waiting: bool
    id: str = ""
    version: str = ""

    @property
    def change(self) -> str:
        """The change in a sentence."""
        return f"the change {self.id}" if self.id else "the change"


def by_column(held: Iterable[HeldChange]) -> Mapping[str, tuple[HeldChange, ...]]:
    """Return changes by their column, as `fold_case` returns its name."""
    found: dict[str, tuple[HeldChange, ...]] = {}
    for one in held:
        column = fold_case(one.path).partition(".")[0]
        found[column] = (*found.get(column, ()), one)
    return found


def of_version(held: Iterable[HeldChange], version: str) -> tuple[HeldChange, ...]:
    """Return one change for each path: the one that a version brought, or else the first.

    Examples:
        >>> held = [HeldChange("n", True, "c2", "2"), HeldChange("n", True, "c3", "3")]
        >>> [of_version(held, version)[0].id for version in "234"]
        ['c2', 'c3', 'c2']
    """
    found: dict[str, HeldChange] = {}
    for one in held:
        path = fold_case(one.path)
        found[path] = one if one.version == version else found.get(path, one)
    return tuple(found.values())


def held_in(held: Sequence[HeldChange], landed: Column, shown: Column, zone: str = UTC) -> list[HeldChange]:
    """Return the changes that keep something of a landed column out of the view.

    Args:
        held: those of the column and its fields.
        landed: the column as a version has it.
        shown: the column as the view has it.
        zone: the time zone in which a DATETIME is read where a TIMESTAMP is needed.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> held = [HeldChange("s.y", is_waiting=True)]
        >>> shown = Column("s", parse_type("STRUCT<x INT64>"))
        >>> [len(held_in(held, Column("s", parse_type(type_)), shown)) for type_ in ("STRUCT<x INT64>", "STRUCT<y INT64>")]
        [0, 1]
    """
    found = []
    new = [fold_case(one.path) for one in held if type_at(shown, one.path) is None]
    without_new = Column(landed.name, without_fields(landed, new))
    for one in held:
        target = type_at(shown, one.path)
        source = type_at(landed if target is None else without_new, one.path)
        if source is not None and (target is None or losses(source, target, zone)):
            found.append(one)
    return found


def without_fields(column: Column, paths: Collection[str]) -> Type:
    """Return the type of a column without some of its fields.

    Args:
        column: the column.
        paths: the paths of the fields, as `fold_case` returns them.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> str(without_fields(Column("s", parse_type("ARRAY<STRUCT<x INT64, y DATE>>")), ["s.y"]))
        'ARRAY<STRUCT<x INT64>>'
    """
    return _without(column.type, fold_case(column.name), paths)


def _without(type_: Type, path: str, paths: Collection[str]) -> Type:
    if isinstance(type_, Array):
        return Array(_without(type_.element, path, paths))  # type: ignore[arg-type]  # an element is no array
    if not isinstance(type_, Struct):
        return type_
    fields = ((f"{path}.{fold_case(one.name)}", one) for one in type_.fields)
    return Struct(tuple(Field(one.name, _without(one.type, below, paths)) for below, one in fields if below not in paths))
