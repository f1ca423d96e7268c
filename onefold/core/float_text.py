"""FLOAT64 as the text that BigQuery writes."""

from __future__ import annotations

_SHORT, _LONG = 15, 17


def float_text(x: float) -> str:
    """Write a FLOAT64 as CAST(x AS STRING) does: with the 15 digits nearest to it, or 17 where 15 do not give it back.

    Examples:
        >>> [float_text(x) for x in (0.1, 0.1 + 0.7, -0.0, 1e20, 5e-324)]
        ['0.1', '0.79999999999999993', '0', '1e+20', '4.94065645841247e-324']
    """
    if x == 0:
        return "0"
    short = f"{x:.{_SHORT}g}"
    return short if x != x or float(short) == x else f"{x:.{_LONG}g}"  # only NaN differs from itself
