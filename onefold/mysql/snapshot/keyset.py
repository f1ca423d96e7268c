"""Keyset pagination: the keys that allow it, and the SQL that continues behind a row.

The key of the last row must be restored exactly, even where another value lands: a zero date, bytes that are invalid in
their character set, a number of 64 bits. So the key's values are selected a second time in a form of their own, and written
as literals that compare with the column as the key itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from onefold.mysql.connection import quoted
from onefold.mysql.table import INTEGERS, SourceColumn, Structure


@dataclass(frozen=True)
class KeyPart:
    """A column of a key. `SourceTable.shape` is a digest of the `repr`: do not rename the class or its fields."""

    column: SourceColumn
    type: str
    """The server's name of the type: the log has MariaDB's `uuid` as `binary(16)`."""
    collation: str | None = None
    descending: bool = False


@dataclass(frozen=True)
class Keyset:
    """The index in whose order a table is read. Do not rename the class or its fields (see `KeyPart`)."""

    index: str
    parts: tuple[KeyPart, ...]


@dataclass(frozen=True)
class IndexColumn:
    """A row of `information_schema.STATISTICS`."""

    index: str
    name: str | None
    order: str | None
    prefix: int | None
    index_type: str

    @property
    def is_ordered(self) -> bool:
        return self.prefix is None and self.index_type == "BTREE"


@dataclass(frozen=True)
class _Form:
    """The SQL for values of a key: to select one, to write one as a literal, to compare one. `{}` is the column."""

    selected: str
    literal: Callable[[KeyPart, Any], str]
    compared: str = "{}"


def keyset_of(
    structure: Structure, indexes: Sequence[IndexColumn], types: Mapping[str, tuple[str, str | None]]
) -> Keyset | None:
    """Return the index in whose order a table can be read.

    None if there is no such index: the table has no key, or a key over prefixes or hashes of values.

    Args:
        structure: the table's structure.
        indexes: the columns of all unique indexes, in order.
        types: the server's name of the type and the collation, by column.
    """
    key = structure.primary_key
    if not key or any(types[name][0] not in _FORMS for name in key):
        return None
    for index in dict.fromkeys(column.index for column in indexes):
        columns = [column for column in indexes if column.index == index]
        if tuple(column.name for column in columns) == key and all(column.is_ordered for column in columns):
            return Keyset(
                index, tuple(_part(structure, column, *types[name]) for name, column in zip(key, columns, strict=True))
            )
    return None


def key_expressions(keyset: Keyset) -> tuple[str, ...]:
    """Return the expressions that select the values of the key."""
    return tuple(_FORMS[part.type].selected.format(quoted(part.column.name)) for part in keyset.parts)


def order_by(keyset: Keyset, table: str) -> str:
    """Return the columns of ORDER BY, qualified by the table, because an alias of the SELECT may equal a column's name."""
    return ", ".join(f"{table}.{quoted(part.column.name)}{' DESC' if part.descending else ''}" for part in keyset.parts)


def after_condition(keyset: Keyset, table: str, after: Sequence[Any]) -> str:
    """Return the condition for rows behind a row, without `(a, b) > (1, 2)`, for which MariaDB reads the whole index.

    Args:
        keyset: the key.
        table: the table's name, quoted.
        after: the row's values of `key_expressions`.
    """
    condition = ""
    for part, value in reversed(list(zip(keyset.parts, after, strict=True))):
        form = _FORMS[part.type]
        column, literal = form.compared.format(f"{table}.{quoted(part.column.name)}"), form.literal(part, value)
        sign = "<" if part.descending else ">"
        behind = f"{column} {sign} {literal}"
        condition = f"{behind} OR {column} = {literal} AND ({condition})" if condition else behind
    return condition


def _part(structure: Structure, indexed: IndexColumn, type_: str, collation: str | None) -> KeyPart:
    column = next(column for column in structure.columns if column.name == indexed.name)
    return KeyPart(column, type_, collation, indexed.order == "D")


def _number(_: KeyPart, value: Any) -> str:
    return str(int(value))


def _decimal(_: KeyPart, value: Any) -> str:
    return f"{Decimal(value):f}"


def _floating(_: KeyPart, value: Any) -> str:
    """Return a literal with an exponent: without it, the server would read a decimal."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _text(_: KeyPart, value: Any) -> str:
    return "'{}'".format(str(value).replace("\\", "\\\\").replace("'", "''"))


def _bytes(part: KeyPart, value: Any) -> str:
    """Return a literal in the column's character set. The column's collation takes precedence over a literal's."""
    introducer = f"_{part.column.charset} " if part.column.charset else ""
    return f"{introducer}X'{bytes.fromhex(value).hex()}'"


_AS_NUMBER = "CAST({} AS UNSIGNED)"
_FORMS = {
    **dict.fromkeys(INTEGERS, _Form("{}", _number)),
    "bit": _Form(_AS_NUMBER, _number),
    "year": _Form("CAST({} AS CHAR)", _text),
    "decimal": _Form("CAST({} AS CHAR)", _decimal),
    "double": _Form("{}", _floating),
    "float": _Form("CAST({} AS DOUBLE)", _floating),
    **dict.fromkeys(("date", "datetime", "timestamp", "time"), _Form("CAST({} AS CHAR)", _text)),
    **dict.fromkeys(("char", "varchar", "binary", "varbinary"), _Form("HEX({})", _bytes)),
    **dict.fromkeys(("uuid", "inet6", "inet4"), _Form("CAST({} AS CHAR)", _text)),
    # The server orders these by number but compares them as text; and text is compared with a number as a floating-point
    # number, which does not have the digits of a SET of 64 values.
    "enum": _Form(_AS_NUMBER, _number),
    "set": _Form(_AS_NUMBER, _number, _AS_NUMBER),
}
