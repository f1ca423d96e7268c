"""The target types of onefold.yaml: by column, or by path within a STRUCT, and with the unit of numbers that are times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onefold.core.errors import InvalidType
from onefold.core.names import fold_case
from onefold.schema.casts import UNITS
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Type, parse_type

_TIMES = ("TIMESTAMP", "DATETIME", "DATE", "TIME")

Problem = Callable[[str], None]


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


def read_targets(value: Any, where: str, problem: Problem) -> Iterator[TargetType]:
    """Yield the target types of a table.

    Args:
        value: the mapping of paths to types; None for no mapping.
        where: the key in the file.
        problem: called with each problem.
    """
    if not isinstance(value, dict | None):
        problem(f"{where} must be a mapping")
    elif value:
        for path, given in value.items():
            if not isinstance(path, str):
                problem(f"{where}: {path!r} is not a text; put it in quotes")
            elif target := _target(path, given, f"{where}.{path}", problem):
                yield target
        _check_paths([path for path in value if isinstance(path, str)], where, problem)


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


def _target(path: str, given: Any, where: str, problem: Problem) -> TargetType | None:
    text, unit = (given.get("type"), given.get("from")) if isinstance(given, dict) else (given, None)
    if isinstance(given, dict) and (set(given) != {"type", "from"} or unit not in UNITS):
        problem(f"{where}: write a type, or {{type: TIMESTAMP, from: {' | '.join(UNITS)}}}, not {given!r}")
        return None
    if not isinstance(text, str):
        problem(f"{where}: {text!r} is not a text; put it in quotes")
        return None
    if not all(path.split(".")):
        problem(f"{where}: a path is written as address.zip")
    type_ = _type(text, where, problem)
    if unit and type_ and str(type_) not in (*_TIMES, *(f"ARRAY<{name}>" for name in _TIMES)):
        problem(f"{where}: from: {unit} gives a time: {text} is none of {', '.join(_TIMES)}")
    return TargetType(fold_case(path), type_, unit) if type_ else None


def _type(text: str, where: str, problem: Problem) -> Type | None:
    if "(" in text:
        problem(f"{where}: {text} has parameters, which a view cannot keep; leave them out")
    try:
        return parse_type(text)
    except InvalidType as error:
        problem(f"{where}: {error}")
        return None


def _check_paths(paths: list[str], where: str, problem: Problem) -> None:
    seen: dict[str, str] = {}
    for path in paths:
        if fold_case(path) in seen:
            problem(f"{where}.{path}: the column is given twice; case makes no difference")
        seen[fold_case(path)] = path
    for folded, path in seen.items():
        parts = folded.split(".")
        for above in (".".join(parts[:count]) for count in range(1, len(parts))):
            if above in seen:
                problem(f"{where}.{path}: {seen[above]} has a type of its own; write the field within it, or leave one out")
