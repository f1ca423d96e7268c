"""The SQL expression that converts a value from one type to another in one step, and what the conversion can lose.

To a wider type of the type tree, an expression gives different values for different values and never fails; `losses` lists
the exceptions. To any other type (a target type of the settings), a value that does not fit becomes NULL. An expression
that needs a time zone names it: no expression depends on the session's default time zone.
"""

from __future__ import annotations

from collections.abc import Iterator

from onefold.core.names import fold_case, quote, quote_text
from onefold.core.text import shown_list
from onefold.schema.common_type import is_at_or_below, unknown_types
from onefold.schema.possible_types import impossible_conversion
from onefold.schema.types import JSON, STRING, Array, Field, Range, Scalar, Struct, Type, render_type
from onefold.schema.unix_time import UnixTime

UTC = "UTC"

# Conversions to a wider type that a plain CAST does not allow, or does without naming its time zone. `{x}` is the value;
# text always names UTC. Source: GoogleSQL reference, "Conversion rules" and the pages of the functions.
_EXPRESSIONS = {
    ("BOOL", "NUMERIC"): "CAST(CAST({x} AS INT64) AS NUMERIC)",
    ("BOOL", "BIGNUMERIC"): "CAST(CAST({x} AS INT64) AS BIGNUMERIC)",
    ("TIMESTAMP", "STRING"): "STRING({x}, 'UTC')",
    ("GEOGRAPHY", "STRING"): "ST_ASTEXT({x})",
    ("BYTES", "STRING"): "IFNULL(SAFE_CAST({x} AS STRING), TO_BASE64({x}))",
    ("JSON", "STRING"): "IF({x} IS NULL, NULL, TO_JSON_STRING({x}))",
}

# Conversions to a type that is not wider, which only settings ask for: never an error, NULL where the value does not fit.
# `{zone}` is the zone in which a DATETIME is read.
_NARROWING = {
    ("BOOL", "FLOAT64"): "CAST(CAST({x} AS INT64) AS FLOAT64)",
    ("NUMERIC", "BOOL"): "SAFE_CAST(SAFE_CAST({x} AS INT64) AS BOOL)",
    ("BIGNUMERIC", "BOOL"): "SAFE_CAST(SAFE_CAST({x} AS INT64) AS BOOL)",
    ("FLOAT64", "BOOL"): "SAFE_CAST(SAFE_CAST({x} AS INT64) AS BOOL)",
    # SAFE: west of UTC, the first hours of year 1 have no local date; east of UTC, the last hours of year 9999 have none.
    ("TIMESTAMP", "DATE"): "SAFE.DATE({x}, {zone})",
    ("TIMESTAMP", "DATETIME"): "SAFE.DATETIME({x}, {zone})",
    ("TIMESTAMP", "TIME"): "SAFE.TIME({x}, {zone})",
    # Text in the form of a DATETIME names no zone: a cast would read it in the session's default zone.
    ("STRING", "TIMESTAMP"): (
        "IF(SAFE_CAST({x} AS DATETIME) IS NULL, SAFE_CAST({x} AS TIMESTAMP), "
        "SAFE.TIMESTAMP(SAFE_CAST({x} AS DATETIME), {zone}))"
    ),
    ("STRING", "GEOGRAPHY"): "SAFE.ST_GEOGFROMTEXT({x})",
    ("STRING", "JSON"): "SAFE.PARSE_JSON({x}, wide_number_mode => 'round')",
}

_MICROS = {"unix_seconds": 1_000_000, "unix_millis": 1_000, "unix_micros": 1}
UNITS = tuple(_MICROS)
"""The units in which a number may count since 1970."""

_RANGE_OF_TIMESTAMPS = Range(Scalar("TIMESTAMP"))
_NUMBERS = frozenset({"BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64"})
_TIMES_OF_DATETIME = frozenset({"DATE", "TIME"})


def convert(x: str, source: Type, target: Type, zone: str = UTC, depth: int = 1, *, pinned: bool = False) -> str:
    """Return an expression of type `target` for the expression `x` of type `source`.

    The conversion has to be possible: `conversion_problems` returns nothing for the two types.

    Args:
        x: an expression of SQL, which the result may repeat.
        source: the type of the expression.
        target: the type of the result.
        zone: the time zone in which a DATETIME is read where a TIMESTAMP is needed.
        depth: the number of arrays around the expression, counted from 1; each level names its elements differently.
        pinned: name every field of every struct, even where nothing is converted. The expression then keeps its type when
            a struct of the table gains a field.

    Examples:
        >>> convert("v.born", Scalar("DATE"), Scalar("TIMESTAMP"))
        "TIMESTAMP(v.born, 'UTC')"
        >>> convert("v.price", STRING, Scalar("NUMERIC"))
        'SAFE_CAST(v.price AS NUMERIC)'
    """
    if source == target and not (pinned and _holds_struct(source)):
        return x
    if isinstance(target, Array):
        return _to_array(x, source, target, zone, depth, pinned)
    if isinstance(target, Struct) and isinstance(source, Struct):
        return _to_struct(x, source, target, zone, depth, pinned)
    if isinstance(source, Struct | Array):
        return _to_json(x, target, convert(x, source, source, zone, depth, pinned=pinned))
    return _to_scalar(x, source, target, zone)


