r"""Values as the fields of a line for Redshift's COPY: CSV, DELIMITER tab, NULL AS '\N'."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from onefold.shred.values import DoesNotFit, day_of, decimal_number, float_number, shown, text_of, utc_time, whole_number

NULL = r"\N"
TAB = "\t"
_LIKE_NULL = re.compile(r"\\+N")
_QUOTED = re.compile(r'["\t\n\r]')
_TYPE = re.compile(r"(VARCHAR|CHAR|DECIMAL)\(([0-9]+)(?:,([0-9]+))?\)")
_BITS = {"SMALLINT": 16, "INT": 32, "BIGINT": 64}

Convert = Callable[[Any], str]


def csv_field(text: str) -> str:
    r"""Return a text as a field: quoted where needed, and backslashes followed by N get one more backslash.

    Examples:
        >>> print(csv_field("6' 1\" tall"), csv_field(r"\N"), csv_field(r"\\N"), csv_field("plain"))
        "6' 1"" tall" \\N \\\N plain
    """
    if "\\" in text and _LIKE_NULL.fullmatch(text):
        return "\\" + text
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def csv_converter(type_: str) -> Convert:
    """Return the function that makes the field of a value that is not NULL.

    The function raises DoesNotFit for a value that the column cannot hold exactly.

    Args:
        type_: the type in Redshift, as in `VARCHAR(10)`.

    Examples:
        >>> csv_converter("BOOLEAN")(True), csv_converter("SMALLINT")(5), csv_converter("VARCHAR(9)")([1, "a"])
        ('1', '5', '"[1,""a""]"')
    """
    if type_ in _BITS:
        return _integer(type_, _BITS[type_])
    if found := _TYPE.fullmatch(type_):
        name, length, scale = found.groups()
        if name == "DECIMAL":
            return _decimal(int(length), int(scale or 0))
        return (_varchar if name == "VARCHAR" else _char)(int(length))
    return _OTHERS[type_]


def _integer(type_: str, bits: int) -> Convert:
    most = 2 ** (bits - 1)

    def convert(value: Any) -> str:
        number = value if type(value) is int else whole_number(value)
        if -most <= number < most:
            return str(number)
        raise DoesNotFit(f"{shown(value)} is beyond {type_}")

    return convert


def _decimal(precision: int, scale: int) -> Convert:
    def convert(value: Any) -> str:
        return f"{decimal_number(value, precision - scale, scale):.{scale}f}"

    return convert


def _varchar(length: int) -> Convert:
    surely = length // 4

    def convert(value: Any) -> str:
        text = value if type(value) is str else text_of(value)
        if len(text) <= surely or len(text.encode()) <= length:
            return csv_field(text)
        raise DoesNotFit(f"{shown(value)} has {len(text.encode()):,} bytes, and the column holds {length:,}")

    return convert


def _char(length: int) -> Convert:
    def convert(value: Any) -> str:
        text = text_of(value)
        # CHAR holds single bytes only, and does not keep blanks at the end (Amazon Redshift, "Character types").
        if text.isascii() and len(text) <= length and not text.endswith(" "):
            return csv_field(text)
        raise DoesNotFit(
            f"{shown(value)} does not fit into CHAR({length}): at most {length} ASCII characters, no blank at the end"
        )

    return convert


def _boolean(value: Any) -> str:
    if value is True or value is False:
        return "1" if value else "0"
    raise DoesNotFit(f"{shown(value)} is not a boolean")


def _float(value: Any) -> str:
    return repr(float_number(value))


_OTHERS: dict[str, Convert] = {
    "BOOLEAN": _boolean,
    "DOUBLE PRECISION": _float,
    "TIMESTAMP": lambda value: utc_time(value).isoformat(" "),
    "DATE": lambda value: day_of(value).isoformat(),
}
