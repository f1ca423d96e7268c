"""Single values of Python: whether two are the same, and the text of one.

Two values of different types are compared in their least common type, as the unified view would convert them: a BOOL as the
number, a DATE as the midnight in UTC that begins it, anything else as the text that BigQuery casts it to. Numbers are exact.
An array without elements is NULL, which is how BigQuery stores it, and so is a field that a struct does not have.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from dateutil.relativedelta import relativedelta

from onefold.compare.intervals import interval_text, read_interval
from onefold.core.names import fold_case

_LONGEST = 80
"""Digits before the point of a number without an exponent: BIGNUMERIC has fewer; a larger number keeps its exponent."""
_EXACT = 15
"""Significant digits that every FLOAT64 keeps; BigQuery writes no more where they are enough."""
_LEAST_POINT = -4
"""The exponent of the smallest number that JSON writes without an exponent."""
_WIDE = 2**53
"""A FLOAT64 holds every integer up to this one."""
_INT64 = 2**63


def equal(left: Any, right: Any, as_text: bool = False) -> bool:
    """Return whether two values are the same.

    Args:
        left: one value.
        right: the other value.
        as_text: whether text is read as the type of the other value.

    Examples:
        >>> equal(1, Decimal("1.0")), equal("01", 1), equal("01", 1, as_text=True), equal([], None)
        (True, False, True, True)
    """
    if as_text and isinstance(left, str) != isinstance(right, str):
        text, value = (left, right) if isinstance(left, str) else (right, left)
        return value is not None and _is_text_of(text, value)
    if isinstance(left, list | tuple) or isinstance(right, list | tuple):
        return _equal_arrays(_elements(left), _elements(right), as_text)
    if left is None or right is None:
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return _equal_structs(left, right, as_text)
    if kind_of(left) == kind_of(right):
        return bool(plain(left) == plain(right)) or (as_text and _is_same_float(left, right))
    return text_of(left) == text_of(right)


def _elements(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None else [value]


def _equal_arrays(left: list[Any], right: list[Any], as_text: bool) -> bool:
    return len(left) == len(right) and all(equal(one, other, as_text) for one, other in zip(left, right, strict=True))


def _equal_structs(left: Mapping[str, Any], right: Mapping[str, Any], as_text: bool) -> bool:
    one, two = _by_folded_name(left), _by_folded_name(right)
    return all(equal(one.get(name), two.get(name), as_text) for name in one.keys() | two.keys())


def _by_folded_name(struct: Mapping[str, Any]) -> dict[str, Any]:
    return {fold_case(name): value for name, value in struct.items()}


def _is_same_float(left: Any, right: Any) -> bool:
    """Return whether a decimal of an export, which may have the fewest digits that read back, is the float of a table."""
    return {type(left), type(right)} == {float, Decimal} and float(left) == float(right)


def _is_text_of(text: str, value: Any) -> bool:
    try:
        return equal(read_as(text, kind_of(value)), value, as_text=True)
    except ValueError:
        return False


def kind_of(value: Any) -> str:
    """Return the kind of a value: values of one kind are compared without a conversion to text. NULL has no kind."""
    if value is None:
        return ""
    return next((kind for types, kind in _KINDS if isinstance(value, types)), type(value).__name__)


_KINDS: tuple[tuple[Any, str], ...] = (
    ((bool, int, float, Decimal), "number"),
    (datetime.date, "time"),  # a datetime is one too
    (datetime.time, "time of day"),
    (str, "text"),
    (bytes, "bytes"),
    (relativedelta, "interval"),  # as which the client of BigQuery returns an INTERVAL: 30 hours are a day and 6 hours
    (Mapping, "struct"),
    ((list, tuple), "array"),
)


def plain(value: Any) -> Any:
    """Return a hashable value that is equal for the same values of one kind."""
    match value:
        case bool() | int() | float() | Decimal():
            number = _number(value)
            return "NaN" if number.is_nan() else number
        case datetime.datetime():
            return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        case datetime.date():
            return datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC)
        case list() | tuple():
            return tuple(plain(element) for element in value) or None
        case Mapping():
            fields = {name: plain(inner) for name, inner in _by_folded_name(value).items()}
            return tuple(sorted((name, inner) for name, inner in fields.items() if inner is not None))
    return value


def _number(value: bool | int | float | Decimal) -> Decimal:
    """Return the exact number; of a float the decimal that BigQuery writes for it."""
    return Decimal(_float_text(value)) if isinstance(value, float) else Decimal(value)


def read_as(text: str, kind: str) -> Any:
    """Return the value of a kind that a text in an export means.

    Raises:
        ValueError: the text is not a value of this kind.

    Examples:
        >>> read_as("01", "number")
        Decimal('1')
    """
    try:
        return _READERS[kind](text)
    except (KeyError, InvalidOperation, binascii.Error) as error:
        raise ValueError(f"{text!r} is not a {kind}") from error


_BOOLS = {"true": True, "t": True, "false": False, "f": False}


def _read_number(text: str) -> bool | Decimal:
    known = _BOOLS.get(text.lower())
    if known is None and "_" in text:
        raise ValueError(text)  # Python would read 1_0 as 10
    return Decimal(text) if known is None else known


def _read_json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


_READERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "number": _read_number,
    "time": lambda text: datetime.datetime.fromisoformat(text.removesuffix(" UTC")),
    "time of day": datetime.time.fromisoformat,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "interval": read_interval,
    "struct": _read_json,
    "array": _read_json,
}


def text_of(value: Any) -> str | None:
    r"""Return the text that BigQuery's CAST makes of a value; None for NULL.

    Examples:
        >>> text_of(0.1 + 0.2), text_of(b"\xff"), text_of({"b": [1], "a": None})
        ('0.30000000000000004', '/w==', '{"a":null,"b":[1]}')
    """
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case float():
            return _float_text(value)
        case int() | Decimal():
            return _decimal_text(Decimal(value))
        case datetime.datetime():
            zone = "+00" if value.tzinfo else ""
            at = value.astimezone(datetime.UTC) if value.tzinfo else value
            return f"{at.date().isoformat()} {_clock_text(at.time())}{zone}"
        case datetime.time():
            return _clock_text(value)
        case bytes():
            return _bytes_text(value)
        case Mapping() | list() | tuple():
            return json_text(value)
        case relativedelta():
            return interval_text(value)
    return str(value)


def _float_text(value: float) -> str:
    texts = (f"{value:.{digits}g}" for digits in (_EXACT, _EXACT + 2))
    text = next((text for text in texts if float(text) == value), str(value))
    return "0" if text == "-0" else text


def _decimal_text(value: Decimal) -> str:
    if not value.is_finite():
        return str(value).lower()
    if abs(value.adjusted()) > _LONGEST:
        return str(value)
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _clock_text(value: datetime.time) -> str:
    """Return a time of day with no, three or six digits after the second, as few as are exact."""
    return value.isoformat("milliseconds" if value.microsecond % 1000 == 0 else "microseconds").removesuffix(".000")


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def json_text(value: Any) -> str:
    """Return a value as TO_JSON_STRING writes it; a number that a FLOAT64 would round is text (stringify_wide_numbers)."""
    match value:
        case None:
            return "null"
        case Mapping():
            fields = (f"{_quoted(name)}:{json_text(value[name])}" for name in sorted(value))
            return "{" + ",".join(fields) + "}"
        case list() | tuple():
            return "[" + ",".join(json_text(element) for element in value) + "]"
        case bool():
            return str(value).lower()
        case float() if math.isfinite(value):
            return _json_float(value)
        case int() | Decimal():
            return _json_number(value)
        case float():
            return {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}[str(value)]
        case datetime.datetime():
            return _quoted((text_of(value) or "").replace(" ", "T", 1).replace("+00", "Z"))
        case bytes():
            return _quoted(base64.b64encode(value).decode())
    return _quoted(text_of(value) or "")


def _json_float(value: float) -> str:
    """Return the fewest digits that read back as the value, with an exponent from 10^15 on and below 10^-4."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    point = len(digits) + int(exponent)
    text = "".join(map(str, digits))
    if value == 0:
        return "0.0"  # TO_JSON drops the sign of zero
    if len(digits) <= point <= _EXACT:
        shown = f"{text.ljust(point, '0')}.0"
    elif 0 < point <= _EXACT:
        shown = f"{text[:point]}.{text[point:]}"
    elif _LEAST_POINT < point <= 0:
        shown = f"0.{'0' * -point}{text}"
    else:
        shown = f"{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1:+03d}"
    return f"-{shown}" if sign else shown


def _json_number(value: int | Decimal) -> str:
    """Return a whole number of 64 bits as an INT64, any other as a FLOAT64 that has the same digits, else as text."""
    exact = Decimal(value)
    if exact.is_finite() and abs(exact) < _INT64 and exact == exact.to_integral_value():
        return str(int(exact)) if abs(exact) <= _WIDE else f'"{int(exact)}"'
    same = exact.is_finite() and Decimal(repr(float(exact))) == exact
    return _json_float(float(exact)) if same else _quoted(text_of(value) or "")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
