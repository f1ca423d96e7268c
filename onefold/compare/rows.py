"""Row by row: which rows are only on one side, and which differ, in which column, with both values.

What counts as the same value is in `values`. A base table (one with `_position` and `_deleted`) that meets a table without
is compared as people read it: without those two columns, and without the rows of deleted keys.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onefold.compare.files import CSV, TEXT_FORMATS, Source
from onefold.compare.values import equal, kind_of, plain, read_as, text_of
from onefold.core.errors import InvalidInput
from onefold.core.names import fold_case

Row = Mapping[str, Any]
Key = tuple[Any, ...]

POSITION, DELETED = "_position", "_deleted"
"""The columns of a base table that are not the source's."""

ONLY_LEFT, ONLY_RIGHT, DIFFERENT = "only left", "only right", "different"
REPEATED_LEFT, REPEATED_RIGHT = "repeated left", "repeated right"
KINDS = (ONLY_LEFT, ONLY_RIGHT, REPEATED_LEFT, REPEATED_RIGHT, DIFFERENT)
"""What a finding can be; `different` is one value of one row."""


@dataclass(frozen=True)
class Difference:
    """One column of one row; `key` is the row's key as it is shown."""

    key: Key
    column: str
    left: Any
    right: Any


@dataclass
class Comparison:
    """What was found; of a key that comes twice on a side, no values are compared."""

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
    def keys_by_kind(self) -> dict[str, list[Key]]:
        return {
            ONLY_LEFT: self.only_left,
            ONLY_RIGHT: self.only_right,
            REPEATED_LEFT: self.repeated_left,
            REPEATED_RIGHT: self.repeated_right,
        }

    @property
    def summary(self) -> Summary:
        counts = {kind: len(keys) for kind, keys in self.keys_by_kind.items()}
        return Summary(
            (self.left_rows, self.right_rows),
            (self.columns_only_left, self.columns_only_right),
            {**counts, DIFFERENT: len(self.differences)},
        )

    @property
    def same(self) -> bool:
        return self.summary.same


@dataclass(frozen=True)
class Summary:
    """A comparison in numbers: rows and lone columns of the left and the right side, and findings by kind."""

    rows: tuple[int, int]
    columns_only: tuple[tuple[str, ...], tuple[str, ...]]
    counts: Mapping[str, int]

    @property
    def findings(self) -> int:
        return sum(self.counts.values())

    @property
    def same(self) -> bool:
        return not any(self.counts.values()) and not any(self.columns_only)

    def as_dict(self) -> dict[str, Any]:
        return {
            "same": self.same,
            "rows": {"left": self.rows[0], "right": self.rows[1]},
            "columns_only": {"left": list(self.columns_only[0]), "right": list(self.columns_only[1])},
            "counts": {kind: self.counts[kind] for kind in KINDS},
        }


@dataclass(frozen=True)
class Finding:
    """One line of the result. Values are text, as BigQuery writes them."""

    kind: str
    key: Mapping[str, str | None]
    column: str | None = None
    left: str | None = None
    right: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON: without what the kind does not have."""
        whole: dict[str, Any] = {"kind": self.kind, "key": dict(self.key)}
        return {**whole, "column": self.column, "left": self.left, "right": self.right} if self.column else whole

    def as_row(self) -> dict[str, str | None]:
        """As a row of a table: the key is JSON."""
        key = json.dumps(self.key, ensure_ascii=False, separators=(",", ":"))
        return {"kind": self.kind, "key": key, "column": self.column, "left": self.left, "right": self.right}


FINDING_COLUMNS = ("kind", "key", "column", "left", "right")


def findings(found: Comparison, keys: Sequence[str]) -> Iterator[Finding]:
    for kind, found_keys in found.keys_by_kind.items():
        for key in found_keys:
            yield Finding(kind, _named(keys, key))
    for one in found.differences:
        yield Finding(DIFFERENT, _named(keys, one.key), one.column, text_of(one.left), text_of(one.right))


def _named(keys: Sequence[str], key: Key) -> dict[str, str | None]:
    return {name: text_of(value) for name, value in zip(keys, key, strict=True)}


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
        keys: the columns that identify a row.
        as_text: whether a side comes as text, so that text may stand for a value of another type.
        without: columns that are not compared.

    Raises:
        InvalidInput: a column that is named and not there.
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


def compare_sources(left: Source, right: Source, keys: Sequence[str], *, without: Sequence[str] = ()) -> Comparison:
    """Compare two files, tables or folders: where one of the two comes as text, text may stand for another type's value."""
    formats = {left.format, right.format}
    as_text = len(formats) > 1 and bool(formats & TEXT_FORMATS)
    one, other = left.rows, right.rows
    if as_text and CSV in formats:
        one, other = _without_blanks(one), _without_blanks(other)
    return compare_rows(one, other, keys, as_text=as_text, without=without)


def _without_blanks(rows: Iterable[Row]) -> Iterable[Row]:
    """CSV cannot tell an empty text from NULL, so neither may the other side."""
    return ({name: None if value == "" else value for name, value in row.items()} for row in rows)


def check_columns(sides: tuple[Sequence[str], Sequence[str]], keys: Sequence[str], without: Sequence[str] = ()) -> None:
    """Raise InvalidInput with every key that a side does not have, and every column left out that neither has.

    A side without any column is one without rows: nothing is known of it.
    """
    named = dict(zip(("left", "right"), sides, strict=True))
    faults = [
        f"the {side} side has no column {key} for the key; it has {', '.join(columns)}"
        for side, columns in named.items()
        for key in keys
        if columns and not _has(columns, key)
    ]
    faults += [f"neither side has a column {name} to leave out" for name in without if not any(_has(c, name) for c in sides)]
    faults += [f"{name} is a column of the key, and cannot be left out" for name in without if _has(keys, name)]
    repeated = [name for name, count in Counter(map(fold_case, keys)).items() if count > 1]
    faults += [f"the key names {name} twice" for name in repeated]
    if faults or not keys:
        raise InvalidInput(faults or "name the columns of the key")


def _has(columns: Iterable[str], name: str) -> bool:
    return fold_case(name) in map(fold_case, columns)


def is_base(columns: Iterable[str]) -> bool:
    return {POSITION, DELETED} <= set(map(fold_case, columns))


def columns_to_leave_out(columns: Iterable[str], other: Iterable[str], without: Sequence[str]) -> frozenset[str]:
    """The columns of a side that are not compared, by folded name."""
    own = {POSITION, DELETED} if is_base(columns) and not is_base(other) else set()
    return frozenset(own | set(map(fold_case, without)))


class _Side:
    """The rows of a side: all of them, and one of each key in the order in which they came."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.all: list[dict[str, Any]] = []
        self.rows: dict[Key, Row] = {}
        self.shown: dict[Key, Key] = {}
        self.names: dict[str, str] = {}
        self._seen: Counter[Key] = Counter()
        for row in rows:
            folded = {fold_case(name): value for name, value in row.items()}
            if len(folded) < len(row):
                raise InvalidInput(f"columns that differ only in case are one, and one row has both: {', '.join(row)}")
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
            key = tuple(_key_form(value, met, as_text) for value, met in zip(shown, kinds, strict=True))
            self._seen[key] += 1
            self.rows.setdefault(key, row)
            self.shown.setdefault(key, shown)


def _key_form(value: Any, kinds: frozenset[str], as_text: bool) -> Any:
    """A key's value for a dict, by the kinds of value that its column has on both sides.

    Where a side is text, so is a key, unless the column holds values of one other kind: then `01` is 1.
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
