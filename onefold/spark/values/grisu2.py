"""The digits with which BigQuery writes a FLOAT64 within JSON: those of the Grisu2 algorithm.

The digits give the number back. For 999 numbers of 1,000 no fewer digits do so; for the others Grisu2's 64 bits are too
coarse, so no other algorithm writes the same digits. The algorithm is by Florian Loitsch ("Printing Floating-Point Numbers
Quickly and Accurately with Integers", 2010), with the powers of ten of the C++ library `nlohmann/json`. The borders of a
number enclose every value that is read back as that number. The number and its borders are multiplied by a power of ten, so
that they have a few digits before the point; then digits are cut off at the right as long as the result stays above the
lower border.
"""

from __future__ import annotations

import functools
import struct
from bisect import bisect_left
from fractions import Fraction

_FRACTION_BITS, _BIAS = 52, 1075
_LEAST_POWER, _STEP = -300, 8
_LEAST_EXPONENT = -61
_SPARE = 17
"""The greatest number of digits after the point that can be needed."""
_POWERS = tuple(10**exponent for exponent in range(64))


def grisu_digits(x: float) -> tuple[str, int]:
    """Return the digits of a positive number and the power of ten of the first digit.

    Examples:
        >>> grisu_digits(0.1), grisu_digits(1e23)
        (('1', -1), ('9999999999999999', 22))
    """
    # IEEE 754: one sign bit (here zero), 11 bits of exponent, 52 of the fraction. A biased exponent of zero is a subnormal
    # number, which has no implied leading one.
    (bits,) = struct.unpack(">q", struct.pack(">d", x))
    fraction, biased = bits & (2**_FRACTION_BITS - 1), bits >> _FRACTION_BITS
    significand = fraction | (2**_FRACTION_BITS if biased else 0)
    shift = 64 - significand.bit_length()
    value, upper = significand << shift, 1 << (shift - 1)
    # Below a power of two, numbers are half as far apart.
    lower = upper >> 1 if fraction == 0 and biased > 1 else upper
    exponent = max(biased, 1) - _BIAS - shift
    bits_of_power, power = _power(exponent)
    above, middle, below = ((border * bits_of_power + 2**63) >> 64 for border in (value + upper, value, value - lower))
    one = 1 << -(exponent + _exponent_of(power) + 64)
    # Each product may be rounded by one: that one is taken off at both borders.
    spread = _POWERS[_SPARE]
    return _counted((above - 1) * spread, (above - 1 - middle) * spread, (above - 2 - below) * spread, one, power)


def _power(exponent: int) -> tuple[int, int]:
    """Return the first 64 bits, and the exponent, of the power of ten that leaves a binary exponent from -60 to -32."""
    missing = _LEAST_EXPONENT - exponent
    power = int(missing * 78913 / 2**18) + (1 if missing > 0 else 0)  # 78913 / 2^18 is log10(2)
    power = (power - _LEAST_POWER + _STEP - 1) // _STEP * _STEP + _LEAST_POWER
    return leading_bits(power), power


@functools.cache
def leading_bits(power: int) -> int:
    """Return the first 64 bits of a power of ten, rounded.

    Examples:
        >>> hex(leading_bits(0))
        '0x8000000000000000'
    """
    return round(Fraction(10) ** power / Fraction(2) ** _exponent_of(power))


def _exponent_of(power: int) -> int:
    """Return the power of two of the last of those bits."""
    return (power * 217706 >> 16) - 63  # 217706 / 2^16 is log2(10)


def _counted(above: int, to_value: int, to_below: int, one: int, power: int) -> tuple[str, int]:
    """Cut off as many digits as the borders allow, then count down to the digits nearest to the number.

    Args:
        above: the upper border, times 10^17 as all borders and distances here.
        to_value: the distance from the upper border to the number.
        to_below: the distance from the upper border to the lower border.
        one: the unit of the borders, before the factor 10^17.
        power: the power of ten by which the number was multiplied.

    Returns:
        The digits, and the power of ten of the first digit.
    """
    first = len(str(above // (one * _POWERS[_SPARE]))) - 1
    # The fewer digits are cut off, the smaller is the remainder: so bisection finds the first place that fits.
    places = range(first, -_SPARE - 1, -1)
    last = places[bisect_left(places, True, key=lambda place: above % (one * _POWERS[place + _SPARE]) <= to_below)]
    unit = one * _POWERS[last + _SPARE]
    count, rest = divmod(above, unit)
    while to_value * 2 > rest * 2 + unit and to_below - rest >= unit:
        count, rest = count - 1, rest + unit
    digits = str(count)
    return digits, len(digits) - 1 + last - power
