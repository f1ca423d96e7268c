"""The SQL expression that turns a value of one type into another, in one step, and what that can lose.

Upwards in the type tree an expression keeps apart what was apart and never fails, whatever the value; the exceptions
are told by `losses`. To any other type (a target named in the settings) a value that does not fit becomes NULL. An
expression that needs a time zone names it: none depends on the session's default.
"""

from __future__ import annotations

from collections.abc import Iterator

from onefold.core.names import fold_case, quote, quote_text
from onefold.schema.common_type import is_at_or_below
from onefold.schema.types import JSON, STRING, Array, Field, Range, Scalar, Struct, Type, render_type

UTC = "UTC"

# Where a plain CAST does not go, or does not say its time zone. `{x}` is the value, `{zone}` the zone that a DATETIME
# is read in; text always names UTC. Source: GoogleSQL reference, "Conversion rules" and the functions' own pages.
_EXPRESSIONS = {
    ("BOOL", "NUMERIC"): "CAST(CAST({x} AS INT64) AS NUMERIC)",
    ("BOOL", "BIGNUMERIC"): "CAST(CAST({x} AS INT64) AS BIGNUMERIC)",
    ("TIMESTAMP", "STRING"): "STRING({x}, 'UTC')",
    ("GEOGRAPHY", "STRING"): "ST_ASTEXT({x})",
    ("BYTES", "STRING"): "IFNULL(SAFE_CAST({x} AS STRING), TO_BASE64({x}))",
    ("JSON", "STRING"): "IF({x} IS NULL, NULL, TO_JSON_STRING({x}))",
}

# Downwards or across, asked for by name: never an error, NULL where the value does not fit.
_NARROWING = {
    ("BOOL", "FLOAT64"): "CAST(CAST({x} AS INT64) AS FLOAT64)",
    ("NUMERIC", "BOOL"): "SAFE_CAST(SAFE_CAST({x} AS INT64) AS BOOL)",
    ("BIGNUMERIC", "BOOL"): "SAFE_CAST(SAFE_CAST({x} AS INT64) AS BOOL)",
    ("FLOAT64", "BOOL"): "SAFE_CAST(SAFE_CAST({x} AS INT64) AS BOOL)",
    # In a zone west of UTC the first hours of year 1 are in no year, and the last of 9999 in none further east.
    ("TIMESTAMP", "DATE"): "SAFE.DATE({x}, {zone})",
    ("TIMESTAMP", "DATETIME"): "SAFE.DATETIME({x}, {zone})",
    ("TIMESTAMP", "TIME"): "SAFE.TIME({x}, {zone})",
    # Text that is a DATETIME names no zone: only other text may be cast, or the session's default zone would decide.
    ("STRING", "TIMESTAMP"): (
        "IF(SAFE_CAST({x} AS DATETIME) IS NULL, SAFE_CAST({x} AS TIMESTAMP), "
        "SAFE.TIMESTAMP(SAFE_CAST({x} AS DATETIME), {zone}))"
    ),
    ("STRING", "GEOGRAPHY"): "SAFE.ST_GEOGFROMTEXT({x})",
    ("STRING", "JSON"): "SAFE.PARSE_JSON({x}, wide_number_mode => 'round')",
}

_RANGE_OF_TIMESTAMPS = Range(Scalar("TIMESTAMP"))
_NUMBERS = frozenset({"BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64"})
_TIMES_OF_DATETIME = frozenset({"DATE", "TIME"})


