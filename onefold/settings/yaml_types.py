"""The target types of onefold.yaml: by column, or by path within a STRUCT, and with the unit of numbers that are times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onefold.core.errors import InvalidType
from onefold.core.names import at_and_above, fold_case
from onefold.core.problems import Path, Problem
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Type, parse_type

_TIMES = ("TIMESTAMP", "DATETIME", "DATE", "TIME")


@dataclass(frozen=True)
class TargetType:
    """A target type.

    Attributes:
        path: a column, or a field as `address.zip`, in lower case.
        type: the type that it has in the view.
        unit: the unit of landed numbers that are times; None where numbers are numbers.
    """

    path: str
    type: Type
    unit: str | None = None


def type_problems(types: Mapping[str, Any], at: Path) -> Iterator[Problem]:
    """Yield the problems of the target types of a table that the schema cannot tell.

    Args:
        types: the types by their paths.
        at: the key in the file.
    """
    for path, given in types.items():
        text, unit = _parts(given)
        if not all(path.split(".")):
            yield Problem("a path is written as address.zip", (*at, path))
        if "(" in text:
            yield Problem(f"{text} has parameters, which a view cannot keep; leave them out", (*at, path))
        try:
            is_time = str(parse_type(text)) in (*_TIMES, *(f"ARRAY<{name}>" for name in _TIMES))
        except InvalidType as error:
            yield Problem(str(error), (*at, path))
        else:
            if unit and not is_time:
                times = ", ".join(_TIMES)
                yield Problem(f"{unit} gives a time: expected one of {times}, got {text}", (*at, path))
    yield from _path_problems(list(types), at)


def read_targets(types: Mapping[str, Any]) -> Iterator[TargetType]:
    """Yield the target types of a table, from a checked mapping of paths to types."""
    for path, given in types.items():
        text, unit = _parts(given)
        yield TargetType(fold_case(path), parse_type(text), unit)


def with_inherited(own: Sequence[TargetType], defaults: TableRules) -> tuple[TargetType, ...]:
    """Return the target types of a table: those that it inherits, and its own, which replace inherited ones.

    Args:
        own: the target types that the table's entry has.
        defaults: the rules that the table inherits.

    Examples:
        >>> from onefold.schema.types import STRING
        >>> inherited = TableRules(types=(("born", STRING), ("address.zip", STRING)), units=(("born", "unix_millis"),))
        >>> [target.path for target in with_inherited([TargetType("address", STRING), TargetType("id", STRING)], inherited)]
        ['born', 'address', 'id']
    """
    units = dict(defaults.units)
    kept = {
        path: TargetType(path, type_, units.get(path))
        for path, type_ in defaults.types
        if not any(_is_within(path, target.path) or _is_within(target.path, path) for target in own)
    }
    return tuple({**kept, **{target.path: target for target in own}}.values())


def _is_within(path: str, other: str) -> bool:
    return path.startswith(f"{other}.")


def _parts(given: Any) -> tuple[str, str | None]:
    """Return the type and the unit of an entry; what the schema has refused in it is empty."""
    return (given.get("type", ""), given.get("from")) if isinstance(given, dict) else (given, None)


def _path_problems(paths: Sequence[str], at: Path) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for path in paths:
        if fold_case(path) in seen:
            yield Problem("the column is given twice; case makes no difference", (*at, path))
        seen[fold_case(path)] = path
    for folded, path in seen.items():
        for above in at_and_above(folded)[1:]:
            if above in seen:
                advice = "write the field within it, or leave one out"
                yield Problem(f"{seen[above]} has a type of its own; {advice}", (*at, path))
