"""The SQL expression that gives a value of the unified type back in a narrower type, or NULL where it does not fit.

A contract keeps the type of a column while the unified type widens. A value fits where the narrower type has the same value:
nothing is rounded, and nothing is cut off. Text fits where it can be read as a value of the narrower type.
"""

from __future__ import annotations

from onefold.core.names import quote
from onefold.schema.casts import UTC, conversion_problems, convert, free_name, losses, typed_null
from onefold.schema.types import STRING, Array, Scalar, Struct, Type, element_of

_NUMERIC, _BIGNUMERIC = Scalar("NUMERIC"), Scalar("BIGNUMERIC")


def fit(x: str, source: Type, target: Type, zone: str = UTC, depth: int = 1) -> str:
    """Return an expression of type `target` for the expression `x` of any type: the same value, or NULL.

    Args:
        x: an expression of SQL, which the result may repeat.
        source: the type of the expression: the unified type, or the one in which the value landed.
        target: the type that the column keeps.
        zone: the time zone in which a DATETIME is read where a TIMESTAMP is needed.
        depth: the number of arrays around the expression, counted from 1.

    Examples:
        >>> fit("o.n", STRING, Scalar("INT64"))
        'SAFE_CAST(o.n AS INT64)'
        >>> fit("o.n", Scalar("NUMERIC"), Scalar("INT64"))
        'IF(CAST(SAFE_CAST(o.n AS INT64) AS NUMERIC) = o.n, SAFE_CAST(o.n AS INT64), NULL)'
        >>> from onefold.schema.types import Field
        >>> fit("v.n", STRING, Struct((Field("a", STRING),))), fit("v.n", Scalar("BOOL"), Scalar("INT64"))
        ('CAST(NULL AS STRUCT<`a` STRING>)', 'CAST(v.n AS INT64)')
    """
    if source == target:
        return convert(x, source, target, zone, depth, pinned=True)
    if isinstance(source, Array):
        return _of_array(x, source, target, zone, depth)
    if isinstance(target, Array):  # one value is a list of one
        return _of_array(convert(x, source, Array(source), zone, depth), Array(source), target, zone, depth)
    if isinstance(source, Struct) and isinstance(target, Struct):
        return _of_struct(x, source, target, zone, depth)
    if conversion_problems(source, target):
        return typed_null(target)
    value = convert(x, source, target, zone, depth, pinned=True)
    if isinstance(source, Struct) or not losses(source, target, zone):
        return value
    if source != STRING:
        return f"IF({convert(value, target, source, zone, depth)} = {x}, {value}, NULL)"
    if target == _NUMERIC:  # a cast rounds to nine places
        return f"IF(CAST({value} AS BIGNUMERIC) = {convert(x, STRING, _BIGNUMERIC)}, {value}, NULL)"
    return value


def gives_back(source: Type, target: Type, zone: str = UTC) -> bool:
    """Return whether the values of a type are the same after they were converted to a wider one and back.

    Args:
        source: the wider type.
        target: the type.
        zone: the time zone in which a DATETIME is read where a TIMESTAMP is needed.

    Examples:
        >>> gives_back(STRING, Scalar("DATE")), gives_back(STRING, Scalar("BYTES"))
        (True, False)
    """
    if source == target:
        return True
    if isinstance(source, Array):
        return gives_back(source.element, target.element if isinstance(target, Array) else target, zone)
    if isinstance(target, Struct) and isinstance(source, Struct):
        pairs = ((source.get(field.name), field.type) for field in target.fields)  # a field that is gone has no values
        return all(not old or gives_back(old.type, type_, zone) for old, type_ in pairs)
    if isinstance(target, Struct | Array):
        return False
    return not losses(target, source, zone) and not conversion_problems(source, target)


def same_through(landed: Type, full: Type, kept: Type) -> bool:
    """Return whether a landed value shows the same in a kept type where it is converted to the unified type before.

    It does where it landed in one of the two types. A third one may have another text: BOOL as text is no number.

    Args:
        landed: the type in which the value landed.
        full: the unified type, which gives the kept type back (`gives_back`).
        kept: the type that the column keeps.

    Examples:
        >>> same_through(Scalar("INT64"), STRING, Scalar("INT64")), same_through(Scalar("BOOL"), STRING, Scalar("INT64"))
        (True, False)
    """
    if isinstance(full, Array):
        return same_through(element_of(landed), full.element, element_of(kept))
    if landed in (full, kept):
        return True
    if not (isinstance(landed, Struct) and isinstance(full, Struct) and isinstance(kept, Struct)):
        return False
    triples = ((landed.get(field.name), full.get(field.name), field.type) for field in kept.fields)
    return all(not one or (wide is not None and same_through(one.type, wide.type, type_)) for one, wide, type_ in triples)


def _of_array(x: str, source: Array, target: Type, zone: str, depth: int) -> str:
    if not isinstance(target, Array):  # one value became a list of one
        value = fit(f"{x}[SAFE_OFFSET(0)]", source.element, target, zone, depth)
        return f"IF(ARRAY_LENGTH({x}) = 1, {value}, NULL)"
    e, o = free_name("e", depth, source.element), free_name("o", depth, source.element)
    element = fit(e, source.element, target.element, zone, depth + 1)
    # As everywhere, an element that would become NULL is left out: BigQuery stores no NULL in an array.
    return f"ARRAY(SELECT {element} FROM UNNEST({x}) AS {e} WITH OFFSET AS {o} WHERE {element} IS NOT NULL ORDER BY {o})"


def _of_struct(x: str, source: Struct, target: Struct, zone: str, depth: int) -> str:
    parts = []
    for field in target.fields:
        old = source.get(field.name)
        value = fit(f"{x}.{quote(old.name)}", old.type, field.type, zone, depth) if old else typed_null(field.type)
        parts.append(f"{value} AS {quote(field.name)}")
    # Without the IF, a NULL struct would become a struct of NULLs.
    return f"IF({x} IS NULL, NULL, STRUCT({', '.join(parts)}))"