def conversion_problems(source: Type, target: Type) -> list[str]:
    """Return why no expression converts `source` to `target`: an empty list where one does.

    Examples:
        >>> conversion_problems(Scalar("INT64"), Struct((Field("a", STRING),)))
        ['INT64 cannot be converted to STRUCT<a STRING>']
    """
    if isinstance(target, Array):
        element = source.element if isinstance(source, Array) else source
        return conversion_problems(element, target.element)
    if isinstance(source, Struct) and isinstance(target, Struct):
        return [problem for old, new in _common(source, target) for problem in conversion_problems(old.type, new.type)]
    if source == target:
        return []
    if isinstance(target, Struct) or (isinstance(source, Struct | Array) and target not in (JSON, STRING)):
        return [f"{source} cannot be converted to {target}"]
    if unknown := unknown_types(source):
        return [f"{source} cannot be converted to {target}: this release does not know {shown_list(sorted(unknown))}"]
    if target == _RANGE_OF_TIMESTAMPS:
        return [f"{source} cannot be converted to {target}: its text need not name a time zone"]
    if isinstance(source, Struct | Array):
        return []
    return [problem] if (problem := impossible_conversion(source, target)) else []


def losses(source: Type, target: Type, zone: str = UTC) -> tuple[str, ...]:
    """Return what the conversion can lose, one sentence each; empty where different values stay different.

    Args:
        source: the type of the values.
        target: the type to which they are converted.
        zone: the time zone in which a DATETIME is read where a TIMESTAMP is needed.

    Examples:
        >>> losses(Scalar("STRING"), Scalar("INT64"))
        ('STRING to INT64: a value that does not fit becomes NULL or is rounded',)
    """
    return tuple(dict.fromkeys(_losses(source, target, zone)))


def _losses(source: Type, target: Type, zone: str) -> Iterator[str]:
    if source == target:
        return
    if isinstance(target, Array):
        element = source.element if isinstance(source, Array) else source
        yield from _losses(element, target.element, zone)
        if _may_give_null(element, target.element, zone):
            yield "in an array, an element that would become NULL is left out"
    elif isinstance(source, Struct) and isinstance(target, Struct):
        yield from (f"field {field.name} is left out" for field in source.fields if not target.get(field.name))
        for old, new in _common(source, target):
            yield from _losses(old.type, new.type, zone)
    elif isinstance(source, Struct | Array) and target in (JSON, STRING):
        if _holds_json(source):
            yield "JSON null inside a struct becomes NULL"
    elif isinstance(source, Array):  # a contract keeps the type (onefold.schema.fit)
        yield "a list of several values becomes NULL"
        yield from _losses(source.element, target, zone)
    else:
        yield from _scalar_losses(source, target, zone)


def _scalar_losses(source: Type, target: Type, zone: str) -> Iterator[str]:
    if not is_at_or_below(source, target):
        yield f"{source} to {target}: a value that does not fit becomes NULL or is rounded"
    elif (source, target) == (Scalar("BYTES"), STRING):
        yield "BYTES as text: as it is where it is UTF-8, base64 where it is not"
    elif target == Scalar("TIMESTAMP") and zone != UTC:
        yield f"{source} read in {zone}: gaps of local time, and NULL out of range"


def _holds_struct(type_: Type) -> bool:
    return isinstance(type_, Struct) or (isinstance(type_, Array) and _holds_struct(type_.element))


def _holds_json(type_: Type) -> bool:
    match type_:
        case Array(element):
            return _holds_json(element)
        case Struct(fields):
            return any(_holds_json(field.type) for field in fields)
        case _:
            return type_ == JSON


def _common(source: Struct, target: Struct) -> Iterator[tuple[Field, Field]]:
    """Yield the fields that both structs have, each in the form of the source and of the target."""
    for field in target.fields:
        if landed := source.get(field.name):
            yield landed, field


def _to_array(x: str, source: Type, target: Array, zone: str, depth: int, pinned: bool) -> str:
    if not isinstance(source, Array):
        element = convert(x, source, target.element, zone, depth, pinned=pinned)
        tested = element if _may_give_null(source, target.element, zone) else x
        return f"IF({tested} IS NULL, CAST([] AS {render_type(target)}), [{element}])"
    e, o = free_name("e", depth, source.element), free_name("o", depth, source.element)
    element = convert(e, source.element, target.element, zone, depth + 1, pinned=pinned)
    # BigQuery cannot store a NULL element, so a landed array has none; one that a conversion produces is left out.
    where = f" WHERE {element} IS NOT NULL" if _may_give_null(source.element, target.element, zone) else ""
    return f"ARRAY(SELECT {element} FROM UNNEST({x}) AS {e} WITH OFFSET AS {o}{where} ORDER BY {o})"


