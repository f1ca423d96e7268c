"""What differs between two schemas, as values with a path and a severity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.types import Array, Field, Scalar, Struct, Type


class Severity(IntEnum):
    """INFO breaks nothing; WARNING changes a type within its family; CRITICAL breaks what reads the column."""

    INFO = 1
    WARNING = 2
    CRITICAL = 3


Kind = Literal[
    "view created", "view removed", "added", "removed", "retyped", "table truncated", "table dropped", "table in quarantine"
]
"""The last three are of a table at the source."""

# Queries go on within a family: numbers compare with numbers, times with times. A BOOL is no number to GoogleSQL.
_FAMILIES = ({"INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64"}, {"DATE", "DATETIME", "TIMESTAMP"})


@dataclass(frozen=True)
class SchemaChange:
    """One change of a view's schema; `path` is a column, or a field as `address.street`, empty for the view itself."""

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
    return SchemaChange("view created", "", Severity.INFO)


def view_removed() -> SchemaChange:
    return SchemaChange("view removed", "", Severity.CRITICAL)


def compare(old: Sequence[Column], new: Sequence[Column]) -> tuple[SchemaChange, ...]:
    """Changes from one schema to another: retyped and removed ones in the old order, then added ones in the new."""
    return tuple(_compare(_fields(old), _fields(new), ""))


def change_id(view: str, old: Sequence[Column] | None, new: Sequence[Column] | None, former: str) -> str:
    """Return the identifier of a view's change: the same for each attempt at it, another one for each later change.

    Args:
        old: the columns before the change; None where there was no view.
        new: the columns after the change; None where the view is removed.
        former: the identifier of the change before it; where there is no view yet, what tells its tables from earlier ones.
    """
    digest = hashlib.sha256(json.dumps([view, _as_text(old), _as_text(new), former]).encode())
    return digest.hexdigest()[:32]


def _as_text(columns: Sequence[Column] | None) -> list[tuple[str, str]] | None:
    return None if columns is None else [(column.name, str(column.type)) for column in columns]


def highest_severity(changes: Iterable[SchemaChange]) -> Severity:
    return max((change.severity for change in changes), default=Severity.INFO)


def _fields(columns: Iterable[Column]) -> list[Field]:
    return [Field(column.name, column.type) for column in columns]


def _compare(old: Iterable[Field], new: Iterable[Field], prefix: str) -> Iterator[SchemaChange]:
    before = {fold_case(field.name): field for field in old}
    after = {fold_case(field.name): field for field in new}
    for key, field in before.items():
        path = prefix + field.name
        if key in after:
            yield from _compare_types(field.type, after[key].type, path)
        else:
            yield SchemaChange("removed", path, Severity.CRITICAL, old=str(field.type))
    for key, field in after.items():
        if key not in before:
            yield SchemaChange("added", prefix + field.name, Severity.INFO, new=str(field.type))


def _compare_types(old: Type, new: Type, path: str) -> Iterator[SchemaChange]:
    if old == new:
        return
    if isinstance(old, Struct) and isinstance(new, Struct):
        yield from _compare(old.fields, new.fields, f"{path}.")
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
