"""BIGNUMERIC as DuckDB stores it: text that sorts as the numbers do, in a struct of one field.

DuckDB's decimals have 38 digits, BIGNUMERIC has 77. The text is the value times 10^38, an integer, plus an offset that makes
it positive, with leading zeros. Equality, order, GROUP BY, MIN, MAX and joins of such texts are those of the numbers. The
struct prevents all other uses: arithmetic, or a comparison with another type, is an error instead of a wrong value.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

FIELD = "__bignumeric"
STORED = f'STRUCT("{FIELD}" VARCHAR)'
"""The type in DuckDB, as `CREATE TABLE` takes it."""

SCALE = 38
# BigQuery stores 256 bits: "Data types", section "Decimal types", https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types
_LEAST, _GREATEST = -(2**255), 2**255 - 1
_OFFSET = 10**77
_LENGTH = 78
# More than the 77 digits and the largest exponent that a FLOAT64 can add to them.
_EXACT = Context(prec=1200, rounding=ROUND_HALF_UP)


def encode(text: str) -> str:
    """Return the stored text of a number. Digits after the 38th are rounded half away from zero.

    Raises:
        ValueError: the text is not a number, or is out of range.

    Examples:
        >>> decode(encode("-1.50"))
        '-1.5'
    """
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number.adjusted() > SCALE + 1:
        raise ValueError(f"expected a BIGNUMERIC, got {text!r}")
    scaled = int(number.scaleb(SCALE, _EXACT).to_integral_value(context=_EXACT))
    if not _LEAST <= scaled <= _GREATEST:
        raise ValueError(f"expected a BIGNUMERIC, got {text!r}, which is out of its range")
    return f"{scaled + _OFFSET:0{_LENGTH}d}"


def decode(stored: str) -> str:
    """Return the text of a number as BigQuery writes it: without exponent and trailing zeros."""
    scaled = int(stored) - _OFFSET
    whole, fraction = divmod(abs(scaled), 10**SCALE)
    digits = f"{fraction:0{SCALE}d}".rstrip("0")
    return f"{'-' if scaled < 0 else ''}{whole}{'.' if digits else ''}{digits}"
