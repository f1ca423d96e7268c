"""The differences between two schemas, as values with a path and a severity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from onefold.core.names import fold_case
from onefold.core.text import cut
from onefold.schema.columns import Column
from onefold.schema.types import Array, Field, Scalar, Struct, Type


class Severity(IntEnum):
    """The effect on consumers: INFO breaks nothing, WARNING changes a type within its family, CRITICAL breaks readers."""

    INFO = 1
    WARNING = 2
    CRITICAL = 3


Kind = Literal[
    "view created", "view removed", "added", "removed", "retyped", "reordered", "respelled",
    "base left out", "base read again", "undecided", "made nullable", "recovery table",
    "table truncated", "table dropped", "table renamed", "table in quarantine",
]  # fmt: skip
"""Two are changes of a table of the schema registry alone: a column that may be NULL now, and a table for data that does not
fit into the columns. The last four are changes of a table at the source, not of a view."""

# A query still works where a type changes within its family: numbers compare with numbers, times with times. A BOOL is not
# a number in GoogleSQL.
_MOST_NAMES = 1_000
"""How many characters of the names in an order a change shows: a table may have 10,000 columns."""
_FAMILIES = ({"INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64"}, {"DATE", "DATETIME", "TIMESTAMP"})


@dataclass(frozen=True)
class SchemaChange:
    """One change of a view's schema, or of a table at the source.

    Attributes:
        kind: the kind of the change.
        path: a column, or a field in the form `address.street`; empty for the view itself and for the order of its columns.
        severity: the effect on consumers.
        old: the type before the change, or the names in their order, or the former name; None where there was none.
        new: the same after the change; None where there is none.
    """

    kind: Kind
    path: str
    severity: Severity
    old: str | None = None
    new: str | None = None

    def __str__(self) -> str:
        types = " -> ".join(type_ for type_ in (self.old, self.new) if type_)
        return " ".join(part for part in (self.kind, self.path, types) if part)

    def as_dict(self) -> dict[str, str | None]:
        return {
            "kind": self.kind,
            "path": self.path,
            "severity": self.severity.name,
            "old": self.old,
            "new": self.new,
        }


def view_created() -> SchemaChange:
    """Return the change that announces a new view.

    Examples:
        >>> str(view_created())
        'view created'
    """
    return SchemaChange("view created", "", Severity.INFO)


def view_removed() -> SchemaChange:
    """Return the change that announces the end of a view.

    Examples:
        >>> view_removed().severity.name
        'CRITICAL'
    """
    return SchemaChange("view removed", "", Severity.CRITICAL)


def base_left_out(reason: str) -> SchemaChange:
    """Return the change that announces that a current view reads the whole history instead of the base.

    Args:
        reason: the columns whose types the base cannot get in place.

    Examples:
        >>> str(base_left_out("id INT64 -> STRING"))
        'base left out id INT64 -> STRING'
    """
    return SchemaChange("base left out", "", Severity.WARNING, new=reason)


def base_read_again() -> SchemaChange:
    """Return the change that announces that a current view reads the base again.

    Examples:
        >>> base_read_again().severity.name
        'INFO'
    """
    return SchemaChange("base read again", "", Severity.INFO)


def column_undecided(path: str) -> SchemaChange:
    """Return the change that announces a column that a clean view masks because no policy names it.

    Examples:
        >>> str(column_undecided("address.zip"))
        'undecided address.zip'
    """
    return SchemaChange("undecided", path, Severity.WARNING)


def compare(old: Iterable[Column], new: Iterable[Column]) -> tuple[SchemaChange, ...]:
    """Return the changes from one schema to another.

    Columns that were removed or have another name or type come first, in the old order; then new columns, in the new order;
    then the order itself. A column that is new at the end changes no order.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> old = [Column("id", parse_type("INT64"))]
        >>> new = [Column("id", parse_type("NUMERIC")), Column("zip", parse_type("STRING"))]
        >>> [str(change) for change in compare(old, new)]
        ['retyped id INT64 -> NUMERIC', 'added zip STRING']
        >>> [str(change) for change in compare(new, reversed(new))]
        ['reordered id, zip -> zip, id']
    """
    return tuple(_compare(_struct(old), _struct(new), ""))


def change_id(view: str, old: Sequence[Column] | None, new: Sequence[Column] | None, former: str) -> str:
    """Return the identifier of a view's change: equal for each attempt at the change, different for each later change.

    Args:
        view: the name of the view.
        old: the columns before the change; None where there was no view.
        new: the columns after the change; None where the view is removed.
        former: the identifier of the previous change; where there is no view yet, a text that distinguishes its tables
            from earlier ones of the same names.

    Examples:
        >>> len(change_id("p.shop.customer_unified", None, [], ""))
        32
    """
    digest = hashlib.sha256(json.dumps([view, _as_text(old), _as_text(new), former]).encode())
    return digest.hexdigest()[:32]


def _as_text(columns: Sequence[Column] | None) -> list[tuple[str, str]] | None:
    return None if columns is None else [(column.name, str(column.type)) for column in columns]


def highest_severity(changes: Iterable[SchemaChange]) -> Severity:
    """Return the highest severity of some changes; INFO where there are none.

    Examples:
        >>> highest_severity([view_created(), view_removed()]).name
        'CRITICAL'
    """
    return max((change.severity for change in changes), default=Severity.INFO)


def _struct(columns: Iterable[Column]) -> Struct:
    return Struct(tuple(Field(column.name, column.type) for column in columns))


def _compare(old: Struct, new: Struct, prefix: str) -> Iterator[SchemaChange]:
    for field in old.fields:
        path = prefix + field.name
        if after := new.get(field.name):
            if after.name != field.name:
                yield SchemaChange("respelled", path, Severity.WARNING, old=field.name, new=after.name)
            yield from _compare_types(field.type, after.type, path)
        else:
            yield SchemaChange("removed", path, Severity.CRITICAL, old=str(field.type))
    for field in new.fields:
        if not old.get(field.name):
            yield SchemaChange("added", prefix + field.name, Severity.INFO, new=str(field.type))
    yield from _compare_order(old, new, prefix.removesuffix("."))


def _compare_order(old: Struct, new: Struct, path: str) -> Iterator[SchemaChange]:
    """Yield a change where the former columns do not come first, in their order: readers as UNION ALL go by position."""
    before = [field.name for field in old.fields if new.get(field.name)]
    after = [field.name for field in new.fields]
    if [fold_case(name) for name in before] != [fold_case(name) for name in after[: len(before)]]:
        names = (cut(", ".join(names), _MOST_NAMES) for names in (before, after))
        yield SchemaChange("reordered", path, Severity.CRITICAL, *names)


def _compare_types(old: Type, new: Type, path: str) -> Iterator[SchemaChange]:
    if old == new:
        return
    if isinstance(old, Struct) and isinstance(new, Struct):
        yield from _compare(old, new, f"{path}.")
    elif isinstance(old, Array) and isinstance(new, Array) and _are_structs(old, new):
        yield from _compare_types(old.element, new.element, path)
    else:
        severity = Severity.WARNING if _same_family(old, new) else Severity.CRITICAL
        yield SchemaChange("retyped", path, severity, old=str(old), new=str(new))


def _are_structs(*arrays: Array) -> bool:
    return all(isinstance(array.element, Struct) for array in arrays)


def _same_family(old: Type, new: Type) -> bool:
    if isinstance(old, Array) and isinstance(new, Array):
        return _same_family(old.element, new.element)
    if not isinstance(old, Scalar) or not isinstance(new, Scalar):
        return False
    return any({old.name, new.name} <= family for family in _FAMILIES)
