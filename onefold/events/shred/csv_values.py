r"""Values as the fields of a line for Redshift's COPY: CSV, DELIMITER tab, NULL AS '\N'."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from onefold.events.shred.values import (
    DoesNotFit,
    day_of,
    decimal_number,
    float_number,
    shown,
    text_of,
    utc_time,
    whole_number,
)

NULL = r"\N"
TAB = "\t"
_LIKE_NULL = re.compile(r"\\+N")
_QUOTED = re.compile(r'["\t\n\r]')
_TYPE = re.compile(r"(VARCHAR|CHAR|DECIMAL)\(([0-9]+)(?:, ?([0-9]+))?\)")
_BITS = {"SMALLINT": 16, "INT": 32, "BIGINT": 64}

_MOST_BYTES = 4
"""The bytes of UTF-8 that a character has at most."""
_DAY = len("2026-11-23")
_FLOAT_DIGITS = 15
"""The digits of a decimal number that a double always gives back."""
_SINGLE_DIGITS, _LEAST_SINGLE, _MOST_SINGLE = 6, 1e-37, 1e38
"""The digits that REAL always gives back, and its range (Amazon Redshift, "Numeric types", 2026-11)."""

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


def csv_converter(type_: str, plain: bool = False) -> Convert:
    """Return the function that makes the field of a value that is not NULL.

    The function raises DoesNotFit for a value that the column cannot hold exactly.

    Args:
        type_: the type in Redshift, as in `VARCHAR(10)`.
        plain: whether no text has a character that makes quotes or an escape necessary.

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
        return _text(int(length), _fits_varchar if name == "VARCHAR" else _fits_char, plain)
    return _OTHERS[type_]


def surely_fitting(type_: str) -> int:
    """Return the length up to which any text fits into a column; -1 for columns that are not VARCHAR.

    Examples:
        >>> surely_fitting("VARCHAR(10)"), surely_fitting("CHAR(10)")
        (2, -1)
    """
    found = _TYPE.fullmatch(type_)
    return int(found[2]) // _MOST_BYTES if found and found[1] == "VARCHAR" else -1


def _integer(type_: str, bits: int) -> Convert:
    most = 2 ** (bits - 1)

    def convert(value: Any) -> str:
        number = value if type(value) is int else whole_number(value)
        if -most <= number < most:
            return str(number)
        raise DoesNotFit(f"{shown(value)} is beyond {type_}")

    return convert


def _decimal(precision: int, scale: int) -> Convert:
    safe = 10.0 ** (_FLOAT_DIGITS - scale - 1)

    def convert(value: Any) -> str:
        # Up to here a double has more digits than the number: the text is exact if it gives the number back.
        if type(value) is float and -safe < value < safe and float(text := f"{value:.{scale}f}") == value:
            return text
        return f"{decimal_number(value, precision - scale, scale):.{scale}f}"

    return convert


def _text(length: int, check: Callable[[str, int], None], plain: bool) -> Convert:
    def convert(value: Any) -> str:
        if type(value) is str:
            check(value, length)
            return value if plain else csv_field(value)
        text = text_of(value)
        check(text, length)
        return csv_field(text)

    return convert


def _fits_varchar(text: str, length: int) -> None:
    if len(text) * _MOST_BYTES > length and len(text.encode()) > length:
        raise DoesNotFit(f"{shown(text)} has {len(text.encode()):,} bytes, and the column holds {length:,}")


def _fits_char(text: str, length: int) -> None:
    # CHAR holds single bytes only, and does not keep blanks at the end (Amazon Redshift, "Character types").
    if not text.isascii() or len(text) > length or text.endswith(" "):
        rule = f"at most {length:,} ASCII characters without a blank at the end"
        raise DoesNotFit(f"{shown(text)} does not fit into CHAR({length}): expected {rule}")


def _boolean(value: Any) -> str:
    if value is True or value is False:
        return "1" if value else "0"
    raise DoesNotFit(f"{shown(value)} is not a boolean")


def _float(value: Any) -> str:
    return repr(value) if type(value) is float else repr(float_number(value))


def _single(value: Any) -> str:
    number = float_number(value)
    digits = Decimal(repr(number)).normalize().as_tuple().digits
    if number and (len(digits) > _SINGLE_DIGITS or not _LEAST_SINGLE <= abs(number) < _MOST_SINGLE):
        raise DoesNotFit(f"{shown(value)} has more than {_SINGLE_DIGITS} digits, which is what REAL keeps, or is beyond it")
    return repr(number)


def _time(value: Any) -> str:
    # A table that another loader made may have TIMESTAMP for days; a text of a time is longer.
    is_day = type(value) is str and len(value) == _DAY
    return utc_time(f"{value} 00:00:00" if is_day else value).isoformat(" ")


_OTHERS: dict[str, Convert] = {
    "BOOLEAN": _boolean,
    "DOUBLE PRECISION": _float,
    "REAL": _single,
    "TIMESTAMP": _time,
    "TIMESTAMPTZ": lambda value: f"{_time(value)}+00:00",
    "DATE": lambda value: day_of(value).isoformat(),
}
