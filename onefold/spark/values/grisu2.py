"""The digits with which BigQuery writes a FLOAT64 within JSON: those of the Grisu2 algorithm.

The digits give the number back. For 999 numbers of 1,000 no fewer digits do so; for the others Grisu2's 64 bits are too
coarse, so no other algorithm writes the same digits. The algorithm is by Florian Loitsch ("Printing Floating-Point Numbers
Quickly and Accurately with Integers", 2010), with the powers of ten of the C++ library `nlohmann/json`. The borders of a
number enclose every value that is read back as that number. The number and its borders are multiplied by a power of ten, so
that they have a few digits before the point; then digits are cut off at the right as long as the result stays above the
lower border.

Unsigned numbers of 64 bits do not fit into a bigint, and their products of 128 bits do not fit into a decimal: products are
computed in two halves.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.spark.columns import let

_FRACTION_BITS, _BIAS = 52, 1075
LEAST_POWER, _GREATEST_POWER, STEP = -300, 324, 8
_LEAST_EXPONENT = -60
_WORD = 2**32
_SPARE = 17
"""The greatest number of digits after the point that can be needed."""


def leading_bits(power: int) -> int:
    """Return the first 64 bits of a power of ten, rounded.

    Examples:
        >>> hex(leading_bits(0))
        '0x8000000000000000'
    """
    return round(Fraction(10) ** power / Fraction(2) ** exponent_of(power))


def exponent_of(power: int) -> int:
    """Return the power of two of the last of those bits."""
    return (power * 217706 >> 16) - 63  # 217706 / 2^16 is log2(10)


_POWERS = "".join(f"{leading_bits(power):016X}" for power in range(LEAST_POWER, _GREATEST_POWER + 1, STEP))


def digits_of(x: Value) -> Value:
    """Return `digits` and `exponent` of a positive number, as `onefold.spark.values.float_text` uses them."""
    # IEEE 754: one sign bit (here zero), 11 bits of exponent, 52 of the fraction.
    bits = F.reflect(F.lit("java.lang.Double"), F.lit("doubleToRawLongBits"), x).cast("bigint")
    return let(bits, lambda b: let(_binary(b), lambda number: let(_with_power(number), lambda p: let(_scaled(p), _digits))))


def _binary(bits: Value) -> Value:
    """Return the number as 64 bits times 2^exponent, and the distances to its borders."""
    fraction, biased = bits.bitwiseAND(2**_FRACTION_BITS - 1), F.shiftright(bits, _FRACTION_BITS)
    significand = F.bin(fraction + F.when(biased == 0, 0).otherwise(2**_FRACTION_BITS))
    shift = F.lit(64) - F.length(significand)
    upper = F.call_function("shiftleft", F.lit(1).cast("bigint"), shift - 1)
    # Below a power of two, numbers are half as far apart.
    lower = F.when((fraction == 0) & (biased > 1), F.shiftright(upper, 1)).otherwise(upper)
    return F.struct(
        _whole(F.conv(F.rpad(significand, 64, "0"), 2, 10)).alias("value"),
        upper.alias("upper"),
        lower.alias("lower"),
        (F.greatest(biased, F.lit(1)) - _BIAS - shift).cast("int").alias("exponent"),
    )


def _with_power(number: Value) -> Value:
    """Add the power of ten that leaves a binary exponent from -60 to -32, its first 64 bits as two halves."""
    missing = F.lit(_LEAST_EXPONENT - 1) - number["exponent"]
    power = (missing * 78913 / 2**18).cast("int") + F.when(missing > 0, 1).otherwise(0)  # 78913 / 2^18 is log10(2)
    index = F.floor((power - LEAST_POWER + STEP - 1) / STEP).cast("int")
    return F.struct(
        number.alias("number"),
        (index * STEP + LEAST_POWER).alias("power"),
        *(
            F.conv(F.substr(F.lit(_POWERS), index * 16 + start, F.lit(8)), 16, 10).cast("bigint").alias(half)
            for half, start in (("high", 1), ("low", 9))
        ),
    )


def _scaled(powered: Value) -> Value:
    """Return the upper border and the distances from it down to the number and to the lower border; one unit is `one`."""
    number, power = powered["number"], powered["power"]
    value = number["value"]
    exponent = number["exponent"] + F.shiftright(power * 217706, 16) - 63 + 64
    borders = F.array(value + number["upper"], value, value - number["lower"])
    # Each product may be rounded by one: that one is taken off at both borders.
    return let(
        F.transform(borders, lambda border: _product(border, powered)),
        lambda b: F.struct(
            _spread(b[0] - 1).alias("above"),
            _spread(b[0] - 1 - b[1]).alias("to_value"),
            _spread(b[0] - 2 - b[2]).alias("to_below"),
            F.call_function("shiftleft", F.lit(1).cast("bigint"), -exponent).alias("one"),
            power.alias("power"),
        ),
    )


def _product(factor: Value, powered: Value) -> Value:
    """Return the first 64 bits of a product of 128 bits, rounded."""
    low = _without_word(_whole(factor * powered["low"]) + F.lit(Decimal(2**63)))
    return _without_word(_whole(factor * powered["high"]) + low)


def _without_word(x: Value) -> Value:
    return _whole((x - x % _WORD) / _WORD)


def _whole(x: Value) -> Value:
    return x.cast("decimal(38,0)")


def _spread(x: Value) -> Value:
    return _whole(_whole(x) * _whole(F.lit(Decimal(10**_SPARE))))


def _digits(s: Value) -> Value:
    """Cut off as many digits as the borders allow, then count down to the digits nearest to the number.

    A place is the power of ten of the last digit that is left.
    """

    def unit(place: Value) -> Value:
        return _whole(_whole(F.rpad(F.lit("1"), place + _SPARE + 1, F.lit("0"))) * _whole(s["one"]))

    def fits(place: Value) -> Value:
        return s["above"] % unit(place) <= s["to_below"]

    first = F.length(F.call_function("div", s["above"], unit(F.lit(0))).cast("string")) - 1
    places = F.sequence(first, F.lit(-_SPARE), F.lit(-1))
    last = F.aggregate(places, F.lit(None).cast("int"), lambda found, place: F.coalesce(found, F.when(fits(place), place)))
    return let(last, lambda place: let(unit(place), lambda u: _counted_down(s, place, u)))


def _counted_down(s: Value, place: Value, unit: Value) -> Value:
    rest = s["above"] % unit

    def nearer(steps: Value) -> Value:
        return (s["to_value"] * 2 > rest * 2 + unit * (2 * steps + 1)) & (s["to_below"] - rest >= unit * (steps + 1))

    steps = F.size(F.filter(F.sequence(F.lit(0), F.lit(9)), nearer))
    digits = (F.call_function("div", s["above"], unit) - steps).cast("string")
    exponent = F.length(digits) - 1 + place - s["power"]
    return F.struct(digits.alias("digits"), exponent.alias("exponent"))
