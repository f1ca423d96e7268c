"""Values within JSON, as TO_JSON_STRING(TO_JSON(x, stringify_wide_numbers => TRUE)) writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.schema.types import Array, Range, Scalar, Struct, Type
from onefold.spark.columns import let
from onefold.spark.values import float_text as floats
from onefold.spark.values.grisu2 import digits_of
from onefold.spark.values.text import base64_text, decimal_text, local_time_text

_WIDE = 2**53
"""Greater whole numbers are text: a reader may take a number for a FLOAT64."""

_IN_64_BITS = (Decimal(-(2**63)), Decimal(2**64 - 1))
"""The range of whole numbers of 64 bits, signed and unsigned together."""

_NAMED_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_CONTROLS = {chr(code): _NAMED_ESCAPES.get(chr(code), f"\\u{code:04x}") for code in range(32)}
_INTERVAL = r"^(-?)(\d+)-(\d+) (-?\d+) (-?)(\d+):(\d+):(\d+)(?:\.(\d*?)0*)?$"
_RANGE = r"^\[(.*), (.*)\)$"


def json_text(x: Value, type_: Type) -> Value:
    """Return the JSON text of a value in Spark form; NULL for NULL."""
    match type_:
        case Struct(fields):
            members = [
                F.concat(
                    F.lit(f"{json.dumps(field.name, ensure_ascii=False)}:"), _member(x.getField(field.name), field.type)
                )
                for field in sorted(fields, key=lambda field: field.name.encode())  # TO_JSON_STRING sorts the names by bytes
            ]
            return F.when(x.isNotNull(), _joined("{", members, "}"))
        case Array(element):
            return F.concat(F.lit("["), F.array_join(F.transform(x, lambda e: _member(e, element)), ","), F.lit("]"))
        case Range(element):
            ends = (F.regexp_extract(x, _RANGE, side) for side in (2, 1))
            end, start = (F.when(text == "UNBOUNDED", "null").otherwise(_quoted(_time(text, element))) for text in ends)
            return F.concat(F.lit('{"end":'), end, F.lit(',"start":'), start, F.lit("}"))
        case Scalar(name):
            return _SCALARS[name](x)


def _member(x: Value, type_: Type) -> Value:
    return F.coalesce(json_text(x, type_), F.lit("null"))


def _joined(first: str, members: list[Value], last: str) -> Value:
    separated = [part for member in members for part in (F.lit(","), member)][1:]
    return F.concat(F.lit(first), *separated, F.lit(last))


def _quoted(x: Value) -> Value:
    return F.concat(F.lit('"'), x, F.lit('"'))


def _text(x: Value) -> Value:
    """Write text with its escapes. Few texts need any, so most are only searched and not replaced."""
    escaped = F.regexp_replace(x, r'(["\\])', r"\\$1")
    for control, escape in _CONTROLS.items():
        escaped = F.replace(escaped, F.lit(control), F.lit(escape))
    return _quoted(F.when(x.rlike(r'["\\\x00-\x1f]'), escaped).otherwise(x))


def _plain(x: Value) -> Value:
    return x.cast("string")


def _integer(x: Value) -> Value:
    return F.when(x.between(-_WIDE, _WIDE), x.cast("string")).otherwise(_quoted(x.cast("string")))


def _decimal(text: Value) -> Value:
    """Write a whole number of 64 bits as an INT64, any other as a number if FLOAT64 has the same digits, else as text."""

    def written(t: Value) -> Value:
        whole = F.when(~t.contains("."), t.try_cast("decimal(38,0)"))
        narrow = F.when(whole.between(-_WIDE, _WIDE), t).otherwise(_quoted(t))
        return F.when(whole.between(*_IN_64_BITS), narrow).when(t.isNotNull(), _fraction(t))

    return let(text, written)


def _fraction(text: Value) -> Value:
    sign, size = F.when(text.startswith("-"), "-").otherwise(""), F.ltrim(text, F.lit("-"))
    return let(
        digits_of(size.cast("double")),
        lambda parts: F.when(floats.fixed(parts) == size, F.concat(sign, floats.json_number(parts))).otherwise(
            _quoted(text)
        ),
    )


def _time(text: Value, element: Scalar) -> Value:
    """Write a DATE, DATETIME or TIMESTAMP in the form of RFC 3339, from its text."""
    if element.name == "TIMESTAMP":
        text = F.concat(F.regexp_replace(text, r"\+00$", ""), F.lit("Z"))
    return F.translate(text, " ", "T")


def _interval(text: Value) -> Value:
    """Write an interval in ISO 8601: parts that are zero are left out, each other part has its own sign."""
    months_sign, years, months, days, time_sign, hours, minutes, seconds, fraction = (
        F.regexp_extract(text, _INTERVAL, group) for group in range(1, 10)
    )
    whole_seconds = F.concat(seconds, F.when(fraction != "", F.concat(F.lit("."), fraction)).otherwise(""))
    date = F.concat(_part(months_sign, years, "Y"), _part(months_sign, months, "M"), _part(F.lit(""), days, "D"))
    time = F.concat(_part(time_sign, hours, "H"), _part(time_sign, minutes, "M"), _part(time_sign, whole_seconds, "S"))
    parts = F.concat(date, F.when(time != "", F.concat(F.lit("T"), time)).otherwise(""))
    return F.concat(F.lit("P"), F.when(parts == "", "0Y").otherwise(parts))


def _part(sign: Value, number: Value, unit: str) -> Value:
    return F.when(number == "0", "").otherwise(F.concat(sign, number, F.lit(unit)))


_SCALARS: dict[str, Callable[[Value], Value]] = {
    "STRING": _text,
    "BYTES": lambda x: _quoted(base64_text(x)),
    "BOOL": _plain,
    "INT64": _integer,
    "NUMERIC": lambda x: _decimal(decimal_text(x)),
    "BIGNUMERIC": _decimal,
    "FLOAT64": floats.json,
    "DATE": lambda x: _quoted(x.cast("string")),
    "DATETIME": lambda x: _quoted(_time(local_time_text(x), Scalar("DATETIME"))),
    "TIMESTAMP": lambda x: _quoted(_time(local_time_text(x), Scalar("TIMESTAMP"))),
    "TIME": _quoted,
    "INTERVAL": lambda x: _quoted(_interval(x)),
    "JSON": lambda x: x,
}
"""GEOGRAPHY is missing: within JSON it is GeoJSON, which cannot be made from its text."""
