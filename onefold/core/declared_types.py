"""A check that values have the types that their dataclasses declare, as they may come from any document."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from itertools import repeat
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints


def check_types(value: object) -> None:
    """Check the fields of a dataclass, and those of all values within it.

    Args:
        value: an object of a dataclass whose annotations can be evaluated.

    Raises:
        TypeError: names the first field whose value has another type than the field declares.
    """
    _Check().check(value, type(value), "")


@dataclass
class _Check:
    """A check of one value, in which an object that occurs many times is checked once."""

    seen: set[int] = field(default_factory=set)

    def check(self, value: Any, hint: Any, path: str) -> None:
        origin, arguments = get_origin(hint), get_args(hint)
        if hint is Any:
            return
        if origin in (Union, UnionType):
            self._any_of(value, arguments, path)
        elif origin is Literal:
            self.check(value, type(arguments[0]), path)
        elif type(value) is not (origin or hint) and not (origin is Mapping and isinstance(value, dict)):
            raise TypeError(f"expected {getattr(hint, '__name__', hint)} for {path}, got {type(value).__name__}")
        else:
            for inner, kind, name in _parts(value, hint, origin, arguments):
                if not is_dataclass(inner) or id(inner) not in self.seen:
                    self.check(inner, kind, f"{path}.{name}".strip("."))
            self.seen.add(id(value))

    def _any_of(self, value: Any, hints: tuple[Any, ...], path: str) -> None:
        """Check a value that may have one of several types, of which None is one."""
        if value is None and type(None) in hints:
            return
        (hint,) = (one for one in hints if one is not type(None))
        self.check(value, hint, path)


def _parts(value: Any, hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Iterator[tuple[Any, Any, str]]:
    """Yield the values within a value, each with its declared type and its name.

    Raises:
        TypeError: a tuple has another length than its type.
    """
    if is_dataclass(hint):
        yield from ((getattr(value, name), kind, name) for name, kind in _fields(cast(Hashable, type(value))))
    elif origin is tuple:
        kinds = repeat(arguments[0]) if arguments[1:] == (...,) else arguments
        if isinstance(kinds, tuple) and len(kinds) != len(value):
            raise TypeError(f"expected {len(kinds)} values, got {len(value)}")
        yield from ((inner, kind, str(number)) for number, (inner, kind) in enumerate(zip(value, kinds, strict=False)))
    elif origin is frozenset:
        yield from ((inner, arguments[0], "") for inner in value)
    elif isinstance(value, dict):
        yield from ((inner, arguments[1], str(name)) for name, inner in value.items())


@cache
def _fields(kind: Hashable) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(cast(type, kind))
    return tuple((one.name, hints[one.name]) for one in fields(cast(Any, kind)))
