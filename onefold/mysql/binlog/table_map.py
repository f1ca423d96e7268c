"""Table map events: the structure of a table at the time of the rows that follow, from the event's body.

The body: number of the table (6 bytes), flags (2), the database's and the table's name (each with its length before and a
zero behind it), the number of columns, a byte for the type of each column, the metadata of the types, a bit for each column
that may be NULL, and optional fields (type, length, value). The server writes names, signedness, character sets, keys and
the values of ENUM and SET as optional fields, only with `binlog_row_metadata=FULL`.

Sources: `Table_map_event` in libs/mysql/binlog/event/rows_event.h of https://github.com/mysql/mysql-server, which lists
types, metadata and optional fields. MariaDB's form differs in that geometries have a character set, too
(`Table_map_log_event::init_charset_field` in sql/log_event_server.cc of https://github.com/MariaDB/server).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onefold.core.errors import InvalidInput
from onefold.mysql.charsets import SUPPORTED, Dialect, decoder
from onefold.mysql.table import BLOBS, GEOMETRIES, TEXTS, SourceColumn, SourceType, Structure

BINARY = "binary"

# Types of columns: `enum_field_types` in include/field_types.h of https://github.com/mysql/mysql-server.
_DECIMAL = 246
_INTEGERS = {1: "tinyint", 2: "smallint", 9: "mediumint", 3: "int", 8: "bigint"}
_NUMBERS = {**_INTEGERS, 4: "float", 5: "double", _DECIMAL: "decimal"}
_TIMES = {17: "timestamp", 18: "datetime", 19: "time"}
_VARCHAR, _BIT, _YEAR, _DATE, _JSON, _ENUM, _SET, _BLOB, _STRING, _GEOMETRY = 15, 16, 13, 10, 245, 247, 248, 252, 254, 255
# The bytes of metadata of each type.
_METADATA_SIZES = {
    **dict.fromkeys((4, 5, *_TIMES, _JSON, _BLOB, _GEOMETRY), 1),
    **dict.fromkeys((_VARCHAR, _BIT, _DECIMAL, _STRING), 2),
    **dict.fromkeys((*_INTEGERS, _YEAR, _DATE), 0),
}
_UNREADABLE = {
    **dict.fromkeys((7, 11, 12), "holds times in the form of MariaDB 5.3 or MySQL 5.5"),
    **dict.fromkeys((140, 141), "is COMPRESSED"),
    242: "is a VECTOR",
}

# Types of optional fields: `Table_map_event::Optional_metadata_field_type`.
_SIGNEDNESS, _DEFAULT_CHARSET, _CHARSETS, _NAMES, _SET_VALUES, _ENUM_VALUES, _GEOMETRY_TYPES = range(1, 8)
_KEY, _KEY_WITH_PREFIX, _DEFAULT_VALUES_CHARSET, _VALUES_CHARSETS = range(8, 12)


@dataclass(frozen=True)
class TableMap:
    """A table as the log describes it, with the number that row events use for the table."""

    table_id: int
    database: str
    structure: Structure


@dataclass(frozen=True)
class _Details:
    """The optional fields, by number of column."""

    unsigned: Mapping[int, bool]
    charsets: Mapping[int, str]
    values: Mapping[int, list[bytes]]
    geometries: Mapping[int, int]


@dataclass(frozen=True)
class _Raw:
    """A column by its type's number in the log, and the metadata, which has the size."""

    code: int
    metadata: bytes


def names_in(data: bytes) -> tuple[int, str, str]:
    """Return the number of the table, the database and the table, which is enough to exclude a table."""
    at = 9 + data[8]
    return int.from_bytes(data[:6], "little"), data[9:at].decode(), data[at + 2 : at + 2 + data[at + 1]].decode()


