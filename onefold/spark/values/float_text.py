"""FLOAT64 as text, exactly as BigQuery writes it; Java writes other digits.

As a STRING a number has the 15 digits nearest to it, or 17 if reading back 15 digits gives another number. Within JSON it
has the digits that `onefold.spark.values.grisu2` finds.

Functions here pass digits as a struct: `digits` is text without zeros at either end, `exponent` the power of ten of the
first digit.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.spark.columns import let
from onefold.spark.values.grisu2 import digits_of

_SHORT, _LONG = 15, 17
_LEAST_FIXED = -4
_TWO_DIGITS = 10
_INFINITY = float("inf")
_JAVA_WRITES_PLAIN = (0.001, 9999999.0)


def text(x: Value) -> Value:
    """Write a FLOAT64 as CAST(x AS STRING) does."""
    return _named(x, ("nan", "inf", "-inf", "0"), lambda size: let(size.cast("string"), lambda java: _text(size, java)))


def json(x: Value) -> Value:
    """Write a FLOAT64 as it is within TO_JSON_STRING."""
    names = ('"NaN"', '"Infinity"', '"-Infinity"', "0.0")
    return _named(x, names, lambda size: let(digits_of(size), json_number))


def json_number(parts: Value) -> Value:
    """Write digits as a JSON number, with a point or an exponent in any case."""
    return let(
        _general(parts, F.lit(_SHORT)), lambda written: F.concat(written, F.when(written.rlike("[.e]"), "").otherwise(".0"))
    )


def fixed(parts: Value) -> Value:
    """Write digits without an exponent, with as many zeros as that takes."""
    digits, exponent = parts["digits"], parts["exponent"]
    whole = exponent + 1
    return (
        F.when(whole <= 0, F.concat(F.lit("0."), F.repeat(F.lit("0"), -whole), digits))
        .when(whole >= F.length(digits), F.rpad(digits, whole, F.lit("0")))
        .otherwise(F.concat(F.substr(digits, F.lit(1), whole), F.lit("."), F.substr(digits, whole + 1)))
    )


def _named(x: Value, names: tuple[str, str, str, str], write: Callable[[Value], Value]) -> Value:
    """Write zero, NaN and the infinities by their names, any other number by `write`, which gets the absolute value."""
    nan, infinity, minus_infinity, zero = names
    return (
        F.when(x.isNull(), F.lit(None))
        .when(F.isnan(x), nan)
        .when(x == _INFINITY, infinity)
        .when(x == -_INFINITY, minus_infinity)
        .when(x == 0, zero)
        .otherwise(F.concat(F.when(x < 0, "-").otherwise(""), write(F.abs(x))))
    )


def _text(size: Value, java: Value) -> Value:
    # The fast path, which fits most numbers: Java's digits give the number back, so if they are at most 15 they are the
    # nearest 15 (any 15 digits survive the conversion to a normal number and back).
    plain = size.between(*_JAVA_WRITES_PLAIN) & (F.length(java) <= len(".") + _SHORT)
    return F.when(plain, F.regexp_replace(java, r"\.?0+$", "")).otherwise(
        let(_parse(_exact(size)), lambda exact: _nearest(size, exact))
    )


def _nearest(size: Value, exact: Value) -> Value:
    counts = F.array(F.lit(_SHORT), F.lit(_LONG))
    texts = F.transform(counts, lambda count: let(_rounded(exact, count), lambda parts: _general(parts, count)))
    return F.filter(texts, lambda written: written.cast("double") == size)[0]


def _exact(x: Value) -> Value:
    """Return every decimal digit of a binary number, by a class of Scala's library, which is there wherever Spark runs."""
    return F.reflect(F.lit("scala.math.BigDecimal"), F.lit("exact"), x)


def _parse(number: Value) -> Value:
    """Return the digits of a positive number from its text, which may have an exponent."""
    mantissa, power = F.split_part(number, F.lit("E"), F.lit(1)), F.split_part(number, F.lit("E"), F.lit(2))
    return let(
        F.struct(F.translate(mantissa, ".", "").alias("all"), F.split_part(mantissa, F.lit("."), F.lit(1)).alias("whole")),
        lambda m: _parts(
            F.trim(m["all"], F.lit("0")),
            F.length(m["whole"]) - 1 - F.length(m["all"]) + F.length(F.ltrim(m["all"], F.lit("0"))) + _integer(power),
        ),
    )


def _integer(text_: Value) -> Value:
    return F.when(text_ == "", 0).otherwise(text_.cast("int"))


def _parts(digits: Value, exponent: Value) -> Value:
    return F.struct(digits.alias("digits"), exponent.alias("exponent"))


def _rounded(exact: Value, count: Value) -> Value:
    """Round digits to `count` of them, a half to the even neighbour, as the C library does."""
    digits, exponent = exact["digits"], exact["exponent"]
    rest = F.substr(digits, count + 1)
    odd = F.substr(digits, count, F.lit(1)).isin("1", "3", "5", "7", "9")
    up = (rest > "5") | ((rest == "5") & odd)
    rounded = F.substr(digits, F.lit(1), count).cast("bigint") + F.when(up, 1).otherwise(0)
    return F.when(rest == "", exact).otherwise(
        let(rounded.cast("string"), lambda r: _parts(F.rtrim(r, F.lit("0")), exponent + F.length(r) - count))
    )


def _general(parts: Value, limit: Value) -> Value:
    """Write digits as C's `%g`: without an exponent if that takes at most `limit` digits before the point."""
    digits, exponent = parts["digits"], parts["exponent"]
    point = F.when(F.length(digits) > 1, ".").otherwise("")
    size = F.abs(exponent).cast("string")
    sign = F.concat(F.when(exponent < 0, "e-").otherwise("e+"), F.when(F.abs(exponent) < _TWO_DIGITS, "0").otherwise(""))
    scientific = F.concat(F.substring(digits, 1, 1), point, F.substr(digits, F.lit(2)), sign, size)
    return F.when(exponent.between(_LEAST_FIXED, limit - 1), fixed(parts)).otherwise(scientific)
