"""Values within JSON, as TO_JSON_STRING(TO_JSON(x, stringify_wide_numbers => TRUE)) writes them, by plain Python."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from onefold.schema.types import Array, Range, Struct, Type
from onefold.spark.values.grisu2 import grisu_digits

Writer = Callable[[Any], str]

_WIDE = 2**53
"""Greater whole numbers are text within JSON: a reader may take a number for a FLOAT64."""
_LEAST, _GREATEST = -(2**63), 2**64 - 1
"""The range of whole numbers of 64 bits, signed and unsigned together."""
_SHORT = 15
_LEAST_FIXED = -4
_NAMES = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_INTERVAL = re.compile(r"(-?)(\d+)-(\d+) (-?\d+) (-?)(\d+):(\d+):(\d+)(?:\.(\d*?)0*)?")
_RANGE = re.compile(r"\[(.*), (.*)\)", re.DOTALL)


def float_json(x: float) -> str:
    """Write a FLOAT64 as it is within TO_JSON_STRING.

    Examples:
        >>> [float_json(x) for x in (1.0, -0.0, 1e20, 5e-324, float("nan"))]
        ['1.0', '0.0', '1e+20', '5e-324', '"NaN"']
    """
    if x == 0:
        return "0.0"
    name = _NAMES.get(str(x))
    return name or ("-" if x < 0 else "") + _json_number(*grisu_digits(abs(x)))


@functools.cache
def json_writer(type_: Type) -> Writer:
    """Return the function that writes a value or NULL as TO_JSON_STRING(TO_JSON(x, stringify_wide_numbers => TRUE)) does."""
    write = _json_writer(type_)
    return lambda value: "null" if value is None else write(value)


def _json_writer(type_: Type) -> Writer:
    match type_:
        case Struct(fields):
            in_order = sorted(enumerate(fields), key=lambda pair: pair[1].name.encode())
            parts = [(_quoted(field.name) + ":", index, json_writer(field.type)) for index, field in in_order]
            return lambda row: "{" + ",".join(name + write(row[index]) for name, index, write in parts) + "}"
        case Array(element):
            write_one = json_writer(element)
            return lambda values: "[" + ",".join(map(write_one, values)) + "]"
        case Range(element):
            return lambda text: _range_json(text, str(element))
    return _SCALARS[str(type_)]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _integer_json(x: int) -> str:
    return str(x) if -_WIDE <= x <= _WIDE else f'"{x}"'


def _decimal_json(x: Decimal | str) -> str:
    """Write a whole number of 64 bits as an INT64, any other as a number if FLOAT64 has the same digits, else as text."""
    text = f"{x:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    if "." not in text and _LEAST <= int(text) <= _GREATEST:
        return _integer_json(int(text))
    size = text.removeprefix("-")
    digits = grisu_digits(float(size))
    return text[: -len(size)] + _json_number(*digits) if _fixed(*digits) == size else f'"{text}"'


def _time_text(text: str) -> str:
    """Write the fraction of a second with three digits if they are enough, else with six."""
    whole, point, fraction = text.partition(".")
    return whole + point + fraction.ljust(3 if len(fraction) <= 3 else 6, "0") if point else whole


def _range_json(text: str, element: str) -> str:
    found = _RANGE.fullmatch(text)
    start, end = ("null" if x == "UNBOUNDED" else _end_json(x, element) for x in (found.groups() if found else ()))
    return f'{{"end":{end},"start":{start}}}'


def _end_json(text: str, element: str) -> str:
    return '"' + (text.removesuffix("+00") + "Z" if element == "TIMESTAMP" else text).replace(" ", "T") + '"'


def _interval_json(text: str) -> str:
    """Write an interval in ISO 8601: parts that are zero are left out, each other part has its own sign."""
    found = _INTERVAL.fullmatch(text)
    sign, years, months, days, time_sign, hours, minutes, seconds, fraction = found.groups("") if found else ("",) * 9
    seconds += "." + fraction if fraction else ""
    date = _part(sign, years, "Y") + _part(sign, months, "M") + _part("", days, "D")
    time = _part(time_sign, hours, "H") + _part(time_sign, minutes, "M") + _part(time_sign, seconds, "S")
    return f'"P{date}{"T" if time else ""}{time or ("" if date else "0Y")}"'


def _part(sign: str, number: str, unit: str) -> str:
    return "" if number == "0" else sign + number + unit


_SCALARS: dict[str, Writer] = {
    "STRING": _quoted,
    "BYTES": lambda x: '"' + base64.b64encode(x).decode() + '"',
    "BOOL": lambda x: "true" if x else "false",
    "INT64": _integer_json,
    "NUMERIC": _decimal_json,
    "BIGNUMERIC": lambda x: _decimal_json(Decimal(x)),
    "FLOAT64": float_json,
    "DATE": lambda x: f'"{x}"',
    "DATETIME": lambda x: '"' + _time_text(x).replace(" ", "T") + '"',
    "TIMESTAMP": lambda x: '"' + _time_text(x).replace(" ", "T") + 'Z"',
    "TIME": lambda x: f'"{x}"',
    "INTERVAL": _interval_json,
    "JSON": str,
}
"""GEOGRAPHY is missing: within JSON it is GeoJSON, which cannot be made from its text."""


def _json_number(digits: str, exponent: int) -> str:
    """Write digits as C's `%.15g` does, with a point or an exponent in any case."""
    if _LEAST_FIXED <= exponent < _SHORT:
        text = _fixed(digits, exponent)
        return text if "." in text else text + ".0"
    point = "." if len(digits) > 1 else ""
    return f"{digits[0]}{point}{digits[1:]}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _fixed(digits: str, exponent: int) -> str:
    """Write a number without an exponent, with as many zeros as that takes."""
    whole = exponent + 1
    if whole <= 0:
        return "0." + "0" * -whole + digits
    return digits.ljust(whole, "0") if whole >= len(digits) else f"{digits[:whole]}.{digits[whole:]}"
