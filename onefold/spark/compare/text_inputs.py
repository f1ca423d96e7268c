"""Sides that come as text (JSON lines, CSV): text that meets another type is read as the text of such a value.

What was read becomes text again, as BigQuery writes it, so that it equals the other side's value as text. What cannot be
read is marked, and so equals nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, time
from typing import Any

from pyspark.sql import Column as Value
from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812

from onefold.compare.values import equal, plain, read_as, text_of
from onefold.core.names import fold_case
from onefold.schema.types import STRING, Array, Field, Scalar, Struct, Type
from onefold.spark.values.types import held

_UNREADABLE = "\0"
"""No value's text begins with it."""

_MIDNIGHT = time()
_KINDS = {
    "BOOL": "number", "INT64": "number", "NUMERIC": "number", "BIGNUMERIC": "number", "FLOAT64": "number",
    "DATE": "time", "DATETIME": "time", "TIMESTAMP": "time", "TIME": "time of day", "BYTES": "bytes",
}  # fmt: skip


def read(x: Value, own: Type, other: Type) -> tuple[Value, Type]:
    """A value of a side that comes as text, and its type, as it is compared with a value of type `other`."""
    target = type_read(own, other)
    if not _has_to_be_read(own, other):
        return x, own
    # A function of Python, and over the whole value: Spark has none within an array.
    return F.udf(lambda value: _read(value, own, other), held(target))(x), target


def _has_to_be_read(own: Type, other: Type) -> bool:
    match own, other:
        case Array(one), Array(two):
            return _has_to_be_read(one, two)
        case Struct(), Struct():
            return any(_has_to_be_read(one, two) for one, two in _pairs(own, other))
    return own == STRING and other != STRING


def type_read(own: Type, other: Type) -> Type:
    """Where JSON stands in text for a struct or an array: the other side's type, with text for all that has no parts."""
    match own, other:
        case Array(one), Array(two):
            return Array(type_read(one, two))  # type: ignore[arg-type]  # no array goes in, so none comes out
        case Struct(fields), Struct():
            types = (type_read(one, two) for one, two in _pairs(own, other))
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


def _pairs(own: Struct, other: Struct) -> list[tuple[Type, Type]]:
    """The type of each field of `own`, and of the other's field of that name: the same one where there is none."""
    others = {fold_case(field.name): field.type for field in other.fields}
    return [(field.type, others.get(fold_case(field.name), field.type)) for field in own.fields]


def _read(value: Any, own: Type, other: Type) -> Any:
    match own, other:
        case _ if value is None:
            return None
        case Array(one), Array(two):
            return [_read(element, one, two) for element in value]
        case Struct(), Struct():
            return Row(*(_read(inner, one, two) for inner, (one, two) in zip(value, _pairs(own, other), strict=True)))
        case Scalar("STRING"), _ if other != STRING:
            return _read_text(value, other)
    return value


def _read_text(text: str, type_: Type) -> Any:
    try:
        if isinstance(type_, Array | Struct):
            return _shaped(read_as(text, "array" if isinstance(type_, Array) else "struct"), type_)
        return _canonical(text, type_)
    except (ValueError, OverflowError):
        return _marked(type_, text)


def _shaped(value: Any, type_: Type) -> Any:
    """A value of JSON in the shape of a type. Raises ValueError where it has another one."""
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
    """The text that BigQuery makes of the value that `text` stands for."""
    kind = _KINDS.get(str(type_))
    return text_of(_fitting(plain(read_as(text, kind)), str(type_))) if kind else text


def _fitting(value: Any, name: str) -> Any:
    """The value as one of the type. Raises ValueError where it is none of that type's values."""
    match name:
        case "BOOL" if value in (0, 1):
            return bool(value)
        case "FLOAT64" if value != "NaN" and equal(float(value), value):
            return float(value)
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
