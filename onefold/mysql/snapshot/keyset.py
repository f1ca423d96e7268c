"""Reading a table piece by piece in the order of its key: which keys allow it, and the SQL that goes on behind a row.

The value of the last row has to come back exactly, whatever lands of it: a zero date, text that is none in its character
set, a number of 64 bits. So a key's values are selected once more in a form of their own, and written back as literals that
compare with the column as the key itself does.
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
    column: SourceColumn
    type: str
    """In the server's own words: its log has MariaDB's `uuid` as `binary(16)`."""
    collation: str | None = None
    descending: bool = False


@dataclass(frozen=True)
class Keyset:
    """The index by which a table is read."""

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
    """How values of some types come and go. `{}` is the column."""

    selected: str
    literal: Callable[[KeyPart, Any], str]
    compared: str = "{}"


def keyset_of(
    structure: Structure, indexes: Sequence[IndexColumn], types: Mapping[str, tuple[str, str | None]]
) -> Keyset | None:
    """How a table is read piece by piece.

    None where there is no order to go by: it has no key, or one over prefixes of values or over a hash of them.

    Args:
        indexes: the columns of all unique ones, in order.
        types: of each column its type in the server's words, and its collation.
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


def selected(keyset: Keyset) -> tuple[str, ...]:
    """Expressions for the values of the key."""
    return tuple(_FORMS[part.type].selected.format(quoted(part.column.name)) for part in keyset.parts)


def order_by(keyset: Keyset, table: str) -> str:
    """In the order of the index. With the table's name, for an alias of the SELECT might have the column's."""
    return ", ".join(f"{table}.{quoted(part.column.name)}{' DESC' if part.descending else ''}" for part in keyset.parts)


def beyond(keyset: Keyset, table: str, after: Sequence[Any]) -> str:
    """The condition of being behind a row. Not `(a, b) > (1, 2)`, for which MariaDB reads the index from its beginning."""
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
    """With an exponent, without which it would be a decimal."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _text(_: KeyPart, value: Any) -> str:
    return "'{}'".format(str(value).replace("\\", "\\\\").replace("'", "''"))


def _bytes(part: KeyPart, value: Any) -> str:
    """In the column's character set, whose collation then decides: a comparison takes that of a column over a literal's."""
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
    # Ordered by number, and compared as text. A SET of 64 values has more digits than the comparison of text with numbers.
    "enum": _Form(_AS_NUMBER, _number),
    "set": _Form(_AS_NUMBER, _number, _AS_NUMBER),
}
