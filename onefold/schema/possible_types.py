"""The types to which a conversion can bring at least one value; to any other type, every value would become NULL."""

from __future__ import annotations

from onefold.schema.types import SCALARS, Range, Scalar, Type
from onefold.schema.unix_time import UnixTime

# Text, and what is read as text, may be the text of any type. Every value has a text, and can be written as JSON.
_FROM_ANY = frozenset({"STRING", "BYTES", "JSON"})
_NUMBERS = frozenset({"BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64"})
_DATES = frozenset({"DATE", "DATETIME", "TIMESTAMP"})
_TARGETS = {
    **dict.fromkeys(_FROM_ANY, frozenset(SCALARS)),
    **dict.fromkeys(_NUMBERS, _NUMBERS),
    "DATE": _DATES, "DATETIME": _DATES | {"TIME"}, "TIMESTAMP": _DATES | {"TIME"}, "TIME": frozenset({"TIME", "INTERVAL"}),
    "INTERVAL": frozenset({"INTERVAL"}), "GEOGRAPHY": frozenset({"GEOGRAPHY"}),
}  # fmt: skip


def possible_targets(source: Scalar | Range) -> tuple[str, ...]:
    """Return the scalar types to which at least one value of a type can be converted.

    Examples:
        >>> possible_targets(Scalar("TIME"))
        ('STRING', 'BYTES', 'TIME', 'INTERVAL', 'JSON')
    """
    if isinstance(source, UnixTime):
        found = _DATES | {"TIME"}
    else:
        found = _FROM_ANY | (_TARGETS[source.name] if isinstance(source, Scalar) else frozenset())
    return tuple(name for name in SCALARS if name in found)


def impossible_conversion(source: Scalar | Range, target: Type) -> str | None:
    """Return why every value would become NULL; None where a value can be converted.

    Examples:
        >>> impossible_conversion(Scalar("DATE"), Scalar("INT64"))
        'no DATE can be converted to INT64: possible are STRING, BYTES, DATE, DATETIME, TIMESTAMP, JSON'
        >>> impossible_conversion(Scalar("DATE"), Scalar("TIMESTAMP")) is None
        True
    """
    possible = possible_targets(source)
    if isinstance(target, Range):
        if isinstance(source, Range) or str(source) in _FROM_ANY:
            return None
    elif str(target) in possible:
        return None
    epoch = str(source) in _NUMBERS - {"BOOL"} and str(target) in (*_DATES, "TIME")
    hint = f"; for numbers that count from 1970 write {{type: {target}, from: unix_seconds | unix_millis | unix_micros}}"
    return f"no {source} can be converted to {target}: possible are {', '.join(possible)}{hint if epoch else ''}"
