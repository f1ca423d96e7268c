"""Values that are converted twice: where that gives what one conversion gives."""

from __future__ import annotations

from onefold.core.names import fold_case
from onefold.schema.casts import UTC
from onefold.schema.common_type import is_at_or_below
from onefold.schema.types import Array, Struct, Type

_NUMBERS = ("BOOL", "INT64", "NUMERIC", "BIGNUMERIC")
_TIMES = ("DATE", "DATETIME", "TIMESTAMP")
# From text on a number is written as it is, whole or not; but a BOOL is `true`, and no longer is once it was a number.
_CHAINS = frozenset(
    [(a, b, c) for names in (_NUMBERS, _TIMES) for a in names for b in names for c in names]
    + [(a, b, "STRING") for a in _NUMBERS[1:] for b in _NUMBERS[1:]]
)


def keeps_values(landed: Type, old: Type, new: Type, zone: str = UTC) -> bool:
    """Whether converting a value to `old` and from there to `new` always gives what converting it to `new` gives."""
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
    was, between = _fields(landed), _fields(old)
    return all(
        keeps_values(was[name], between[name], type_, zone) if name in was else between.get(name, type_) == type_
        for name, type_ in _fields(new).items()
    )


def _fields(struct: Struct) -> dict[str, Type]:
    return {fold_case(field.name): field.type for field in struct.fields}