def parse_table_map(data: bytes, dialect: Dialect) -> TableMap:
    """Return the table that an event describes.

    Args:
        data: the event without header and checksum.
        dialect: the server's character sets.

    Raises:
        InvalidInput: some columns are of a type that cannot be read, or the log does not name the columns.
    """
    table_id, database, table = names_in(data)
    # Behind the two names, each of which has a length before and a zero behind it.
    at = 8 + 2 + data[8] + 2 + data[9 + data[8] + 1]
    count, at = _length(data, at)
    codes = data[at : at + count]
    size, at = _length(data, at + count)
    raw = _columns(f"{database}.{table}", codes, data[at : at + size])
    optional = dict(_fields(data, at + size + (count + 7) // 8))
    if _NAMES not in optional and count:
        raise InvalidInput(
            f"{database}.{table}: the log does not name the columns; run: SET GLOBAL binlog_row_metadata = 'FULL'"
        )
    names = [name.decode() for name in _texts(optional.get(_NAMES, b""))]
    details = _details(raw, optional, dialect)
    columns = tuple(
        _column(name, column, details, number) for number, (name, column) in enumerate(zip(names, raw, strict=True))
    )
    return TableMap(table_id, database, Structure(table, columns, tuple(names[number] for number in _key(optional))))


def _columns(table: str, codes: bytes, metadata: bytes) -> list[_Raw]:
    unreadable = sorted({_UNREADABLE.get(code, f"is of type {code}") for code in codes if code not in _METADATA_SIZES})
    if unreadable:
        kinds = ", one that ".join(unreadable)
        raise InvalidInput(f"{table} has a column that {kinds}, which cannot be read: change it, or exclude the table")
    columns, at = [], 0
    for code in codes:
        end = at + _METADATA_SIZES[code]
        own = metadata[at:end]
        # ENUM and SET come as strings, with their own type in the first byte of the metadata.
        columns.append(_Raw(own[0], own) if code == _STRING and own[0] in (_ENUM, _SET) else _Raw(code, own))
        at = end
    return columns


def _fields(data: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    while at < len(data):
        size, start = _length(data, at + 1)
        yield data[at], data[start : start + size]
        at = start + size


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return a packed integer, and the offset behind it.

    Source: "Packed Integer" at `Binary_log_event` in libs/mysql/binlog/event/binlog_event.h of
    https://github.com/mysql/mysql-server.
    """
    first = data[at]
    if first < 251:
        return first, at + 1
    end = at + 1 + {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(data[at + 1 : end], "little"), end


def _lengths(data: bytes) -> list[int]:
    numbers, at = [], 0
    while at < len(data):
        number, at = _length(data, at)
        numbers.append(number)
    return numbers


def _texts(data: bytes) -> list[bytes]:
    texts, at = [], 0
    while at < len(data):
        size, at = _length(data, at)
        texts.append(data[at : at + size])
        at += size
    return texts


def _text_lists(data: bytes) -> list[list[bytes]]:
    lists, at = [], 0
    while at < len(data):
        count, at = _length(data, at)
        texts = []
        for _ in range(count):
            size, at = _length(data, at)
            texts.append(data[at : at + size])
            at += size
        lists.append(texts)
    return lists


def _key(optional: Mapping[int, bytes]) -> list[int]:
    """Return the numbers of the key's columns. In a key over prefixes, the prefix's length follows each number."""
    return _lengths(optional.get(_KEY, b"")) or _lengths(optional.get(_KEY_WITH_PREFIX, b""))[::2]


def _details(raw: Sequence[_Raw], optional: Mapping[int, bytes], dialect: Dialect) -> _Details:
    """Assign the optional fields to columns.

    A field has an entry for each column of its kind, in the order of the columns.
    """
    texts = _numbers_of(raw, {_STRING, _VARCHAR, _BLOB, *([_GEOMETRY] if dialect.mariadb else [])})
    valued = _numbers_of(raw, {_ENUM, _SET})
    numeric = _numbers_of(raw, {*_NUMBERS, _YEAR})
    numbers = {
        **_collations(texts, optional, _DEFAULT_CHARSET, _CHARSETS),
        **_collations(valued, optional, _DEFAULT_VALUES_CHARSET, _VALUES_CHARSETS),
    }
    return _Details(
        dict(zip(numeric, _bits(optional.get(_SIGNEDNESS, b"")), strict=False)),
        {column: dialect.charsets[number] for column, number in numbers.items()},
        {
            **dict(zip(_numbers_of(raw, {_ENUM}), _text_lists(optional.get(_ENUM_VALUES, b"")), strict=True)),
            **dict(zip(_numbers_of(raw, {_SET}), _text_lists(optional.get(_SET_VALUES, b"")), strict=True)),
        },
        dict(zip(_numbers_of(raw, {_GEOMETRY}), _lengths(optional.get(_GEOMETRY_TYPES, b"")), strict=True)),
    )


def _numbers_of(raw: Sequence[_Raw], codes: Collection[int]) -> list[int]:
    return [number for number, column in enumerate(raw) if column.code in codes]


def _bits(data: bytes) -> list[bool]:
    """Return the bits of all bytes, from the highest to the lowest of each byte."""
    return [bool(byte & 0x80 >> bit) for byte in data for bit in range(8)]


def _collations(columns: Sequence[int], optional: Mapping[int, bytes], default: int, each: int) -> dict[int, int]:
    """Return the collation of each column.

    The log has one number for each column, or a default and pairs (index among these columns, number) for the exceptions.
    """
    if each in optional:
        return dict(zip(columns, _lengths(optional[each]), strict=True))
    if default not in optional:
        return {}
    first, *pairs = _lengths(optional[default])
    others = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return {column: others.get(index, first) for index, column in enumerate(columns)}


def _column(name: str, raw: _Raw, details: _Details, number: int) -> SourceColumn:
    charset = details.charsets.get(number)
    if raw.code in (_ENUM, _SET):
        values = tuple(_value_text(value, charset or BINARY) for value in details.values[number])
        return SourceColumn(name, SourceType("enum" if raw.code == _ENUM else "set", raw.metadata[1]), charset, values)
    if raw.code in _NUMBERS:
        return SourceColumn(name, _number_type(raw, details.unsigned[number]))
    if raw.code in (_STRING, _VARCHAR, _BLOB):
        type_ = _string_type(raw, binary=charset == BINARY)
        return SourceColumn(name, type_, None if charset == BINARY else charset)
    if raw.code == _GEOMETRY:
        return SourceColumn(name, SourceType(GEOMETRIES[details.geometries[number]]))
    return SourceColumn(name, _other_type(raw))


def _number_type(raw: _Raw, unsigned: bool) -> SourceType:
    # The metadata of FLOAT and DOUBLE only repeats their size.
    size, scale = raw.metadata if raw.code == _DECIMAL else (None, None)
    return SourceType(_NUMBERS[raw.code], size, scale, unsigned)


def _string_type(raw: _Raw, binary: bool) -> SourceType:
    if raw.code == _BLOB:
        names = BLOBS if binary else TEXTS
        return SourceType(next(name for name, size in names.items() if size == raw.metadata[0]))
    if raw.code == _VARCHAR:
        return SourceType("varbinary" if binary else "varchar", int.from_bytes(raw.metadata, "little"))
    # CHAR of up to 1023 bytes: the two highest bits of the size are inverted in bits 4 and 5 of the type's byte.
    # Source: `Field_string::do_save_field_metadata` in sql/field.cc of https://github.com/mysql/mysql-server.
    size = raw.metadata[1] | ((raw.metadata[0] & 0x30) ^ 0x30) << 4
    return SourceType("binary" if binary else "char", size)


def _other_type(raw: _Raw) -> SourceType:
    if raw.code == _BIT:
        bits, size = raw.metadata
        return SourceType("bit", 8 * size + bits)
    if raw.code in _TIMES:
        return SourceType(_TIMES[raw.code], raw.metadata[0])
    return SourceType({_YEAR: "year", _DATE: "date", _JSON: "json"}[raw.code])


def _value_text(value: bytes, charset: str) -> str:
    """Return a value of ENUM or SET. A column in an unsupported character set is refused later, when its rows are read."""
    if charset not in SUPPORTED:
        return value.hex()
    text = decoder(charset)(value)
    return text if isinstance(text, str) else text.value or ""
