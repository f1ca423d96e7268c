"""Values that are converted twice: where two conversions give what one conversion gives."""

from __future__ import annotations

from onefold.schema.casts import UTC
from onefold.schema.common_type import is_at_or_below
from onefold.schema.types import Array, Struct, Type

_NUMBERS = ("BOOL", "INT64", "NUMERIC", "BIGNUMERIC")
_TIMES = ("DATE", "DATETIME", "TIMESTAMP")
# (landed, stored, new). A number has the same text in every numeric type, so STRING may follow any of them. BOOL is left out
# before STRING: as text it is `true`, and `1` once it was stored as a number.
_CHAINS = frozenset(
    [(a, b, c) for names in (_NUMBERS, _TIMES) for a in names for b in names for c in names]
    + [(a, b, "STRING") for a in _NUMBERS[1:] for b in _NUMBERS[1:]]
)


def keeps_values(landed: Type, old: Type, new: Type, zone: str = UTC) -> bool:
    """Return whether a stored value can be converted again without a difference.

    A value landed as `landed` and is stored as `old`. The answer is True where converting the stored value to `new` always
    gives what converting the landed value to `new` in one step gives.

    Args:
        landed: the type in which values landed.
        old: the type in which they are stored.
        new: the type that they are to have.
        zone: the time zone in which a DATETIME is read where a TIMESTAMP is needed.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> keeps_values(parse_type("INT64"), parse_type("NUMERIC"), parse_type("STRING"))
        True
        >>> keeps_values(parse_type("DATE"), parse_type("TIMESTAMP"), parse_type("STRING"))
        False
    """
    if landed == old or old == new:
        return True
    if not (is_at_or_below(landed, old) and is_at_or_below(old, new)):
        return False
    if isinstance(landed, Array) and isinstance(old, Array) and isinstance(new, Array):
        return keeps_values(landed.element, old.element, new.element, zone)
    if isinstance(landed, Struct) and isinstance(old, Struct) and isinstance(new, Struct):
        return _keeps_fields(landed, old, new, zone)
    return (str(landed), str(old), str(new)) in _CHAINS and (zone == UTC or str(new) not in _TIMES)


def _keeps_fields(landed: Struct, old: Struct, new: Struct, zone: str) -> bool:
    return all(_keeps_field(landed, old, field.name, field.type, zone) for field in new.fields)


def _keeps_field(landed: Struct, old: Struct, name: str, new: Type, zone: str) -> bool:
    first, stored = landed.get(name), old.get(name)
    if first and stored:
        return keeps_values(first.type, stored.type, new, zone)
    # In one step, a field that did not land becomes NULL of the new type. The stored value is sure to be the same NULL only
    # where its type stays.
    return stored is None or stored.type == new
