"""The columns of a view that is gone, from what it would show now and from what it did not show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.types import Array, Field, Struct, Type, element_of


@dataclass(frozen=True)
class NotShown:
    """What a view did not show.

    Attributes:
        paths: the columns and fields, in the form in which names are compared.
        types: the types that it kept, by the path of the column or field in the same form.
    """

    paths: frozenset[str] = frozenset()
    types: Mapping[str, Type] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.paths or self.types)


def former_columns(full: Iterable[Column], not_shown: NotShown) -> tuple[Column, ...]:
    """Return the columns of the view.

    Args:
        full: those that it would have without a contract.
        not_shown: what it did not show.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> full = [Column("a", parse_type("STRUCT<x STRING, y STRING>")), Column("b", parse_type("DATE"))]
        >>> found = former_columns(full, NotShown(frozenset({"b", "a.y"}), {"a.x": parse_type("INT64")}))
        >>> [f"{column.name} {column.type}" for column in found]
        ['a STRUCT<x INT64>']
        >>> types = {"a": full[0].type, "a.x": parse_type("INT64")}
        >>> (found,) = former_columns([Column("a", parse_type("STRING"))], NotShown(frozenset({"a.y"}), types))
        >>> str(found.type)
        'STRUCT<x INT64>'
    """
    pairs = ((column.name, _former(column.name, column.type, not_shown)) for column in full)
    return tuple(Column(name, type_) for name, type_ in pairs if type_ is not None)


def missing(full: Column, shown: Column | None) -> Iterator[str]:
    """Yield the paths that a column of a view lacks, as names are compared: that of the column where it is not there.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> full, less = (Column("A", parse_type(f"STRUCT<x INT64{more}>")) for more in (", Y INT64", ""))
        >>> list(missing(full, less)), list(missing(full, None))
        (['a.y'], ['a'])
    """
    if shown is None:
        yield fold_case(full.name)
        return
    of, own = element_of(shown.type), element_of(full.type)
    if not isinstance(of, Struct) or not isinstance(own, Struct):
        return
    for part in own.fields:
        path, found = f"{full.name}.{part.name}", of.get(part.name)
        yield from missing(Column(path, part.type), Column(path, found.type) if found else None)


def _former(path: str, type_: Type, not_shown: NotShown) -> Type | None:
    folded = fold_case(path)
    if folded in not_shown.paths:
        return None
    return _within(path, not_shown.types.get(folded, type_), not_shown)


def _within(path: str, type_: Type, not_shown: NotShown) -> Type | None:
    if isinstance(type_, Array):
        element = _within(path, type_.element, not_shown)
        return Array(element) if element else None  # type: ignore[arg-type]  # an element is no array
    if isinstance(type_, Struct):
        fields = _fields(path, type_.fields, not_shown)
        return Struct(fields) if fields else None
    return type_


def _fields(path: str, fields: Sequence[Field], not_shown: NotShown) -> tuple[Field, ...]:
    pairs = ((one.name, _former(f"{path}.{one.name}", one.type, not_shown)) for one in fields)
    return tuple(Field(name, type_) for name, type_ in pairs if type_ is not None)
