"""One description for each type of the source: what a query selects, and what of it lands.

There are two renderings of a value, with the same result. Capture, and pulls under rules of columns, select with PyMySQL and
convert in Python. Other pulls select SQL whose text lands as it is, because Python takes longer for a value than the server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.values import base64_text
from onefold.mysql.charsets import decoder
from onefold.mysql.connection import quoted
from onefold.mysql.encodings import Unrepresentable, date_text, interval_text, wkt
from onefold.mysql.table import BLOBS, GEOMETRIES, INTEGERS, TEXTS, SourceColumn

Convert = Callable[[Any], Any]
Form = Literal["number", "quoted", "text", "date", "bytes", "json", "geometry"]


def _unchanged(value: Any) -> Any:
    return value


def _decimal(value: Decimal) -> str:
    return f"{value:f}"


def _date(text: str) -> str | Unrepresentable:
    """Check a date, with or without a time behind it."""
    date = date_text(*(int(part) for part in text[:10].split("-")))
    return text if isinstance(date, str) else date


def _timestamp(text: str) -> str | Unrepresentable:
    value = _date(text)
    return f"{value}+00:00" if isinstance(value, str) else value


@dataclass(frozen=True)
class Rendering:
    """How values of a type are read; `{}` is the column.

    Attributes:
        selected: SQL whose value `convert` takes.
        convert: returns what lands.
        landed: SQL of the landed value as text, but for its form.
        form: what is left to do with `landed`: nothing for a number of JSON, and for JSON; quotes around text that has
            nothing to escape, also for a date, which lands as NULL where there is no such day; escapes in other text; base64
            of bytes; WKT of a geometry's bytes, which no SQL gives exactly.
    """

    selected: str = "{}"
    convert: Convert = _unchanged
    landed: str = "{}"
    form: Form = "number"


def selected(column: SourceColumn) -> str:
    """Return SQL for a column whose value PyMySQL reads, in a session of `onefold.mysql.connection.connect`."""
    return rendering_of(column).selected.format(quoted(column.name))


def landed(column: SourceColumn) -> str:
    """Return SQL for a column whose value lands, in a session whose time zone is UTC."""
    return rendering_of(column).landed.format(quoted(column.name))


def rendering_of(column: SourceColumn) -> Rendering:
    """Return how values of a column are read.

    Examples:
        >>> from onefold.mysql.table import SourceType
        >>> rendering_of(SourceColumn("n", SourceType("bigint", unsigned=True))).landed
        'CAST({} AS UNSIGNED)'

    Raises:
        InvalidInput: the type cannot be read.
    """
    kind, size = column.type.name, column.type.size
    if kind == "bigint" and column.type.unsigned:
        return _WIDE_NUMBER
    if kind == "bit":
        return _WIDE_BITS if size == 64 else _BITS
    if kind == "decimal":
        # A column with ZEROFILL shows zeros before the number, which its value does not have.
        exact = f"CAST({{}} AS DECIMAL({size},{column.type.scale}))"
        return Rendering(convert=_decimal, landed=exact, form="quoted")
    if kind not in _RENDERINGS:
        raise InvalidInput(f"{column.name} is of the type {column.type}, which cannot be read; change its type, or drop it")
    found = _RENDERINGS[kind]
    return _unicode(column.charset or "") if found.form == "text" and column.charset in _UNICODE else found


@cache
def _unicode(charset: str) -> Rendering:
    """Return how text is read that may have half a surrogate pair: as bytes, since servers send what is no UTF-8 for it."""
    return Rendering("CAST({} AS BINARY)", decoder(charset), form="text")


def is_cut(column: SourceColumn) -> bool:
    """Return whether the server cuts text where half a surrogate pair is, wherever SQL converts it to UTF-8.

    MySQL 8 and 9 end the text there without a warning; MariaDB keeps three bytes that are no UTF-8, of text in UTF-8, too.
    """
    return column.charset in ("ucs2", "utf32")


_UNICODE = frozenset({"ucs2", "utf32", "utf8", "utf8mb3", "utf8mb4"})
"""Character sets in which MySQL, or MariaDB, stores half a surrogate pair; in UTF-16 neither does."""
_SIGNED, _UNSIGNED, _TEXT = "CAST({} AS SIGNED)", "CAST({} AS UNSIGNED)", "CAST({} AS CHAR)"
_WIDE_NUMBER = Rendering(convert=str, landed=_UNSIGNED, form="quoted")
"""A number beyond INT64, which lands as text."""
_WIDE_BITS = Rendering(_UNSIGNED, str, _UNSIGNED, "quoted")
_BITS = Rendering(_UNSIGNED, landed=_UNSIGNED)
# MySQL writes a computed DOUBLE with 22 characters at most: enough without a sign for what was a FLOAT, and for one with the
# zeros of ZEROFILL, which a column has where its text is shorter.
_FLOAT = "CONCAT(IF({0} LIKE '-%', '-', ''), ABS(CAST({0} AS DOUBLE)))"
_DOUBLE = "IF(LEFT({0}, 2) BETWEEN '00' AND '09', CONCAT({0} * 1e0), CONCAT({0}))"
# PyMySQL raises an error for an invalid date in any form but text. MariaDB's UUID and INET6 come as text where the log has
# bytes. The casts of numbers leave out the zeros of ZEROFILL.
_RENDERINGS: dict[str, Rendering] = {
    **dict.fromkeys(INTEGERS, Rendering(landed=_SIGNED)),
    "year": Rendering(landed=_UNSIGNED),
    # A query shows six digits of a FLOAT, which has more.
    "float": Rendering("CAST({} AS DOUBLE)", landed=_FLOAT),
    "double": Rendering(landed=_DOUBLE),
    "date": Rendering(_TEXT, _date, _TEXT, "date"),
    "datetime": Rendering(_TEXT, _date, _TEXT, "date"),
    "timestamp": Rendering(_TEXT, _timestamp, "CONCAT({}, '+00:00')", "date"),
    "time": Rendering(_TEXT, interval_text, "CONCAT('0-0 0 ', {})", "quoted"),
    "json": Rendering(_TEXT, landed=_TEXT, form="json"),
    **dict.fromkeys([*TEXTS, "varchar", "char", "enum", "set"], Rendering(form="text")),
    "binary": Rendering("CAST({} AS BINARY)", base64_text, "CAST({} AS BINARY)", "bytes"),
    **dict.fromkeys([*BLOBS, "varbinary"], Rendering(convert=base64_text, form="bytes")),
    **dict.fromkeys(GEOMETRIES, Rendering(convert=wkt, form="geometry")),
}
