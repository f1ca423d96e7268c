"""Text of FLOAT64, STRUCT and arrays of these exactly as BigQuery writes it, made by Python in Spark's workers.

Expressions of Spark could write the same text (`text.py`), but the expressions for the digits of one FLOAT64 are so large
that Spark takes seconds to plan and compile them before the first row. Python has exact whole numbers of any length, and
formats numbers with the C library, as BigQuery does.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import struct
from bisect import bisect_left
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from onefold.changelog.digest import array_text
from onefold.core.float_text import float_text
from onefold.schema.types import STRING, Array, Field, Range, Scalar, Struct, Type
from onefold.spark.values.grisu2 import LEAST_POWER, STEP, exponent_of, leading_bits

Writer = Callable[[Any], str]

_WIDE = 2**53
"""Greater whole numbers are text within JSON: a reader may take a number for a FLOAT64."""
_LEAST, _GREATEST = -(2**63), 2**64 - 1
"""The range of whole numbers of 64 bits, signed and unsigned together."""
_SHORT = 15
_LEAST_FIXED = -4
_NAMES = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_FRACTION_BITS, _BIAS = 52, 1075
_LEAST_EXPONENT = -61
_SPARE = 17
"""The greatest number of digits after the point that can be needed."""
_POWERS = tuple(10**exponent for exponent in range(64))
_INTERVAL = re.compile(r"(-?)(\d+)-(\d+) (-?\d+) (-?)(\d+):(\d+):(\d+)(?:\.(\d*?)0*)?")
_RANGE = re.compile(r"\[(.*), (.*)\)", re.DOTALL)


def is_written_by_python(type_: Type) -> bool:
    """Return whether values of this type are written here.

    Examples:
        >>> [is_written_by_python(type_) for type_ in (Scalar("FLOAT64"), Scalar("NUMERIC"), Array(Scalar("FLOAT64")))]
        [True, False, True]
    """
    if isinstance(type_, Array):
        return is_written_by_python(type_.element)
    return isinstance(type_, Struct) or type_ == Scalar("FLOAT64")


def python_type(type_: Type) -> Type:
    """Return the type as which Spark hands a value to Python: times as text, since Python converts them to its own zone."""
    match type_:
        case Array(element):
            return Array(python_type(element))  # type: ignore[arg-type]  # no array goes in, so none comes out
        case Struct(fields):
            return Struct(tuple(Field(field.name, python_type(field.type)) for field in fields))
        case Scalar("DATE" | "DATETIME" | "TIMESTAMP"):
            return STRING
    return type_


@functools.cache
def text_writer(type_: Type) -> Callable[[Any], str | None]:
    """Return the function that writes a value for the digest: None for NULL and for an array without elements."""
    if isinstance(type_, Array):
        write = _writer(type_.element)
        return lambda value: None if value is None else array_text(None if e is None else write(e) for e in value)
    write_one = _writer(type_)
    return lambda value: None if value is None else write_one(value)


def _writer(type_: Type) -> Writer:
    return float_text if type_ == Scalar("FLOAT64") else json_writer(type_)


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


def grisu_digits(x: float) -> tuple[str, int]:
    """Return the digits of a positive number and the power of ten of the first digit, by Grisu2 (see `grisu2.py`).

    Examples:
        >>> grisu_digits(0.1), grisu_digits(1e23)
        (('1', -1), ('9999999999999999', 22))
    """
    # IEEE 754: one sign bit (here zero), 11 bits of exponent, 52 of the fraction. A biased exponent of zero is a subnormal
    # number, which has no implied leading one.
    (bits,) = struct.unpack(">q", struct.pack(">d", x))
    fraction, biased = bits & (2**_FRACTION_BITS - 1), bits >> _FRACTION_BITS
    significand = fraction | (2**_FRACTION_BITS if biased else 0)
    shift = 64 - significand.bit_length()
    value, upper = significand << shift, 1 << (shift - 1)
    # Below a power of two, numbers are half as far apart.
    lower = upper >> 1 if fraction == 0 and biased > 1 else upper
    exponent = max(biased, 1) - _BIAS - shift
    bits_of_power, power = _power(exponent)
    above, middle, below = ((border * bits_of_power + 2**63) >> 64 for border in (value + upper, value, value - lower))
    one = 1 << -(exponent + exponent_of(power) + 64)
    # Each product may be rounded by one: that one is taken off at both borders.
    spread = _POWERS[_SPARE]
    return _counted((above - 1) * spread, (above - 1 - middle) * spread, (above - 2 - below) * spread, one, power)


def _power(exponent: int) -> tuple[int, int]:
    """Return the first 64 bits, and the exponent, of the power of ten that leaves a binary exponent from -60 to -32."""
    missing = _LEAST_EXPONENT - exponent
    power = int(missing * 78913 / 2**18) + (1 if missing > 0 else 0)  # 78913 / 2^18 is log10(2)
    power = (power - LEAST_POWER + STEP - 1) // STEP * STEP + LEAST_POWER
    return _leading_bits(power), power


_leading_bits = functools.cache(leading_bits)


def _counted(above: int, to_value: int, to_below: int, one: int, power: int) -> tuple[str, int]:
    """Cut off as many digits as the borders allow, then count down to the digits nearest to the number.

    Args:
        above: the upper border, times 10^17 as all borders and distances here.
        to_value: the distance from the upper border to the number.
        to_below: the distance from the upper border to the lower border.
        one: the unit of the borders, before the factor 10^17.
        power: the power of ten by which the number was multiplied.

    Returns:
        The digits, and the power of ten of the first digit.
    """
    first = len(str(above // (one * _POWERS[_SPARE]))) - 1
    # The fewer digits are cut off, the smaller is the remainder: so bisection finds the first place that fits.
    places = range(first, -_SPARE - 1, -1)
    last = places[bisect_left(places, True, key=lambda place: above % (one * _POWERS[place + _SPARE]) <= to_below)]
    unit = one * _POWERS[last + _SPARE]
    count, rest = divmod(above, unit)
    while to_value * 2 > rest * 2 + unit and to_below - rest >= unit:
        count, rest = count - 1, rest + unit
    digits = str(count)
    return digits, len(digits) - 1 + last - power
