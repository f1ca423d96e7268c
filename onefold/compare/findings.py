"""Differences between two sets of rows, and their summary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onefold.compare.values import text_of

Row = Mapping[str, Any]
Key = tuple[Any, ...]
ONLY_LEFT, ONLY_RIGHT, DIFFERENT = "only left", "only right", "different"
REPEATED_LEFT, REPEATED_RIGHT = "repeated left", "repeated right"
KINDS = (ONLY_LEFT, ONLY_RIGHT, REPEATED_LEFT, REPEATED_RIGHT, DIFFERENT)
"""The kinds of findings; `different` is one value of one row."""


@dataclass(frozen=True)
class Difference:
    """Two values of one column of one row; `key` is the row's key, as the left side spells it."""

    key: Key
    column: str
    left: Any
    right: Any


@dataclass
class Comparison:
    """The result of a comparison; the values of a key that comes twice on a side are not compared."""

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
    """A comparison in numbers: rows and unmatched columns of the left and the right side, and findings by kind."""

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
        """Return the finding for JSON; only a finding with a column has values."""
        whole: dict[str, Any] = {"kind": self.kind, "key": dict(self.key)}
        return {**whole, "column": self.column, "left": self.left, "right": self.right} if self.column else whole

    def as_row(self) -> dict[str, str | None]:
        """Return the finding as a row of a table: the key is JSON."""
        key = json.dumps(self.key, ensure_ascii=False, separators=(",", ":"))
        return {"kind": self.kind, "key": key, "column": self.column, "left": self.left, "right": self.right}


FINDING_COLUMNS = ("kind", "key", "column", "left", "right")


def findings(comparison: Comparison, keys: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings of a comparison, one kind after the other.

    Args:
        comparison: the comparison.
        keys: the names of the key's columns.
    """
    for kind, rows in comparison.keys_by_kind.items():
        for key in rows:
            yield Finding(kind, _named(keys, key))
    for difference in comparison.differences:
        left, right = text_of(difference.left), text_of(difference.right)
        yield Finding(DIFFERENT, _named(keys, difference.key), difference.column, left, right)


def _named(keys: Sequence[str], key: Key) -> dict[str, str | None]:
    return {name: text_of(value) for name, value in zip(keys, key, strict=True)}
