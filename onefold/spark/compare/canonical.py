"""A canonical form for values of two columns: Spark finds two values equal exactly if `onefold.compare.values` does."""

from __future__ import annotations

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.core.names import fold_case
from onefold.schema.common_type import join
from onefold.schema.types import STRING, Array, Scalar, Struct, Type
from onefold.spark.values.casts import convert, convert_rest
from onefold.spark.values.python_text import with_texts
from onefold.spark.values.text import decimal_text
from onefold.spark.values.types import spark_type

_FLOAT64, _BIGNUMERIC = Scalar("FLOAT64"), Scalar("BIGNUMERIC")
_NUMBERS = frozenset({_FLOAT64, _BIGNUMERIC, Scalar("NUMERIC"), Scalar("INT64"), Scalar("BOOL")})
_DIGITS = 38
"""The most digits of Spark's DECIMAL; a BIGNUMERIC has as many after the point."""


def comparable(x: Value, own: Type, other: Type) -> Value:
    """Return a value of type `own` in the least common type with `other`; an array without elements becomes NULL.

    Args:
        x: a value in the Spark form of `own`.
        own: the type of the value.
        other: the type of the other side's value.
    """
    return _comparable(with_texts(x, own, join(own, other)), own, other)


def _comparable(x: Value, own: Type, other: Type) -> Value:
    if isinstance(own, Array) or isinstance(other, Array):
        return _comparable_array(x, own, other)
    if isinstance(own, Struct) and isinstance(other, Struct):
        return _comparable_struct(x, own, other)
    if own != other and _FLOAT64 in (own, other) and {own, other} <= _NUMBERS:
        return _number_text(x, own)
    return convert_rest(x, own, join(own, other))


def _comparable_array(x: Value, own: Type, other: Type) -> Value:
    array = x if isinstance(own, Array) else F.when(x.isNotNull(), F.array(x))
    own_element, other_element = _element(own), _element(other)
    elements = F.transform(array, lambda element: _comparable(element, own_element, other_element))
    return F.when(F.size(elements) > 0, elements)


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Array) else type_


def _comparable_struct(x: Value, own: Struct, other: Struct) -> Value:
    """Return a struct with the fields of both types in one order; a field that a type lacks is NULL."""
    fields = {fold_case(field.name): field for field in (*other.fields, *own.fields)}
    values = []
    for name, field in sorted(fields.items(), key=lambda item: item[0]):
        value = x.getField(field.name) if own.get(name) else F.lit(None).cast(spark_type(field.type))
        same = other.get(name)
        values.append(_comparable(value, field.type, same.type if same else field.type).alias(name))
    return F.when(x.isNotNull(), F.struct(*values))


def _number_text(x: Value, type_: Type) -> Value:
    """Write a number without an exponent, so that a FLOAT64 and an exact number have the same text if they are equal."""
    if type_ != _FLOAT64:
        return convert(convert(x, type_, _BIGNUMERIC), _BIGNUMERIC, STRING)
    return _without_exponent(x)  # Python has written its text


def _without_exponent(text: Value) -> Value:
    """Write the text of a FLOAT64 without an exponent if Spark's DECIMAL has enough digits: no exact number has more."""
    whole, fraction = (text.try_cast(t.DecimalType(_DIGITS, scale)) for scale in (0, _DIGITS))
    is_exact = fraction.cast("double") == text.cast("double")
    return (
        F.when(text.contains("e+"), F.coalesce(decimal_text(whole), text))
        .when(text.contains("e-") & is_exact, F.coalesce(decimal_text(fraction), text))
        .otherwise(text)
    )


def shown(x: Value, type_: Type) -> Value:
    """Return a value as text for people, the same text as `onefold.compare.values` gives."""
    return convert(x, type_, STRING)
