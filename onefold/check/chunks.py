"""A chunk of a table at the source and in the warehouse: what differs, and how a person reads it.

`onefold.compare.rows` decides which rows and values are the same.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from onefold.compare.findings import (
    DIFFERENT,
    ONLY_LEFT,
    ONLY_RIGHT,
    REPEATED_LEFT,
    REPEATED_RIGHT,
    Finding,
    Row,
    findings,
)
from onefold.compare.rows import compare_rows
from onefold.core.hash_key import HashKey
from onefold.core.names import fold_case

NULL = "NULL"
_SHOWN_DIGITS = 16
"""Hexadecimal digits of a hash in a finding: 64 bits tell the values of one table apart."""


@dataclass(frozen=True)
class ChunkResult:
    """The findings about one chunk; the source is the left side."""

    findings: tuple[Finding, ...] = ()

    def count(self, *kinds: str) -> int:
        """Return the number of findings of some kinds."""
        return sum(finding.kind in kinds for finding in self.findings)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values differ, each once, in order."""
        return tuple(sorted({finding.column for finding in self.findings if finding.column}))

    def without(self, keys: Collection[tuple[str | None, ...]]) -> tuple[ChunkResult, int]:
        """Return the findings about other rows than some, and how many rows these are of which there were findings.

        Args:
            keys: the values of the rows' keys.
        """
        left_out = {key for finding in self.findings if (key := tuple(finding.key.values())) in keys}
        return ChunkResult(tuple(one for one in self.findings if tuple(one.key.values()) not in left_out)), len(left_out)


def compare_chunk(source: Iterable[Row], warehouse: Iterable[Row], keys: Sequence[str]) -> ChunkResult:
    """Compare the rows of a chunk.

    Args:
        source: the rows of the source, by column.
        warehouse: the rows of the warehouse.
        keys: the columns that identify a row.

    Examples:
        >>> compare_chunk([{"id": 1, "name": "Ada"}], [{"id": 1, "name": "Ada "}], ["id"]).columns
        ('name',)
    """
    return ChunkResult(tuple(findings(compare_rows(source, warehouse, keys), keys)))


def confirmed(first: ChunkResult, second: ChunkResult) -> ChunkResult:
    """Return the findings of the second comparison that the first one had, too, with the same values.

    A row that was changed between two reads has other values then, so it is no finding.

    Args:
        first: the comparison of the first read.
        second: that of the second one.
    """
    known = {_identity(finding) for finding in first.findings}
    return ChunkResult(tuple(finding for finding in second.findings if _identity(finding) in known))


def _identity(finding: Finding) -> tuple[str | None, ...]:
    return tuple(finding.as_row().values())


@dataclass(frozen=True)
class Disclosure:
    """What a finding may show of values.

    Attributes:
        clear: the columns whose values are shown, in the form of `fold_case`; of others only the keyed hash is.
        key: the key of the hashes.
    """

    clear: Collection[str]
    key: HashKey

    def worded(self, finding: Finding) -> str:
        """Return a finding as a sentence.

        Examples:
            >>> shop = Disclosure(("id", "name"), HashKey(b"k" * 32))
            >>> shop.worded(Finding(DIFFERENT, {"id": "1"}, "name", "Ada", None))
            '`name` does not match between MySQL (val="Ada") and BigQuery (val=NULL), in the row id="1"'
            >>> shop.worded(Finding(ONLY_LEFT, {"id": "7"}))
            'the row id="7" of MySQL is missing in BigQuery'
        """
        row = self._row(finding.key)
        if finding.kind != DIFFERENT or finding.column is None:
            return _WHOLE[finding.kind].format(row)
        is_alike = _is_alike(finding.left, finding.right)
        left, right = (self._value(finding.column, one, escaped=is_alike) for one in (finding.left, finding.right))
        return f"`{finding.column}` does not match between MySQL (val={left}) and BigQuery (val={right}), in the row {row}"

    def _row(self, key: Mapping[str, str | None]) -> str:
        return ", ".join(f"{name}={self._value(name, value)}" for name, value in key.items())

    def _value(self, column: str, value: str | None, *, escaped: bool = False) -> str:
        if value is None:
            return NULL
        if fold_case(column) in self.clear:
            return json.dumps(value, ensure_ascii=escaped)
        return f"hash {self.key.hash(value.encode('utf-8', 'surrogatepass'))[:_SHOWN_DIGITS]}"


def _is_alike(left: str | None, right: str | None) -> bool:
    """Return whether two texts look the same to a person, so that they are shown with escapes."""
    return left is not None and right is not None and _normal(left) == _normal(right)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()


_WHOLE = {
    ONLY_LEFT: "the row {} of MySQL is missing in BigQuery",
    ONLY_RIGHT: "the row {} of BigQuery is missing in MySQL",
    REPEATED_LEFT: "the key {} comes more than once in MySQL: name `keys` that identify a row",
    REPEATED_RIGHT: "the key {} comes more than once in BigQuery",
}
