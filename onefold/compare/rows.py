"""The comparison of two sets of rows: rows of only one side, and values that differ, with row and column.

`values` decides which values are the same. A base table (one with `_deleted` and a position) is compared with another table
as people read it: without those two columns, and without the rows of deleted keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from onefold.compare.files import CSV, TEXT_FORMATS, RowSource
from onefold.compare.findings import Comparison, Difference, Key, Row
from onefold.compare.values import equal, kind_of, plain, read_as, text_of
from onefold.core.errors import InvalidInput
from onefold.core.names import fold_case
from onefold.core.text import shown_list

POSITIONS, DELETED = frozenset({"_position", "_packed_position"}), "_deleted"
"""The columns of a base table that the source table does not have; it has one of the positions, as text or as bytes."""


def compare_rows(
    left: Iterable[Row],
    right: Iterable[Row],
    keys: Sequence[str],
    *,
    as_text: bool = False,
    without: Sequence[str] = (),
) -> Comparison:
    """Compare two sets of rows; the order of rows and columns makes no difference, nor does the case of column names.

    Args:
        left: the rows of one side, by column.
        right: the rows of the other side.
        keys: the columns that identify a row.
        as_text: whether the values of a side come as text, so that text is compared as a value of the other side's type.
        without: columns that are not compared.

    Raises:
        InvalidInput: a key or a column to leave out is not a column, or the keys are not a key.
    """
    first, second = _Side(left), _Side(right)
    check_columns((tuple(first.names.values()), tuple(second.names.values())), keys, without)
    bases = [is_base(side.names) for side in (first, second)]
    omitted = [columns_to_leave_out(side.names, other.names, without) for side, other in ((first, second), (second, first))]
    for side, base, columns in zip((first, second), bases, omitted, strict=True):
        if base and not all(bases):
            side.leave_out_tombstones()
        side.leave_out(columns)
    folded = [fold_case(key) for key in keys]
    kinds = [first.kinds(key) | second.kinds(key) for key in folded]
    for side in (first, second):
        side.index(folded, kinds, as_text)
    result = Comparison(first.count, second.count)
    if first.names and second.names:
        result.columns_only_left = first.columns_without(second)
        result.columns_only_right = second.columns_without(first)
    result.only_left = [first.shown[key] for key in first.rows if key not in second.rows]
    result.only_right = [second.shown[key] for key in second.rows if key not in first.rows]
    result.repeated_left, result.repeated_right = first.repeated, second.repeated
    result.differences = list(_all_differences(first, second, as_text))
    return result


def compare_sources(left: RowSource, right: RowSource, keys: Sequence[str], *, without: Sequence[str] = ()) -> Comparison:
    """Compare the rows of two files, tables or folders. Where one of them is CSV or JSON, its text is read as other types.

    Args:
        left: one side.
        right: the other side.
        keys: the columns that identify a row.
        without: columns that are not compared.
    """
    formats = {left.format, right.format}
    as_text = len(formats) > 1 and bool(formats & TEXT_FORMATS)
    left_rows, right_rows = left.rows, right.rows
    if as_text and CSV in formats:
        left_rows, right_rows = _without_blanks(left_rows), _without_blanks(right_rows)
    return compare_rows(left_rows, right_rows, keys, as_text=as_text, without=without)


def _without_blanks(rows: Iterable[Row]) -> Iterable[Row]:
    """Replace empty text by NULL, on both sides: CSV cannot tell the two apart."""
    return ({name: None if value == "" else value for name, value in row.items()} for row in rows)


def check_columns(sides: tuple[Sequence[str], Sequence[str]], keys: Sequence[str], without: Sequence[str] = ()) -> None:
    """Check that keys and columns to leave out are columns.

    Args:
        sides: the names of the columns of the left and the right side; a side without rows has none, and is not checked.
        keys: the columns that identify a row.
        without: columns that are not compared.

    Raises:
        InvalidInput: every key that a side does not have, every column to leave out that neither has, or no key.
    """
    named = dict(zip(("left", "right"), sides, strict=True))
    problems = [
        f"the {side} side has no column {key} for the key; it has {shown_list(columns)}: correct the key"
        for side, columns in named.items()
        for key in keys
        if columns and not _has(columns, key)
    ]
    problems += [
        f"neither side has a column {name} to leave out" for name in without if not any(_has(c, name) for c in sides)
    ]
    problems += [f"{name} is a column of the key, and cannot be left out" for name in without if _has(keys, name)]
    repeated = [name for name, count in Counter(map(fold_case, keys)).items() if count > 1]
    problems += [f"the key names {name} twice" for name in repeated]
    if problems or not keys:
        raise InvalidInput(problems or "name the columns of the key")


def _has(columns: Iterable[str], name: str) -> bool:
    return fold_case(name) in map(fold_case, columns)


def is_base(columns: Iterable[str]) -> bool:
    """Return whether columns of these names are those of a base table."""
    return DELETED in (names := set(map(fold_case, columns))) and not POSITIONS.isdisjoint(names)


def columns_to_leave_out(columns: Iterable[str], other: Iterable[str], without: Sequence[str]) -> frozenset[str]:
    """Return the columns of a side that are not compared, as `fold_case` writes their names.

    Args:
        columns: the names of the side's columns.
        other: the names of the other side's columns.
        without: the columns that the user leaves out.
    """
    columns, other = set(map(fold_case, columns)), set(map(fold_case, other))
    own = {*POSITIONS, DELETED} if is_base(columns) and not is_base(other) else set()
    if is_base(columns) and is_base(other) and POSITIONS & columns != POSITIONS & other:
        own = set(POSITIONS)  # of one base they are text, of the other one bytes
    return frozenset(own | set(map(fold_case, without)))


class _Side:
    """The rows of a side: all of them, and the first one of each key, in their order."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.all: list[dict[str, Any]] = []
        self.rows: dict[Key, Row] = {}
        self.shown: dict[Key, Key] = {}
        self.names: dict[str, str] = {}
        self._seen: Counter[Key] = Counter()
        for row in rows:
            folded = {fold_case(name): value for name, value in row.items()}
            if len(folded) < len(row):
                raise InvalidInput(
                    f"columns that differ only in case are one, and a row has both: rename one of {shown_list(row)}"
                )
            self.all.append(folded)
            for name in row:
                self.names.setdefault(fold_case(name), name)

    @property
    def count(self) -> int:
        return len(self.all)

    @property
    def repeated(self) -> list[Key]:
        return [self.shown[key] for key in self.rows if self.is_repeated(key)]

    def is_repeated(self, key: Key) -> bool:
        return self._seen[key] > 1

    def leave_out_tombstones(self) -> None:
        self.all = [row for row in self.all if not equal(row.get(DELETED), True, as_text=True)]

    def leave_out(self, columns: frozenset[str]) -> None:
        self.all = [{name: value for name, value in row.items() if name not in columns} for row in self.all]
        self.names = {folded: name for folded, name in self.names.items() if folded not in columns}

    def kinds(self, column: str) -> frozenset[str]:
        return frozenset(kind_of(row.get(column)) for row in self.all) - {""}

    def columns_without(self, other: _Side) -> tuple[str, ...]:
        return tuple(name for folded, name in self.names.items() if folded not in other.names)

    def index(self, keys: Sequence[str], kinds: Sequence[frozenset[str]], as_text: bool) -> None:
        for row in self.all:
            shown = tuple(row.get(key) for key in keys)
            key = tuple(_comparable_key(value, of_column, as_text) for value, of_column in zip(shown, kinds, strict=True))
            self._seen[key] += 1
            self.rows.setdefault(key, row)
            self.shown.setdefault(key, shown)


