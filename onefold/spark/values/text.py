"""Text of scalar values in Spark form, as BigQuery's conversion to STRING writes it; NULL stays NULL.

FLOAT64 is missing: Python writes it (`python_text.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

_WHOLE_SECONDS, _THREE_DIGITS, _SIX_DIGITS = (
    len(text) for text in ("2020-01-01 00:00:00", "2020-01-01 00:00:00.000", "2020-01-01 00:00:00.000000")
)
_PLAIN_DECIMAL = "0." + "#" * 38


def text(x: Value, type_name: str) -> Value:
    """Return the text of a value; a value whose Spark form is text is returned as it is."""
    write = _TEXTS.get(type_name)
    return write(x) if write else x


def decimal_text(x: Value) -> Value:
    """Return every digit of a decimal, without zeros at the end of its fraction."""
    return F.call_function("format_number", x, F.lit(_PLAIN_DECIMAL))


def local_time_text(x: Value) -> Value:
    """Return date and time; a fraction has three digits if they are enough, else six."""
    # Not with `let`, whose lambda Spark does not compile: Spark itself computes the repeated cast only once.
    plain = x.cast("string")
    length = F.length(plain)
    padded = F.when(length <= _WHOLE_SECONDS, length).when(length <= _THREE_DIGITS, _THREE_DIGITS).otherwise(_SIX_DIGITS)
    return F.rpad(plain, padded, F.lit("0"))


def base64_text(x: Value) -> Value:
    """Return bytes in base64 on one line; Spark breaks the line after 76 characters."""
    return F.translate(F.base64(x), "\r\n", "")


def _numeric_text(x: Value) -> Value:
    """Write a NUMERIC. Its Spark text always has a point, and trimming takes a fraction of the time of `decimal_text`."""
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
    "DATE": _plain_text,
    "DATETIME": local_time_text,
    "TIMESTAMP": _timestamp_text,
}
