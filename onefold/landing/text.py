"""The text of a landed value that a keyed hash is made of: as BigQuery converts the value to STRING.

The clean view hashes the same text in SQL (`onefold.views.clean.hash_expression`), so that a value has one hash wherever it
is hashed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from onefold.core.float_text import float_text
from onefold.schema.types import Type


def hashed_bytes(type_: Type) -> Callable[[Any], bytes] | None:
    """Return the function from a landed value of a type, which is not NULL, to what is hashed.

    JSON has none: BigQuery writes numbers and the order of fields anew.

    Args:
        type_: the type in BigQuery as which capture lands the value.

    Returns:
        The function; None for a type whose values have no text that BigQuery would give, too.

    Examples:
        >>> from onefold.schema.types import Scalar
        >>> [hashed_bytes(Scalar(name))(value) for name, value in (("NUMERIC", "1.50"), ("BYTES", "YWI="))]
        [b'1.5', b'ab']
    """
    if str(type_) == "BYTES":
        return base64.b64decode
    write = _TEXTS.get(str(type_))
    return None if write is None else lambda value: write(value).encode()


def _decimal(text: str) -> str:
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _local_time(text: str) -> str:
    """Return a time with a fraction of no, three or six digits: as many as it takes."""
    whole, _, fraction = text.partition(".")
    return whole + _fraction(fraction)


def _fraction(digits: str) -> str:
    digits = digits.rstrip("0")
    return f".{digits.ljust(3 if len(digits) <= 3 else 6, '0')}" if digits else ""


def _timestamp(text: str) -> str:
    return f"{_local_time(text.removesuffix('+00:00'))}+00"


def _interval(text: str) -> str:
    """Return an INTERVAL of a clock alone, as MySQL's TIME lands, without zeros before its numbers.

    Examples:
        >>> _interval("0-0 0 -00:00:01.50")
        '0-0 0 -0:0:1.500'
    """
    clock = text.removeprefix("0-0 0 ")
    whole, _, fraction = clock.removeprefix("-").partition(".")
    number = ":".join(str(int(part)) for part in whole.split(":")) + _fraction(fraction)
    sign = "-" if clock.startswith("-") and number != "0:0:0" else ""
    return f"0-0 0 {sign}{number}"


_TEXTS: dict[str, Callable[[Any], str]] = {
    "STRING": str,
    "INT64": str,
    "NUMERIC": _decimal,
    "BIGNUMERIC": _decimal,
    "FLOAT64": float_text,
    "DATE": str,
    "DATETIME": _local_time,
    "TIMESTAMP": _timestamp,
    "INTERVAL": _interval,
}
