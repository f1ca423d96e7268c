"""The text and the JSON of a value as BigQuery writes them, made from the text that DuckDB writes.

The functions get a value as DuckDB's text, or a nested value as DuckDB's JSON, together with the name of its type. Both
keep every value exactly; only their form differs from BigQuery's.
"""

from __future__ import annotations

import binascii
import datetime
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo

from onefold.compare.values import json_text, text_of
from onefold.schema.types import Array, Range, Scalar, Struct, Type
from onefold_lab.bigquery.bignumeric import FIELD, decode
from onefold_lab.bigquery.duck_types import read_type

_ESCAPED_BYTE = re.compile(rb"\\x([0-9A-Fa-f]{2})")
_MAX_EXACT_INTEGER = 2**53
"""A FLOAT64 can hold every integer up to this one."""
_FLOATS = ("DOUBLE", "FLOAT")
# More digits than any FLOAT64 has.
_EXACT = Context(prec=1200, rounding=ROUND_HALF_UP)
_DATE = r"\d{1,4}-\d{1,2}-\d{1,2}"
_CLOCK = r"\d{1,2}:\d{1,2}:\d{1,2}(\.\d{0,9})?"
_FORMS = {
    "BOOL": re.compile("true|false", re.IGNORECASE),
    "INT64": re.compile(r"[+-]?(\d+|0x[0-9a-f]+)", re.IGNORECASE),
    "DATE": re.compile(_DATE),
    "TIME": re.compile(_CLOCK),
    "DATETIME": re.compile(f"{_DATE}([ T]{_CLOCK})?", re.IGNORECASE),
    "TIMESTAMP": re.compile(f"{_DATE}([ T]{_CLOCK})? ?(Z|[+-]\\d{{1,2}}(:\\d{{2}})?|[A-Za-z][A-Za-z_/]+)?", re.IGNORECASE),
}
# "1 year 2 months 3 days -04:05:06.7", any part of it; years and months have one sign, days and times each their own.
_INTERVAL = re.compile(
    r"(?:(?P<years>-?\d+) years?)? ?(?:(?P<months>-?\d+) months?)? ?(?:(?P<days>-?\d+) days?)? ?"
    r"(?:(?P<sign>-?)(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)(?:\.(?P<fraction>\d+))?)?"
)


def cast_text(text: str, type_name: str) -> str:
    """Return CAST(x AS STRING).

    Args:
        text: the value as DuckDB's text, a STRUCT as its JSON.
        type_name: its type, as DuckDB's `typeof` writes it.

    Raises:
        ValueError: bytes that are not UTF-8; a type that BigQuery does not cast to STRING.
    """
    type_ = read_type(type_name)
    if isinstance(type_, Struct | Array) or type_ in (Scalar("JSON"), Scalar("GEOGRAPHY")):
        raise ValueError(f"expected a type that can be cast to STRING, got {type_}")
    value = _value(json.loads(text) if type_name.startswith("STRUCT") else text, type_)
    if isinstance(value, bytes):
        return value.decode()
    return text_of(value) or ""


def exact_text(text: str, type_name: str, digits: int) -> str:
    """Return the text of a number. A FLOAT64 is written with all its digits, rounded half away from zero.

    Args:
        text: the number as DuckDB writes it.
        type_name: its type as DuckDB writes it.
        digits: how many digits to keep after the decimal point.

    Raises:
        ValueError: the FLOAT64 is not finite.
    """
    if type_name not in _FLOATS:
        return text
    number = Decimal(float(text))
    if not number.is_finite():
        raise ValueError(f"expected a finite number, got {text}")
    return f"{number.quantize(Decimal(1).scaleb(-digits), context=_EXACT):f}"


def checked_text(text: str, target: str) -> str:
    """Return a text that is to be cast, if BigQuery accepts it. DuckDB accepts more, such as `infinity` for a DATE.

    Args:
        text: the text to be cast.
        target: the type as BigQuery names it.

    Raises:
        ValueError: the text has no form of this type.
    """
    form = _FORMS.get(target)
    if form and not form.fullmatch(text.strip()):
        raise ValueError(f"expected a {target}, got {text!r}")
    return text


