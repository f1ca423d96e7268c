r"""Values as the fields of a line for Redshift's COPY: CSV, DELIMITER tab, NULL AS '\N'."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from onefold.events.shred.redshift_values import BITS, WITH_SIZE, boolean, integer, single, text, time
from onefold.events.shred.values import day_of, decimal_number, float_number

NULL = r"\N"
TAB = "\t"
_LIKE_NULL = re.compile(r"\\+N")
_QUOTED = re.compile(r'["\t\n\r]')
_FLOAT_DIGITS = 15
"""The digits of a decimal number that a double always gives back."""

Convert = Callable[[Any], str]


def csv_field(text: str) -> str:
    r"""Return a text as a field: quoted where needed, and backslashes followed by N get one more backslash.

    Examples:
        >>> print(csv_field("6' 1\" tall"), csv_field(r"\N"), csv_field(r"\\N"), csv_field("plain"))
        "6' 1"" tall" \\N \\\N plain
    """
    if "\\" in text and (longer := _unlike_null(text)) is not text:
        return longer
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _unlike_null(text: str) -> str:
    """Return a text of backslashes and N with one more backslash, which the table then has, too; any other text as it is."""
    return "\\" + text if _LIKE_NULL.fullmatch(text) else text


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
    if type_ in BITS:
        whole = integer(type_)
        return lambda value: str(whole(value))
    if found := WITH_SIZE.fullmatch(type_):
        name, length, scale = found.groups()
        return _decimal(int(length), int(scale or 0)) if name == "DECIMAL" else _text(text(name, int(length)), plain)
    return _OTHERS[type_]


def _decimal(precision: int, scale: int) -> Convert:
    safe = 10.0 ** (min(_FLOAT_DIGITS - 1, precision) - scale)

    def convert(value: Any) -> str:
        # Up to here a double has more digits than the number, and the column as many: the text is exact if it gives it back.
        if type(value) is float and -safe < value < safe and float(fixed := f"{value:.{scale}f}") == value:
            return fixed
        return f"{decimal_number(value, precision - scale, scale):.{scale}f}"

    return convert


def _text(fitting: Callable[[Any], str], plain: bool) -> Convert:
    def convert(value: Any) -> str:
        found = fitting(value)
        # The JSON text of an array or an object has quotes, whatever texts are in it.
        if plain and type(value) is str:
            return found
        longer = _unlike_null(found)
        return csv_field(found) if longer is found else fitting(longer)

    return convert


def _time(value: Any) -> str:
    return time(value).isoformat(" ")


_OTHERS: dict[str, Convert] = {
    "BOOLEAN": lambda value: "1" if boolean(value) else "0",
    "DOUBLE PRECISION": lambda value: repr(value) if type(value) is float else repr(float_number(value)),
    "REAL": lambda value: repr(single(value)),
    "TIMESTAMP": _time,
    "TIMESTAMPTZ": lambda value: f"{_time(value)}+00:00",
    "DATE": lambda value: day_of(value).isoformat(),
}
