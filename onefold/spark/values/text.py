"""Held values of scalar types as text, the way BigQuery's conversion to STRING writes them; NULL stays NULL."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.spark.values import float_text as floats

_WHOLE_SECONDS, _THREE_DIGITS, _SIX_DIGITS = (
    len(text) for text in ("2020-01-01 00:00:00", "2020-01-01 00:00:00.000", "2020-01-01 00:00:00.000000")
)
_PLAIN_DECIMAL = "0." + "#" * 38


def text(x: Value, type_name: str) -> Value:
    """The text of a held value; what is held as text is its text."""
    write = _TEXTS.get(type_name)
    return write(x) if write else x


def decimal_text(x: Value) -> Value:
    """Every digit, no zeros behind the last."""
    return F.call_function("format_number", x, F.lit(_PLAIN_DECIMAL))


def local_time_text(x: Value) -> Value:
    """Date and time; a fraction has three digits where they do, else six."""
    # Without `let`, whose lambda Spark does not compile: it finds by itself that the cast is needed once.
    plain = x.cast("string")
    length = F.length(plain)
    wanted = F.when(length <= _WHOLE_SECONDS, length).when(length <= _THREE_DIGITS, _THREE_DIGITS).otherwise(_SIX_DIGITS)
    return F.rpad(plain, wanted, F.lit("0"))


def base64_text(x: Value) -> Value:
    # Spark breaks lines after 76 characters.
    return F.translate(F.base64(x), "\r\n", "")


def _numeric_text(x: Value) -> Value:
    """Write a held NUMERIC, whose text always has a point: to trim it takes a fraction of the time of `decimal_text`."""
    return F.rtrim(F.rtrim(x.cast("string"), F.lit("0")), F.lit("."))


def _bytes_text(x: Value) -> Value:
    return F.when(F.is_valid_utf8(x.cast("string")), x.cast("string")).otherwise(base64_text(x))


def _plain_text(x: Value) -> Value:
    return x.cast("string")


def _timestamp_text(x: Value) -> Value:
    return F.concat(local_time_text(x), F.lit("+00"))


_TEXTS: dict[str, Callable[[Value], Value]] = {
    "BYTES": _bytes_text,
    "BOOL": _plain_text,
    "INT64": _plain_text,
    "NUMERIC": _numeric_text,
    "FLOAT64": floats.text,
    "DATE": _plain_text,
    "DATETIME": local_time_text,
    "TIMESTAMP": _timestamp_text,
}
