"""The decision whether an ALTER needs a copy of the table, from the structure that the table had before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from onefold.capture.retypes import STRICT, bytes_per_character, keeps_values
from onefold.core.names import fold_case
from onefold.landing.table import column_name
from onefold.mysql.connection import quoted
from onefold.mysql.ddl.alterations import (
    Alteration,
    CharsetConverted,
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    IndexAltered,
)
from onefold.mysql.table import SourceColumn, SourceType, Structure

_ZERO_IS_A_VALUE = 1 << 19
"""The bit of `sql_mode` for NO_AUTO_VALUE_ON_ZERO."""
_UNICODE = "utf8mb4"
_TABLE_CHARSET = "?"
"""The character set of a column that a definition leaves to the table."""
_DEFAULT_SIZES = {"decimal": 10, "time": 0, "datetime": 0, "timestamp": 0, "bit": 1, "char": 1, "binary": 1}
"""The sizes of types that a definition names without one."""
_READABLE = frozenset({"latin1", "ascii", "utf8", "utf8mb3", "utf8mb4"})


@dataclass(frozen=True)
class KnownTable:
    """What is known of a table at a position of the log: columns that are not known are left out."""

    structure: Structure
    auto_increment: frozenset[str] = frozenset()
    """Columns that are known to be AUTO_INCREMENT."""

    def column(self, name: str) -> SourceColumn | None:
        return next((one for one in self.structure.columns if one.name.casefold() == name.casefold()), None)

    def contradicts(self, structure: Structure) -> bool:
        """Return whether a structure in the log is not what the statements have made of this one."""
        found = {column.name: column.type.name for column in structure.columns}
        if structure.primary_key != self.structure.primary_key:
            return True
        return any(found.get(column.name) != column.type.name for column in self.structure.columns)


def landed_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names of columns in BigQuery, in one case."""
    return frozenset(fold_case(column_name(name)) for name in names)


def added_names(alterations: Iterable[Alteration]) -> frozenset[str]:
    """Return the names in BigQuery of the columns that an ALTER adds."""
    return landed_names(one.name for one in alterations if isinstance(one, ColumnAdded))


def dropped_names(alterations: Iterable[Alteration]) -> frozenset[str]:
    """Return the names in BigQuery of the columns that an ALTER drops."""
    return landed_names(one.name for one in alterations if isinstance(one, ColumnDropped))


def needs_copy(alterations: Iterable[Alteration], before: KnownTable | None, sql_mode: int) -> bool:
    """Return whether existing rows may read differently after an ALTER from what has landed of them.

    Args:
        alterations: what the ALTER does.
        before: the table before it; None if that is not known.
        sql_mode: of the session.
    """
    return any(_needs_copy(one, before, sql_mode) for one in alterations if not isinstance(one, ColumnAdded))


def _needs_copy(one: Alteration, before: KnownTable | None, sql_mode: int) -> bool:
    if before is None:
        return True
    is_strict = bool(sql_mode & STRICT)
    if isinstance(one, CharsetConverted):
        texts = {column.charset for column in before.structure.columns if column.charset}
        return not (one.charset == _UNICODE and is_strict and texts <= _READABLE)
    if isinstance(one, ColumnDropped):
        # Without the column, the key is another one.
        return one.name.casefold() in {name.casefold() for name in before.structure.primary_key}
    if isinstance(one, ColumnModified):
        column = before.column(one.name)
        if column is None or not keeps_values(column, one.definition, is_strict):
            return True
        # A column that becomes AUTO_INCREMENT gets a new number for each 0.
        is_numbered = one.definition.auto_increment and not sql_mode & _ZERO_IS_A_VALUE
        return is_numbered and column.name not in before.auto_increment
    return False  # another key shows in the next row of the log


def may_compute(alterations: Iterable[Alteration]) -> bool:
    """Return whether an ALTER may have the server compute generated columns of existing rows again."""
    return any(isinstance(one, ColumnModified | CharsetConverted) for one in alterations)


def computes_again(alterations: Iterable[Alteration], structure: Structure, expressions: Iterable[str]) -> bool:
    """Return whether generated columns of existing rows may have other values after an ALTER.

    A column of equal values in another type still gives other ones: `CONCAT(price)`, `OCTET_LENGTH(name)`.

    Args:
        alterations: what the ALTER does.
        structure: the table's columns.
        expressions: those of its generated columns, with names in backticks, as the server prints them.
    """
    names: set[str] = set()
    for one in alterations:
        if isinstance(one, CharsetConverted):
            names.update(column.name for column in structure.columns if column.charset)
        elif isinstance(one, ColumnModified):
            names.add(one.name)
    return any(quoted(name).casefold() in text.casefold() for text in expressions for name in names)


def after(alterations: Iterable[Alteration], before: KnownTable) -> KnownTable:
    """Return what is known of a table after an ALTER that needs no copy."""
    columns = {column.name.casefold(): column for column in before.structure.columns}
    numbered = set(before.auto_increment)
    for one in alterations:
        if isinstance(one, CharsetConverted):  # TEXT may become MEDIUMTEXT
            columns = {name: column for name, column in columns.items() if not column.charset}
        elif isinstance(one, ColumnModified):
            column = columns[one.name.casefold()]
            columns[one.name.casefold()] = _modified(column, one)
            (numbered.add if one.definition.auto_increment else numbered.discard)(column.name)
        elif not isinstance(one, IndexAltered):
            columns.pop(one.name.casefold(), None)
    return KnownTable(replace(before.structure, columns=tuple(columns.values())), frozenset(numbered))


def _modified(column: SourceColumn, one: ColumnModified) -> SourceColumn:
    """Return a column after MODIFY, as far as its definition says what it is."""
    new = one.definition
    charset = (new.charset or _TABLE_CHARSET) if column.charset else None
    size = new.sizes[0] if new.sizes else _DEFAULT_SIZES.get(new.type)
    if charset and size is not None:
        size *= bytes_per_character(charset)
    scale = (new.sizes[1] if len(new.sizes) > 1 else 0) if new.type == "decimal" else None
    return SourceColumn(column.name, SourceType(new.type, size, scale, new.unsigned), charset, new.values)
