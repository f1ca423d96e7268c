"""Two columns in one form: values that are the same to `onefold.compare.values` are equal to Spark, and no others."""

from __future__ import annotations

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.core.names import fold_case
from onefold.schema.common_type import join
from onefold.schema.types import STRING, Array, Scalar, Struct, Type
from onefold.spark.columns import let
from onefold.spark.values.casts import convert
from onefold.spark.values.text import decimal_text
from onefold.spark.values.types import held

_FLOAT64, _BIGNUMERIC = Scalar("FLOAT64"), Scalar("BIGNUMERIC")
_NUMBERS = frozenset({_FLOAT64, _BIGNUMERIC, Scalar("NUMERIC"), Scalar("INT64"), Scalar("BOOL")})
_DIGITS = 38
"""Of a DECIMAL of Spark, in all; a BIGNUMERIC has no more after the point."""


def comparable(x: Value, own: Type, other: Type) -> Value:
    """A value of type `own` in the least common type with `other`; an array without elements is NULL."""
    if isinstance(own, Array) or isinstance(other, Array):
        return _comparable_array(x, own, other)
    if isinstance(own, Struct) and isinstance(other, Struct):
        return _comparable_struct(x, own, other)
    if own != other and _FLOAT64 in (own, other) and {own, other} <= _NUMBERS:
        return _number_text(x, own)
    return convert(x, own, join(own, other))


def _comparable_array(x: Value, own: Type, other: Type) -> Value:
    array = x if isinstance(own, Array) else F.when(x.isNotNull(), F.array(x))
    one, two = _element(own), _element(other)
    elements = F.transform(array, lambda element: comparable(element, one, two))
    return F.when(F.size(elements) > 0, elements)


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Array) else type_


def _comparable_struct(x: Value, own: Struct, other: Struct) -> Value:
    """The fields of both, in one order; one that is not there is NULL."""
    mine, others = ({fold_case(field.name): field for field in struct.fields} for struct in (own, other))
    fields = []
    for name in sorted(mine.keys() | others.keys()):
        field = mine.get(name) or others[name]
        value = x.getField(field.name) if name in mine else F.lit(None).cast(held(field.type))
        fields.append(comparable(value, field.type, others.get(name, field).type).alias(name))
    return F.when(x.isNotNull(), F.struct(*fields))


def _number_text(x: Value, type_: Type) -> Value:
    """A number written out, so that a FLOAT64 and an exact number are the same text where they are the same number."""
    if type_ != _FLOAT64:
        return convert(convert(x, type_, _BIGNUMERIC), _BIGNUMERIC, STRING)
    return let(convert(x, _FLOAT64, STRING), lambda text: _without_exponent(text, x))


def _without_exponent(text: Value, x: Value) -> Value:
    """The text of a FLOAT64 written out, where a DECIMAL of Spark has room for it: no exact number is any longer."""
    whole, fraction = (text.try_cast(t.DecimalType(_DIGITS, scale)) for scale in (0, _DIGITS))
    is_exact = fraction.cast("double") == x
    return (
        F.when(text.contains("e+"), F.coalesce(decimal_text(whole), text))
        .when(text.contains("e-") & is_exact, F.coalesce(decimal_text(fraction), text))
        .otherwise(text)
    )


def shown(x: Value, type_: Type) -> Value:
    """A value as text for people; the text that `onefold.compare.values` gives."""
    return convert(x, type_, STRING)