def convert(x: str, source: Type, target: Type, zone: str = UTC, depth: int = 1, *, pinned: bool = False) -> str:
    """Return an expression of type `target` for the expression `x` of type `source`.

    Only where `conversion_faults` finds nothing.

    Args:
        depth: how many arrays the expression is in, which gives each element a name of its own.
        pinned: name every field of every struct, even where nothing is converted. The expression then keeps its type when
            a struct of the table gains a field.
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
    """Why there is no expression from `source` to `target`: empty where there is one."""
    if isinstance(target, Array):
        element = source.element if isinstance(source, Array) else source
        return conversion_problems(element, target.element)
    if isinstance(source, Struct) and isinstance(target, Struct):
        return [problem for old, new in _common(source, target) for problem in conversion_problems(old.type, new.type)]
    if source == target:
        return []
    if isinstance(target, Struct) or (isinstance(source, Struct | Array) and target not in (JSON, STRING)):
        return [f"{source} cannot be converted to {target}"]
    if target == _RANGE_OF_TIMESTAMPS:
        return [f"{source} cannot be converted to {target}: its text need not name a time zone"]
    return []


def losses(source: Type, target: Type, zone: str = UTC) -> tuple[str, ...]:
    """What the conversion can lose, one sentence each; empty where it keeps every two values apart."""
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
        kept = {fold_case(field.name) for field in target.fields}
        for field in source.fields:
            if fold_case(field.name) not in kept:
                yield f"field {field.name} is left out"
        for old, new in _common(source, target):
            yield from _losses(old.type, new.type, zone)
    elif isinstance(source, Struct | Array):
        if _holds_json(source):
            yield "JSON null inside a struct becomes NULL"
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
    landed = {fold_case(field.name): field for field in source.fields}
    for field in target.fields:
        if fold_case(field.name) in landed:
            yield landed[fold_case(field.name)], field


def _to_array(x: str, source: Type, target: Array, zone: str, depth: int, pinned: bool) -> str:
    if not isinstance(source, Array):
        element = convert(x, source, target.element, zone, depth, pinned=pinned)
        tested = element if _may_give_null(source, target.element, zone) else x
        return f"IF({tested} IS NULL, CAST([] AS {render_type(target)}), [{element}])"
    e, o = free_name("e", depth, source.element), free_name("o", depth, source.element)
    element = convert(e, source.element, target.element, zone, depth + 1, pinned=pinned)
    # A NULL element cannot be stored, so a landed array has none; one that a conversion makes is left out.
    where = f" WHERE {element} IS NOT NULL" if _may_give_null(source.element, target.element, zone) else ""
    return f"ARRAY(SELECT {element} FROM UNNEST({x}) AS {e} WITH OFFSET AS {o}{where} ORDER BY {o})"


def free_name(letter: str, depth: int, element: Type) -> str:
    """A name for an array's element that no field of it hides (the fields of an unnested struct are in scope)."""
    taken = {fold_case(field.name) for field in element.fields} if isinstance(element, Struct) else set()
    name = f"{letter}{depth}"
    while name in taken:
        name += "_"
    return name


def _may_give_null(source: Type, target: Type, zone: str) -> bool:
    """Whether a value that is not NULL can become NULL."""
    if isinstance(source, Struct) or source == target:
        return False
    return not is_at_or_below(source, target) or (zone != UTC and target == Scalar("TIMESTAMP"))


def _to_struct(x: str, source: Struct, target: Struct, zone: str, depth: int, pinned: bool) -> str:
    landed = {fold_case(field.name): field for field in source.fields}
    parts = []
    for field in target.fields:
        old = landed.get(fold_case(field.name))
        path = f"{x}.{quote(old.name)}" if old else ""
        value = convert(path, old.type, field.type, zone, depth, pinned=pinned) if old else typed_null(field.type)
        parts.append(f"{value} AS {quote(field.name)}")
    return f"IF({x} IS NULL, NULL, STRUCT({', '.join(parts)}))"


def typed_null(type_: Type) -> str:
    """NULL of a type: a bare NULL in every branch of a union would be INT64."""
    return f"CAST(NULL AS {render_type(type_)})"


def _to_json(x: str, target: Type, value: str | None = None) -> str:
    # Both functions turn NULL into JSON null. Without the option, wide numbers would be rounded.
    json = f"TO_JSON({value or x}, stringify_wide_numbers => TRUE)"
    return f"IF({x} IS NULL, NULL, {json if target == JSON else f'TO_JSON_STRING({json})'})"


def _to_scalar(x: str, source: Type, target: Type, zone: str) -> str:
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
        # The value of a scalar without its quotes; an object or an array fits no other type.
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