def _comparable_key(value: Any, kinds: frozenset[str], as_text: bool) -> Any:
    """Return a value of a key that is hashable, and equal for equal keys.

    Where a side comes as text, its keys are text, unless the column has values of one other kind: then `01` is 1.

    Args:
        value: the value of one column of the key.
        kinds: the kinds of values that the column has on both sides.
        as_text: whether a side comes as text.
    """
    others = kinds - {"text"}
    if value is None or len(kinds) == 1:
        return plain(value)
    if not as_text or len(others) > 1:
        return text_of(value)
    if not isinstance(value, str):
        return plain(value)
    try:
        return plain(read_as(value, *others))
    except ValueError:
        return value


def _all_differences(left: _Side, right: _Side, as_text: bool) -> Iterator[Difference]:
    for key, row in left.rows.items():
        other = right.rows.get(key)
        if other is not None and not left.is_repeated(key) and not right.is_repeated(key):
            yield from _differences(left, left.shown[key], row, right, other, as_text)


def _differences(left: _Side, key: Key, row: Row, right: _Side, other: Row, as_text: bool) -> Iterator[Difference]:
    for folded, name in left.names.items():
        if folded in right.names and not equal(row.get(folded), other.get(folded), as_text):
            yield Difference(key, name, row.get(folded), other.get(folded))
