"""A source table's structure as a value: what both an event of the log and `information_schema` say about the table.

`SourceTable.shape`, which checkpoints keep, is a digest of the `repr` of these classes: if the name of a class or a field
changes, every running copy starts again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

INTEGERS = {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8}
"""The bytes of an integer."""
TEXTS = {"tinytext": 1, "text": 2, "mediumtext": 3, "longtext": 4}
BLOBS = {"tinyblob": 1, "blob": 2, "mediumblob": 3, "longblob": 4}
"""The bytes of their length."""
GEOMETRIES = (
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection",
)  # fmt: skip
"""In the order of their numbers in the log and in WKB."""


_SEQUENCE_COLUMNS = (
    "next_not_cached_value", "minimum_value", "maximum_value", "start_value", "increment", "cache_size", "cycle_option",
    "cycle_count",
)  # fmt: skip


@dataclass(frozen=True)
class SourceType:
    """A type with its size: bytes of text and of ENUM and SET, digits of decimals and of fractions of seconds, bits of BIT.

    Sizes that only say how a value is displayed (`int(11)`, `float(7,3)`) are not part of it: the log does not have them.
    """

    name: str
    size: int | None = None
    scale: int | None = None
    unsigned: bool = False

    def __str__(self) -> str:
        sizes = ",".join(str(size) for size in (self.size, self.scale) if size is not None)
        return f"{self.name}{f'({sizes})' if sizes else ''}{' unsigned' if self.unsigned else ''}"


@dataclass(frozen=True)
class SourceColumn:
    """A column of a source table."""

    name: str
    type: SourceType
    charset: str | None = None
    """The character set of text, ENUM and SET."""
    values: tuple[str, ...] = ()
    """The values of ENUM and SET, in the order of their numbers."""


@dataclass(frozen=True)
class Structure:
    """A table's columns and key, without its database: a thousand databases with the same table share one structure."""

    table: str
    columns: tuple[SourceColumn, ...]
    primary_key: tuple[str, ...] = ()
    """Names of columns, in the key's order; for a key over a prefix, the column. Without a primary key, the first unique key
    whose columns cannot be NULL."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed once: a structure is looked up for every event."""
        return hash((self.table, self.columns, self.primary_key))


def is_sequence(structure: Structure) -> bool:
    """Return whether a table is a sequence of MariaDB, which its log has as a table of one row with these columns."""
    return not structure.primary_key and tuple(column.name for column in structure.columns) == _SEQUENCE_COLUMNS


def enum_size(values: int) -> int:
    """Return the bytes of an ENUM with a number of values."""
    return 1 if values < 256 else 2


def set_size(values: int) -> int:
    """Return the bytes of a SET with a number of values.

    Examples:
        >>> [set_size(values) for values in (8, 9, 33)]
        [1, 2, 8]
    """
    size = (values + 7) // 8
    return size if size <= 4 else 8
