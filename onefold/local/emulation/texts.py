"""The text and the JSON that BigQuery makes of a value, from what DuckDB writes of it.

DuckDB hands a value over as its text, or a nested value as its JSON, together with the name of its type. Both keep every
value exactly; only their form is not BigQuery's.
"""

from __future__ import annotations

import binascii
import datetime
import json
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from onefold.local.emulation.bignumeric import FIELD, decode
from onefold.local.emulation.duck_types import read_type
from onefold.types import Array, Range, Scalar, Struct, Type
from onefold.values import json_text, text_of

_ESCAPED_BYTE = re.compile(rb"\\x([0-9A-Fa-f]{2})")
_WIDE = 2**53
# "1 year 2 months 3 days -04:05:06.7", any part of it; years and months have one sign, days and times each their own.
_INTERVAL = re.compile(
    r"(?:(?P<years>-?\d+) years?)? ?(?:(?P<months>-?\d+) months?)? ?(?:(?P<days>-?\d+) days?)? ?"
    r"(?:(?P<sign>-?)(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)(?:\.(?P<fraction>\d+))?)?"
)


def cast_text(text: str, type_name: str) -> str:
    """CAST(x AS STRING).

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


def zoned_text(text: str, zone: str) -> str:
    """STRING(timestamp, zone): the local time with its offset, `+05:30`, or `+00` where there are no minutes."""
    local = datetime.datetime.fromisoformat(text).astimezone(ZoneInfo(zone))
    offset = f"{local:%z}"
    shown = text_of(local.replace(tzinfo=None)) or ""
    return f"{shown}{offset[:3]}{'' if offset[3:] == '00' else ':' + offset[3:]}"


def to_json(text: str | None, type_name: str, wide_as_text: bool) -> str:
    """TO_JSON(x): names of fields in order, as JSON values have them.

    Args:
        text: the value as DuckDB's JSON; None for NULL.
        type_name: its type, as DuckDB's `typeof` writes it.
        wide_as_text: stringify_wide_numbers.
    """
    return _json(json.loads(text, parse_float=_as_is) if text else None, read_type(type_name), wide_as_text, ordered=True)


def to_json_string(text: str | None, type_name: str) -> str:
    """TO_JSON_STRING(x): names of fields in the order of the type; numbers that a FLOAT64 would round are text."""
    return _json(json.loads(text, parse_float=_as_is) if text else None, read_type(type_name), wide_as_text=True, ordered=False)


class _Number(str):
    """A number's digits as DuckDB wrote them."""


def _as_is(digits: str) -> str:
    return _Number(digits)


def _json(value: Any, type_: Type, wide_as_text: bool, ordered: bool) -> str:
    if isinstance(type_, Array):
        return f"[{','.join(_json(item, type_.element, wide_as_text, ordered) for item in value or ())}]"
    if value is None:
        return "null"
    if isinstance(type_, Struct):
        names = sorted(type_.fields, key=lambda field: field.name) if ordered else type_.fields
        return _object((field.name, _json(value[field.name], field.type, wide_as_text, ordered)) for field in names)
    if type_ == Scalar("JSON"):
        return json_value(value)
    read = _value(value, type_)
    if not wide_as_text and isinstance(read, int | Decimal) and not isinstance(read, bool):
        return text_of(read) or ""
    return json_text(read)


def json_value(value: Any) -> str:
    """A value of the type JSON as BigQuery writes it: names in order, nothing between its parts."""
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
    """The Python value of a scalar, from its text or from a leaf of JSON; an INTERVAL or a RANGE as BigQuery's text."""
    if isinstance(type_, Range):
        return _range_text(found, type_.element)
    if type_ == Scalar("BIGNUMERIC"):
        return Decimal(decode(found[FIELD])) if found[FIELD] else None
    read = _READERS.get(str(type_))
    return read(found) if read else str(found)


def _bytes(text: str) -> bytes:
    """DuckDB writes printable ASCII as it is and every other byte, the backslash among them, as `\\xFF`."""
    return _ESCAPED_BYTE.sub(lambda match: binascii.unhexlify(match[1]), text.encode())


def _bool(found: Any) -> bool:
    return found is True or found == "true"


def _range_text(found: Mapping[str, str | None], element: Scalar) -> str:
    sides = ("UNBOUNDED" if found[side] is None else text_of(_value(found[side], element)) for side in ("start", "end"))
    return f"[{', '.join(side or '' for side in sides)})"


def _interval_text(text: str) -> str:
    match = _INTERVAL.fullmatch(text)
    if match is None:
        raise ValueError(f"expected an INTERVAL, got {text!r}")
    years, months, days = (int(match[name] or 0) for name in ("years", "months", "days"))
    sign = "-" if years < 0 or months < 0 else ""
    clock = ":".join(str(int(match[name] or 0)) for name in ("hours", "minutes", "seconds"))
    fraction = (match["fraction"] or "").rstrip("0")
    if fraction:
        clock += "." + fraction.ljust(3 if len(fraction) <= 3 else 6, "0")  # noqa: PLR2004 - groups of three digits
    return f"{sign}{abs(years)}-{abs(months)} {days} {match['sign'] or ''}{clock}"


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
