"""Values of text inputs (JSON lines, CSV): text is parsed as a value of the other side's type.

The parsed value becomes text again, as BigQuery writes it, so that it equals the text of the other side's value. Text that
cannot be parsed gets a mark, and so equals nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, time
from decimal import Decimal
from typing import Any

from pyspark.sql import Column as Value
from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812

from onefold.compare.values import plain, read_as, text_of
from onefold.core.names import fold_case
from onefold.schema.types import STRING, Array, Field, Scalar, Struct, Type
from onefold.spark.values.types import spark_type

_UNREADABLE = "\0"
"""The mark of text that cannot be parsed: no text that BigQuery writes begins with it."""

_MIDNIGHT = time()
_DECIMAL_AND_FLOAT = (Scalar("BIGNUMERIC"), Scalar("FLOAT64"))
"""A number of JSON, which may have the fewest digits that read back, and a FLOAT64 beside it."""
_KINDS = {
    "BOOL": "number", "INT64": "number", "NUMERIC": "number", "BIGNUMERIC": "number", "FLOAT64": "number",
    "DATE": "time", "DATETIME": "time", "TIMESTAMP": "time", "TIME": "time of day", "BYTES": "bytes",
}  # fmt: skip


def parse(x: Value, own: Type, other: Type) -> tuple[Value, Type]:
    """Return a text input's value as it is compared with a value of type `other`, and its type then.

    Args:
        x: a value of the text input.
        own: its type as it was read.
        other: the type of the other side's value.
    """
    target = type_parsed(own, other)
    if not _needs_parsing(own, other):
        return x, own
    # One function of Python over the whole value: Spark runs no function of Python within an array.
    return F.udf(lambda value: _parse(value, own, other), spark_type(target))(x), target


def _needs_parsing(own: Type, other: Type) -> bool:
    match own, other:
        case Array(own_element), Array(other_element):
            return _needs_parsing(own_element, other_element)
        case Struct(), Struct():
            return any(_needs_parsing(*pair) for pair in _field_types(own, other))
    return (own == STRING and other != STRING) or (own, other) == _DECIMAL_AND_FLOAT


def type_parsed(own: Type, other: Type) -> Type:
    """Return the type of a parsed value: text with JSON becomes the other side's array or struct, whose leaves are text."""
    match own, other:
        case Array(own_element), Array(other_element):
            return Array(type_parsed(own_element, other_element))  # type: ignore[arg-type]  # no array of arrays goes in
        case Struct(fields), Struct():
            types = (type_parsed(*pair) for pair in _field_types(own, other))
            return Struct(tuple(Field(field.name, type_) for field, type_ in zip(fields, types, strict=True)))
        case Scalar("STRING"), Array() | Struct():
            return _as_text(other)
    return own


def _as_text(type_: Type) -> Type:
    match type_:
        case Array(element):
            return Array(_as_text(element))  # type: ignore[arg-type]
        case Struct(fields):
            return Struct(tuple(Field(field.name, _as_text(field.type)) for field in fields))
    return STRING


def _field_types(own: Struct, other: Struct) -> list[tuple[Type, Type]]:
    """Return the type of each field of `own`, and the type of the other's field of that name, or the same one."""
    pairs = ((field, other.get(field.name)) for field in own.fields)
    return [(field.type, same.type if same else field.type) for field, same in pairs]


def _parse(value: Any, own: Type, other: Type) -> Any:
    match own, other:
        case _ if value is None:
            return None
        case Array(own_element), Array(other_element):
            return [_parse(element, own_element, other_element) for element in value]
        case Struct(), Struct():
            types = _field_types(own, other)
            return Row(*(_parse(inner, *pair) for inner, pair in zip(value, types, strict=True)))
        case Scalar("STRING"), _ if other != STRING:
            return _parse_text(value, other)
        case _ if (own, other) == _DECIMAL_AND_FLOAT:
            return _float_digits(value)
    return value


def _float_digits(text: str) -> str:
    """Return a decimal with the digits that BigQuery writes for it as a FLOAT64; a whole number is exact."""
    number = Decimal(text)
    if number == number.to_integral_value():
        return text
    return f"{Decimal(text_of(float(number)) or 0):f}"


def _parse_text(text: str, type_: Type) -> Any:
    try:
        if isinstance(type_, Array | Struct):
            return _shaped(read_as(text, "array" if isinstance(type_, Array) else "struct"), type_)
        return _canonical(text, type_)
    except (ValueError, OverflowError):
        return _marked(type_, text)


def _shaped(value: Any, type_: Type) -> Any:
    """Return a value of JSON in the shape of a type.

    Raises:
        ValueError: the value has another shape.
    """
    match type_, value:
        case _, None:
            return None
        case Array(element), list():
            return [_shaped(one, element) for one in value]
        case Struct(fields), Mapping():
            inner = {fold_case(name): field for name, field in value.items()}
            if any(inner.pop(name) is not None for name in inner.keys() - {fold_case(f.name) for f in fields}):
                raise ValueError("a field that the other side does not have")
            return Row(*(_shaped(inner.get(fold_case(field.name)), field.type) for field in fields))
        case (Array() | Struct(), _) | (_, Mapping() | list()):
            raise ValueError("another shape")
    return _canonical(text_of(value) or "", type_)


def _canonical(text: str, type_: Type) -> str | None:
    """Return the text that BigQuery makes of the value that `text` represents."""
    kind = _KINDS.get(str(type_))
    return text_of(_fitting(plain(read_as(text, kind)), str(type_))) if kind else text


def _fitting(value: Any, name: str) -> Any:
    """Return the value as one of a type.

    Raises:
        ValueError: the type has no such value.
    """
    match name:
        case "BOOL" if value in (0, 1):
            return bool(value)
        case "FLOAT64" if value != "NaN":
            return float(value)  # an export may have the fewest digits that read back, and BigQuery writes more
        case "DATE" if value.astimezone(UTC).time() == _MIDNIGHT:
            return value.astimezone(UTC).date()
        case "DATETIME":
            return value.astimezone(UTC).replace(tzinfo=None)
        case "BOOL" | "DATE":
            raise ValueError(value)
    return float(value) if value == "NaN" else value


def _marked(type_: Type, text: str) -> Any:
    match type_:
        case Array(element):
            return [_marked(element, text)]
        case Struct(fields):
            return Row(*(_marked(field.type, text) for field in fields))
    return _UNREADABLE + text