def zoned_text(text: str, zone: str) -> str:
    """Return STRING(timestamp, zone): the local time with its offset, `+05:30`, or `+00` where there are no minutes."""
    local = datetime.datetime.fromisoformat(text).astimezone(ZoneInfo(zone))
    offset = f"{local:%z}"
    shown = text_of(local.replace(tzinfo=None)) or ""
    return f"{shown}{offset[:3]}{'' if offset[3:] == '00' else ':' + offset[3:]}"


def to_json(text: str | None, type_name: str, wide_as_text: bool) -> str:
    """Return TO_JSON(x), which sorts the fields of a STRUCT by name.

    Args:
        text: the value as DuckDB's JSON; None for NULL.
        type_name: its type, as DuckDB's `typeof` writes it.
        wide_as_text: the option stringify_wide_numbers.
    """
    return _Writer(_wide_number if wide_as_text else _rounded_number, ordered=True).write(_read(text), read_type(type_name))


def to_json_string(text: str | None, type_name: str) -> str:
    """Return TO_JSON_STRING(x), which keeps the fields of a STRUCT in the order of the type."""
    return _Writer(_exact_number, ordered=False).write(_read(text), read_type(type_name))


class _Number(str):
    """A number's digits as DuckDB wrote them."""


def _read(text: str | None) -> Any:
    return json.loads(text, parse_float=_Number) if text else None


@dataclass(frozen=True)
class _Writer:
    """A writer of JSON.

    number: writes an INT64, NUMERIC, BIGNUMERIC or FLOAT64.
    ordered: sort the fields of a STRUCT by name.
    """

    number: Callable[[int | Decimal | float], str]
    ordered: bool

    def write(self, value: Any, type_: Type) -> str:
        if isinstance(type_, Array):
            return f"[{','.join(self.write(item, type_.element) for item in value or ())}]"
        if value is None:
            return "null"
        if isinstance(type_, Struct):
            fields = sorted(type_.fields, key=lambda field: field.name) if self.ordered else type_.fields
            return _object((field.name, self.write(value[field.name], field.type)) for field in fields)
        if isinstance(type_, Range):
            # The two fields of a RANGE are sorted by name as well.
            sides = ("end", "start") if self.ordered else ("start", "end")
            return _object((side, self.write(value[side], type_.element)) for side in sides)
        return self._scalar(value, type_)

    def _scalar(self, value: Any, type_: Type) -> str:
        if type_ == Scalar("JSON"):
            return json_value(value)
        if type_ == Scalar("INTERVAL"):
            return json_text(_duration(value))
        read = _value(value, type_)
        if isinstance(read, int | Decimal | float) and not isinstance(read, bool):
            return self.number(read)
        return json_text(read)


def _wide_number(number: int | Decimal | float) -> str:
    return json_text(number)


def _rounded_number(number: int | Decimal | float) -> str:
    """Return a number as the type JSON holds it: an integer of 64 bits or a FLOAT64."""
    if isinstance(number, float):
        return json_text(number)
    whole = int(number)
    return str(whole) if number == whole and -(2**63) <= whole < 2**64 else json_text(float(number))


def _exact_number(number: int | Decimal | float) -> str:
    """Return a number, or a JSON string where a FLOAT64 might round it; every NUMERIC with a fraction is a string."""
    if isinstance(number, float):
        return (text_of(number) or "") if math.isfinite(number) else json_text(number)
    whole = int(number)
    return str(whole) if number == whole and abs(whole) <= _MAX_EXACT_INTEGER else json_text(text_of(number))


def json_scalar(text: str) -> str | None:
    """Return JSON_VALUE(x): the text of a scalar; NULL for an object, an array and JSON null."""
    value = _read(text)
    if value is None or isinstance(value, Mapping | list):
        return None
    return value if isinstance(value, str) and not isinstance(value, _Number) else json_value(value)


