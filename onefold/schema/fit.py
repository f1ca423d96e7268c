"""The SQL expression that gives a value of the unified type back in a narrower type, or NULL where it does not fit.

A contract keeps the type of a column while the unified type widens. A value fits where the narrower type has the same value:
nothing is rounded, and nothing is cut off. Text fits where it can be read as a value of the narrower type.
"""

from __future__ import annotations

from onefold.core.names import quote
from onefold.schema.casts import UTC, conversion_problems, convert, free_name, losses, typed_null
from onefold.schema.types import STRING, Array, Scalar, Struct, Type

_NUMERIC, _BIGNUMERIC = Scalar("NUMERIC"), Scalar("BIGNUMERIC")


def fit(x: str, source: Type, target: Type, zone: str = UTC, depth: int = 1) -> str:
    """Return an expression of type `target` for the expression `x` of type `source`: the same value, or NULL.

    Args:
        x: an expression of SQL, which the result may repeat.
        source: the type of the expression.
        target: a type whose values the source type gives back (`gives_back`).
        zone: the time zone in which a DATETIME is read where a TIMESTAMP is needed.
        depth: the number of arrays around the expression, counted from 1.

    Examples:
        >>> fit("o.n", STRING, Scalar("INT64"))
        'SAFE_CAST(o.n AS INT64)'
        >>> fit("o.n", Scalar("NUMERIC"), Scalar("INT64"))
        'IF(CAST(SAFE_CAST(o.n AS INT64) AS NUMERIC) = o.n, SAFE_CAST(o.n AS INT64), NULL)'
    """
    if source == target:
        return x
    if isinstance(source, Array):
        return _of_array(x, source, target, zone, depth)
    if isinstance(source, Struct) and isinstance(target, Struct):
        return _of_struct(x, source, target, zone, depth)
    value = convert(x, source, target, zone, depth)
    if source != STRING:
        return f"IF({convert(value, target, source, zone, depth)} = {x}, {value}, NULL)"
    if target == _NUMERIC:  # a cast rounds to nine places
        return f"IF(CAST({value} AS BIGNUMERIC) = {convert(x, STRING, _BIGNUMERIC)}, {value}, NULL)"
    return value


def fit_landed(x: str, source: Type, target: Type, zone: str = UTC) -> str:
    """Return an expression of type `target` for a landed value of any type: the same value, or NULL.

    Args:
        x: an expression of SQL, which the result may repeat.
        source: the type in which the value landed.
        target: the type that the column keeps.
        zone: the time zone in which a DATETIME is read where a TIMESTAMP is needed.

    Examples:
        >>> from onefold.schema.types import Field
        >>> fit_landed("v.n", STRING, Struct((Field("a", STRING),)))
        'CAST(NULL AS STRUCT<`a` STRING>)'
        >>> fit_landed("v.n", Scalar("BOOL"), Scalar("INT64")), fit_landed("v.n", STRING, Scalar("BYTES"))
        ('CAST(v.n AS INT64)', 'SAFE_CAST(v.n AS BYTES)')
    """
    if conversion_problems(source, target):
        return typed_null(target)
    if source == target or not losses(source, target, zone) or isinstance(source, Struct | Array):
        return convert(x, source, target, zone, pinned=True)
    return fit(x, source, target, zone)


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
        return all((old := source.get(field.name)) and gives_back(old.type, field.type, zone) for field in target.fields)
    if isinstance(target, Struct | Array):
        return False
    return not losses(target, source, zone) and not conversion_problems(source, target)


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
