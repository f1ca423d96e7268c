"""Row by row: which rows are only on one side, and which differ, in which column, with both values.

Values are compared as what they are: NULL equals NULL, numbers are exact (1.10 is 1.1, 0.1 is the decimal 0.1), structs
by field and arrays by place. A side that comes as text (CSV; dates and bytes in JSON) is read as the other side's type.
"""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from onefold.errors import InvalidInput
from onefold.names import fold_case

Row = Mapping[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Difference:
    """One column of one row; `key` is the row's key as it is shown."""

    key: Key
    column: str
    left: Any
    right: Any


@dataclass
class Comparison:
    left_rows: int = 0
    right_rows: int = 0
    columns_only_left: tuple[str, ...] = ()
    columns_only_right: tuple[str, ...] = ()
    only_left: list[Key] = field(default_factory=list)
    only_right: list[Key] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    repeated_left: list[Key] = field(default_factory=list)
    repeated_right: list[Key] = field(default_factory=list)

    @property
    def same(self) -> bool:
        found = (self.only_left, self.only_right, self.differences, self.repeated_left, self.repeated_right)
        return not any(found) and not self.columns_only_left and not self.columns_only_right


def compare_rows(left: Iterable[Row], right: Iterable[Row], keys: Sequence[str], *, as_text: bool = False) -> Comparison:
    """Compare two sets of rows; the order of rows and columns makes no difference, nor does the case of column names.

    Args:
        keys: the columns that identify a row. Of rows with one key the first is compared, and the key is reported.
        as_text: whether a side comes as text, so that text may stand for a value of another type.

    Raises:
        InvalidInput: a key column that a side does not have.
    """
    result = Comparison()
    first, second = _Side(left), _Side(right)
    _check_keys((first, second), keys)
    folded = [fold_case(key) for key in keys]
    numbers = [as_text and (first.has_number(key) or second.has_number(key)) for key in folded]
    for side in (first, second):
        side.index(folded, numbers, as_text)
    result.left_rows, result.right_rows = first.count, second.count
    result.repeated_left, result.repeated_right = first.repeated, second.repeated
    if first.rows and second.rows:
        result.columns_only_left = first.columns_without(second)
        result.columns_only_right = second.columns_without(first)
    result.only_left = [first.shown[key] for key in first.rows if key not in second.rows]
    result.only_right = [second.shown[key] for key in second.rows if key not in first.rows]
    common = (key for key in first.rows if key in second.rows)
    result.differences = [
        difference
        for key in common
        for difference in _differences(first.shown[key], first.rows[key], second.rows[key], as_text)
    ]
    return result


class _Side:
    """The rows of a side: all of them, and those of each key in the order in which they came."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.all: list[Row] = []
        self.rows: dict[Key, Row] = {}
        self.shown: dict[Key, Key] = {}
        self.repeated: list[Key] = []
        self.names: dict[str, str] = {}
        for row in rows:
            self.names = self.names or {fold_case(name): name for name in row}
            self.all.append({fold_case(name): value for name, value in row.items()})
        self.count = len(self.all)

    def has_number(self, column: str) -> bool:
        return any(_is_number(row.get(column)) for row in self.all)

    def columns_without(self, other: _Side) -> tuple[str, ...]:
        return tuple(name for folded, name in self.names.items() if folded not in other.names)

    def index(self, keys: Sequence[str], numbers: Sequence[bool], as_text: bool) -> None:
        for row in self.all:
            shown = tuple(row.get(key) for key in keys)
            key = tuple(_hashable(value, as_text, number) for value, number in zip(shown, numbers, strict=True))
            if key in self.rows:
                self.repeated.append(shown)
            else:
                self.rows[key], self.shown[key] = row, shown


def _check_keys(sides: Sequence[_Side], keys: Sequence[str]) -> None:
    faults = [
        f"the {name} side has no column {key}; it has {', '.join(side.names.values())}"
        for name, side in zip(("left", "right"), sides, strict=True)
        for key in keys
        if side.names and fold_case(key) not in side.names
    ]
    if faults or not keys:
        raise InvalidInput(faults or "name the columns of the key")


def _differences(key: Key, left: Row, right: Row, as_text: bool) -> Iterator[Difference]:
    for name, value in left.items():
        if name in right and not equal(value, right[name], as_text):
            yield Difference(key, name, value, right[name])


def equal(left: Any, right: Any, as_text: bool = False) -> bool:
    """Whether two values are the same value; with `as_text`, also where one is the other's text."""
    if as_text and isinstance(left, str) != isinstance(right, str):
        text, value = (left, right) if isinstance(left, str) else (right, left)
        return _is_text_of(text, value)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return _equal_structs(left, right, as_text)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(equal(a, b, as_text) for a, b in zip(left, right, strict=True))
    return bool(_canonical(left) == _canonical(right))


def _equal_structs(left: Mapping[str, Any], right: Mapping[str, Any], as_text: bool) -> bool:
    one = {fold_case(name): value for name, value in left.items()}
    two = {fold_case(name): value for name, value in right.items()}
    return one.keys() == two.keys() and all(equal(value, two[name], as_text) for name, value in one.items())


def _canonical(value: Any) -> tuple[str, Any]:
    """Equal for the same values: a kind, since True is 1 to Python, and the value."""
    match value:
        case bool():
            return "bool", value
        case int() | Decimal():
            return ("number", Decimal(value)) if Decimal(value) == Decimal(value) else ("number", "NaN")
        case float():
            return ("number", Decimal(repr(value))) if value == value else ("number", "NaN")
        case datetime.datetime() if value.tzinfo:
            return "timestamp", value.astimezone(datetime.UTC)
        case datetime.datetime():
            return "datetime", value
    return type(value).__name__, value


def _is_text_of(text: str, value: Any) -> bool:
    if value is None:
        return text == ""  # CSV cannot tell an empty text from NULL
    try:
        if isinstance(value, datetime.datetime):
            return _equal_time(text, value)
        reader = next((reader for kinds, reader in _READERS if isinstance(value, kinds)), None)
        return reader is not None and equal(reader(text), value)
    except (ValueError, InvalidOperation, binascii.Error, KeyError):
        return False


def _equal_time(text: str, value: datetime.datetime) -> bool:
    """Text without a zone is UTC where the value has one."""
    read = datetime.datetime.fromisoformat(text.removesuffix(" UTC"))
    if value.tzinfo and not read.tzinfo:
        read = read.replace(tzinfo=datetime.UTC)
    return equal(read, value)


_BOOLS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}

# A bool is a number to Python: the narrower one comes first.
_READERS: tuple[tuple[Any, Callable[[str], Any]], ...] = (
    (bool, lambda text: _BOOLS[text.lower()]),
    ((int, float, Decimal), Decimal),
    (datetime.date, datetime.date.fromisoformat),
    (datetime.time, datetime.time.fromisoformat),
    (bytes, lambda text: base64.b64decode(text, validate=True)),
)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _hashable(value: Any, as_text: bool, number: bool) -> Any:
    """A key's value for a dict: equal for equal values.

    Where a side is text, so is a key, unless the column holds numbers: then `01` is 1, and else it is another key than `1`.
    """
    if isinstance(value, Mapping):
        return tuple(sorted((fold_case(name), _hashable(inner, as_text, number)) for name, inner in value.items()))
    if isinstance(value, list | tuple):
        return tuple(_hashable(inner, as_text, number) for inner in value)
    if number and isinstance(value, str):
        try:
            return _canonical(Decimal(value))
        except InvalidOperation:
            return value
    if not as_text or _is_number(value):
        return _canonical(value)
    return "" if value is None else str(value)