def json_value(value: Any) -> str:
    """Return a value of the type JSON as BigQuery writes it: sorted names, no white space."""
    match value:
        case Mapping():
            return _object((name, json_value(value[name])) for name in sorted(value))
        case list():
            return f"[{','.join(map(json_value, value))}]"
        case _Number():
            return "-0.0" if value.startswith("-") and not float(value) else json_text(float(value))
        case str() | bool() | None:
            return json.dumps(value, ensure_ascii=False)
    return str(value)


def _object(fields: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in fields) + "}"


def _value(found: Any, type_: Type) -> Any:
    """Return the Python value of a scalar from its text or from JSON; for INTERVAL and RANGE, BigQuery's text."""
    if isinstance(type_, Range):
        return _range_text(found, type_.element)
    if type_ == Scalar("BIGNUMERIC"):
        return Decimal(decode(found[FIELD])) if found[FIELD] else None
    read = _READERS.get(str(type_))
    return read(found) if read else str(found)


def _bytes(text: str) -> bytes:
    r"""Return the bytes of a BLOB: DuckDB writes printable ASCII unchanged, every other byte and the backslash as `\xFF`."""
    return _ESCAPED_BYTE.sub(lambda match: binascii.unhexlify(match[1]), text.encode())


def _bool(found: Any) -> bool:
    return found is True or found == "true"


def _range_text(found: Mapping[str, str | None], element: Scalar) -> str:
    sides = ("UNBOUNDED" if found[side] is None else text_of(_value(found[side], element)) for side in ("start", "end"))
    return f"[{', '.join(side or '' for side in sides)})"


@dataclass(frozen=True)
class _Interval:
    """An INTERVAL. Years and months share a sign; days and the time of day each have their own."""

    years: int
    months: int
    days: int
    sign: str
    clock: tuple[int, int, int]
    fraction: str


def _read_interval(text: str) -> _Interval:
    match = _INTERVAL.fullmatch(text)
    if match is None:
        raise ValueError(f"expected an INTERVAL, got {text!r}")
    years, months, days, *clock = (
        int(match[name] or 0) for name in ("years", "months", "days", "hours", "minutes", "seconds")
    )
    fraction = (match["fraction"] or "").rstrip("0")
    hours, minutes, seconds = clock
    return _Interval(years, months, days, match["sign"] or "", (hours, minutes, seconds), fraction)


def _interval_text(text: str) -> str:
    """Return `Y-M D H:M:S.F`, where F has 0, 3, 6 or 9 digits."""
    found = _read_interval(text)
    sign = "-" if found.years < 0 or found.months < 0 else ""
    fraction = f".{found.fraction.ljust(-(-len(found.fraction) // 3) * 3, '0')}" if found.fraction else ""
    clock = ":".join(map(str, found.clock))
    return f"{sign}{abs(found.years)}-{abs(found.months)} {found.days} {found.sign}{clock}{fraction}"


def _duration(text: str) -> str:
    """Return an INTERVAL in the form of ISO 8601, as BigQuery writes it in JSON: `P1Y2M3DT4H5M6.5S`."""
    found = _read_interval(text)
    dates = ((found.years, "Y"), (found.months, "M"), (found.days, "D"))
    hours, minutes, seconds = found.clock
    times = [(str(hours), "H"), (str(minutes), "M"), (f"{seconds}{'.' if found.fraction else ''}{found.fraction}", "S")]
    date = "".join(f"{number}{unit}" for number, unit in dates if number)
    time = "".join(f"{found.sign}{number}{unit}" for number, unit in times if number != "0")
    return f"P{date}{'T' if time else ''}{time}" if date or time else "P0Y"


_READERS: dict[str, Callable[[Any], Any]] = {
    "BYTES": _bytes,
    "BOOL": _bool,
    "INT64": int,
    "NUMERIC": Decimal,
    "FLOAT64": float,
    "DATE": datetime.date.fromisoformat,
    "TIME": datetime.time.fromisoformat,
    "DATETIME": datetime.datetime.fromisoformat,
    "TIMESTAMP": datetime.datetime.fromisoformat,
    "INTERVAL": _interval_text,
}
