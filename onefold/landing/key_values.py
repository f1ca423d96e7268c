"""Values of keys that are read from the warehouse as text, and written as a deletion has them."""

from __future__ import annotations

from typing import Any

from onefold.schema.casts import convert
from onefold.schema.types import STRING, Scalar, Type


def key_text(x: str, landed: Type, target: Type) -> str:
    """Return SQL for a value in the target's type, as text that JSON can hold.

    Args:
        x: an expression of the value.
        landed: its type.
        target: the type in which it is written.

    Examples:
        >>> key_text("v.id", Scalar("BYTES"), Scalar("BYTES"))
        'TO_BASE64(v.id)'
    """
    value = convert(x, landed, target)
    return f"TO_BASE64({value})" if target == Scalar("BYTES") else convert(value, target, STRING)


def landing_value(type_: Type, text: str | None) -> Any:
    """Return a value of `key_text` as a record has it: numbers without trailing zeros, times with a whole offset.

    Examples:
        >>> landing_value(Scalar("INT64"), "7"), landing_value(Scalar("NUMERIC"), "1.50")
        (7, '1.5')
    """
    if text is None:
        return None
    if type_ == Scalar("INT64"):
        return int(text)
    if str(type_) in ("NUMERIC", "BIGNUMERIC") and "." in text:
        return text.rstrip("0").rstrip(".")
    return f"{text.removesuffix('+00')}+00:00" if type_ == Scalar("TIMESTAMP") else text