def free_name(letter: str, depth: int, element: Type) -> str:
    """Return an alias for the elements of an array that is not the name of a field.

    UNNEST brings the fields of a struct into scope, where they would hide an alias of the same name.

    Args:
        letter: the first letter of the alias.
        depth: the number of arrays around the expression.
        element: the type of the elements.

    Examples:
        >>> free_name("e", 1, STRING), free_name("e", 1, Struct((Field("E1", STRING),)))
        ('e1', 'e1_')
    """
    taken = {fold_case(field.name) for field in element.fields} if isinstance(element, Struct) else set()
    name = f"{letter}{depth}"
    while name in taken:
        name += "_"
    return name


def _may_give_null(source: Type, target: Type, zone: str) -> bool:
    """Return whether a value that is not NULL can become NULL."""
    if isinstance(source, Struct) or source == target:
        return False
    return not is_at_or_below(source, target) or (zone != UTC and target == Scalar("TIMESTAMP"))


def _to_struct(x: str, source: Struct, target: Struct, zone: str, depth: int, pinned: bool) -> str:
    parts = []
    for field in target.fields:
        old = source.get(field.name)
        path = f"{x}.{quote(old.name)}" if old else ""
        value = convert(path, old.type, field.type, zone, depth, pinned=pinned) if old else typed_null(field.type)
        parts.append(f"{value} AS {quote(field.name)}")
    # Without the IF, a NULL struct would become a struct of NULLs.
    return f"IF({x} IS NULL, NULL, STRUCT({', '.join(parts)}))"


def typed_null(type_: Type) -> str:
    """Return NULL of a type: a bare NULL in every branch of a union would be INT64.

    Examples:
        >>> typed_null(Scalar("DATE"))
        'CAST(NULL AS DATE)'
    """
    return f"CAST(NULL AS {render_type(type_)})"


def _to_json(x: str, target: Type, value: str | None = None) -> str:
    # Both functions turn NULL into JSON null, hence the IF. Without the option, numbers wider than FLOAT64 are rounded.
    json = f"TO_JSON({value or x}, stringify_wide_numbers => TRUE)"
    return f"IF({x} IS NULL, NULL, {json if target == JSON else f'TO_JSON_STRING({json})'})"


def _unix_time(x: str, source: UnixTime) -> str:
    """Return a TIMESTAMP for a number since 1970; a number of another type than INT64 may have a fraction."""
    if source.name == "INT64":
        return f"SAFE.TIMESTAMP_{source.unit.removeprefix('unix_').upper()}({x})"
    return f"SAFE.TIMESTAMP_MICROS(SAFE_CAST(SAFE_MULTIPLY({x}, {_MICROS[source.unit]}) AS INT64))"


def _to_scalar(x: str, source: Type, target: Type, zone: str) -> str:
    if isinstance(source, UnixTime):
        return convert(_unix_time(x, source), Scalar("TIMESTAMP"), target, zone)
    if not isinstance(source, Range) and is_at_or_below(source, target):
        return _widen(x, str(source), str(target), zone)
    if target == JSON and source != STRING:
        return _to_json(x, JSON)
    if isinstance(source, Range):
        text = _range_text(x, source)
        return text if target == STRING else _narrow(text, "STRING", target, zone)
    return _narrow(x, str(source), target, zone)


def _widen(x: str, source: str, target: str, zone: str) -> str:
    if (source, target) in (("DATE", "TIMESTAMP"), ("DATETIME", "TIMESTAMP")):
        return f"TIMESTAMP({x}, 'UTC')" if zone == UTC else f"SAFE.TIMESTAMP({x}, {quote_text(zone)})"
    return _EXPRESSIONS.get((source, target), "CAST({x} AS {target})").format(x=x, target=target)


def _range_text(x: str, source: Range) -> str:
    if source.element != Scalar("TIMESTAMP"):
        return f"CAST({x} AS STRING)"
    start, end = (f"IFNULL(STRING(RANGE_{side}({x}), 'UTC'), 'UNBOUNDED')" for side in ("START", "END"))
    return f"IF({x} IS NULL, NULL, CONCAT('[', {start}, ', ', {end}, ')'))"


def _narrow(x: str, source: str, target: Type, zone: str) -> str:
    if source == "JSON":
        # JSON_VALUE gives a scalar without its quotes, and NULL for an object or an array, which fit no other type.
        return _narrow(f"JSON_VALUE({x})", "STRING", target, zone)
    special = _NARROWING.get((source, str(target)))
    if special:
        return special.format(x=x, zone=quote_text(zone))
    if _has_safe_cast(source, str(target)):
        return f"SAFE_CAST({x} AS {render_type(target)})"
    return _narrow(convert(x, Scalar(source), STRING, zone), "STRING", target, zone)


def _has_safe_cast(source: str, target: str) -> bool:
    if source == "STRING" or {source, target} <= _NUMBERS:
        return True
    return source == "DATETIME" and target in _TIMES_OF_DATETIME
