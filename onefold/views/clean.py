"""The clean view as SQL: the columns of another view, each as the policies of its table say.

A masked column is NULL of the same type, and the text does not name it. A hashed column is the HMAC-SHA256 of its value as
text, in hexadecimal, with a key that lies in a table of its own: the text of a view can be read by whoever may read its
metadata, so it must not hold the key. The text has no filter, and sorts by nothing but the place of an element in its array.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from onefold.core.errors import SchemaConflict
from onefold.core.names import TableId, fold_case, quote, quote_text
from onefold.core.text import counted, shown_list
from onefold.ports.hash_keys import PAD_CHARACTERS
from onefold.refresh.tables_read import COVERS
from onefold.schema.casts import convert, free_name, typed_null
from onefold.schema.column_policy import Action
from onefold.schema.columns import Column
from onefold.schema.treatment import Treatment
from onefold.schema.types import STRING, Array, Scalar, Struct, Type

RENDERER = 1
"""The number of the form of the text. Raise it with every change of the text, so that deployed views are written again."""

_WAITING = "-- waiting for a decision: "
_CLOSED = "-- closed: "
_BYTES = Scalar("BYTES")


def clean_query(source: TableId, treatments: Sequence[Treatment], key: TableId) -> str:
    """Return the query of a clean view.

    Args:
        source: the view that is read.
        treatments: what is shown of its columns, in their order.
        key: the table of the key.

    Raises:
        SchemaConflict: no column is left.
    """
    shown = [one for one in treatments if one.shown_type]
    if not shown:
        raise SchemaConflict(f"{source}: the policies drop every column: mask one instead, or name no policy for the table")
    alias = _free_alias("k", treatments)
    items = [_item(one, alias) for one in shown]
    join = _key_join(key, alias) if any(_hashes(one) for one in shown) else ""
    return f"{_waiting_note(treatments)}SELECT\n  {f',{chr(10)}  '.join(items)}\nFROM {source.quoted} AS v{join}"


def closed_query(columns: Iterable[Column], former: str, reason: str) -> str:
    """Return the query of a clean view that cannot be as the policies say: it reads nothing, and each query is an error.

    So the view cannot go on showing what former policies showed, nor what a current view will have once it is written.

    Args:
        columns: those of the clean view.
        former: the text of the clean view, whose notes are kept, but for the versions that it read.
        reason: what is wrong, and what to do.
    """
    notes = [line for line in takewhile(_is_note, former.splitlines()) if not line.startswith((COVERS, _CLOSED))]
    nulls = ",\n  ".join(f"{typed_null(column.type)} AS {quote(column.name)}" for column in columns)
    error = f"SELECT\n  {nulls}\nFROM UNNEST([0])\nWHERE CAST(ERROR({quote_text(reason)}) AS BOOL)"
    return "\n".join([*notes, _noted(_CLOSED, reason), error])


def clean_columns(treatments: Iterable[Treatment]) -> tuple[Column, ...]:
    """Return the columns of a clean view."""
    return tuple(Column(one.path, type_) for one in treatments if (type_ := one.shown_type))


def waiting_columns(query: str) -> tuple[str, ...]:
    r"""Return the columns and fields that a clean view masks because no policy names them, from the text of the view.

    Examples:
        >>> waiting_columns('-- waiting for a decision: ["address.zip"]\nSELECT 1')
        ('address.zip',)
    """
    found = _note(_WAITING, query)
    return tuple(str(path) for path in found) if isinstance(found, list) else ()


def clean_warnings(query: str) -> tuple[str, ...]:
    """Return the warnings about a clean view, from its text: that it is closed, and the columns that wait for a decision.

    There is none for the text of another kind of view.

    Examples:
        >>> clean_warnings('-- waiting for a decision: ["address.zip"]')
        ('1 column is masked until a policy names it: address.zip',)
        >>> clean_warnings('-- closed: "no such view: write it"')
        ('every query of the view is an error: no such view: write it',)
    """
    reason = _note(_CLOSED, query)
    closed = (f"every query of the view is an error: {reason}",) if isinstance(reason, str) else ()
    waiting = waiting_columns(query)
    if closed or not waiting:
        return closed
    verb, names = ("is", "it") if len(waiting) == 1 else ("are", "them")
    shown = shown_list(waiting)
    return (f"{counted(len(waiting), 'column')} {verb} masked until a policy names {names}: {shown}",)


def _note(start: str, query: str) -> Any:
    """Return what a note of a clean view holds; None where there is no such note."""
    noted = next(
        (line.removeprefix(start) for line in takewhile(_is_note, query.splitlines()) if line.startswith(start)), "null"
    )
    try:
        return json.loads(noted)
    except ValueError:  # somebody edited the text
        return None


def _noted(start: str, content: object) -> str:
    # A backtick is escaped because the tables that a view reads are found in its text by their backticks.
    return f"{start}{json.dumps(content)}".replace("`", "\\u0060")


def _is_note(line: str) -> bool:
    return line.startswith("-- ")


def _waiting_note(treatments: Sequence[Treatment]) -> str:
    waiting = [path for one in treatments for path in one.all_waiting]
    return f"{_noted(_WAITING, waiting)}\n" if waiting else ""


def _item(treatment: Treatment, key: str) -> str:
    name = quote(treatment.path)
    expression = _expression(f"v.{name}", treatment, key, 1)
    return expression if expression == f"v.{name}" else f"{expression} AS {name}"


def _expression(x: str, treatment: Treatment, key: str, depth: int) -> str:
    """Return the expression that shows the value `x`; `depth` counts the arrays around it from 1."""
    type_, shown = treatment.type, treatment.shown_type
    if treatment.action is Action.CLEAR or shown is None:
        return convert(x, type_, type_)
    if treatment.action is Action.MASK:
        return typed_null(shown)
    if not isinstance(type_, Array):
        return _value(x, type_, treatment, key, depth)
    e, o = free_name("e", depth, type_.element), free_name("o", depth, type_.element)
    element = _value(e, type_.element, treatment, key, depth + 1)
    return f"ARRAY(SELECT {element} FROM UNNEST({x}) AS {e} WITH OFFSET AS {o} ORDER BY {o})"


def _value(x: str, type_: Type, treatment: Treatment, key: str, depth: int) -> str:
    if not isinstance(type_, Struct):  # a struct has no action of its own here: its fields have
        return hash_expression(x, type_, key)
    parts = [
        f"{_expression(f'{x}.{quote(field.name)}', one, key, depth)} AS {quote(field.name)}"
        for field, one in zip(type_.fields, treatment.fields, strict=True)
        if one.shown_type
    ]
    # Without the IF, a NULL struct would become a struct of NULLs.
    return f"IF({x} IS NULL, NULL, STRUCT({', '.join(parts)}))"


def hash_expression(x: str, type_: Type, key: str) -> str:
    """Return the keyed hash of a value: HMAC-SHA256 of its text in UTF-8, in hexadecimal. NULL stays NULL.

    The text is that of the conversion to STRING, so that equal values of several number types have equal hashes.

    Args:
        x: an expression of SQL.
        type_: its type, no array and no struct.
        key: the alias of the table of the key.
    """
    data = x if type_ == _BYTES else f"CAST({convert(x, type_, STRING)} AS BYTES)"
    # RFC 2104: H(K XOR opad, H(K XOR ipad, text)). The parts are joined as text because BigQuery's emulator joins bytes
    # beyond ASCII wrongly.
    inner = f"TO_HEX(SHA256(FROM_HEX(CONCAT({key}.ipad, TO_HEX({data})))))"
    return f"TO_HEX(SHA256(FROM_HEX(CONCAT({key}.opad, {inner}))))"


def _key_join(key: TableId, alias: str) -> str:
    """Return the join with the only row of the key; without a key, or with two, the query is an error.

    A scalar subquery would give NULL hashes without a key, and a plain join no rows at all.
    """
    rule = f"COUNT(*) = 1 AND MIN(LENGTH(ipad)) = {PAD_CHARACTERS} AND MIN(LENGTH(opad)) = {PAD_CHARACTERS}"
    problem = quote_text(f"{key}: expected one row with a key: run `onefold policies key`")
    pads = ",\n    ".join(f"IF({rule}, MIN({pad}), ERROR({problem})) AS {pad}" for pad in ("ipad", "opad"))
    return f"\nCROSS JOIN (\n  SELECT\n    {pads}\n  FROM {key.quoted}\n) AS {alias}"


def _hashes(treatment: Treatment) -> bool:
    return treatment.action is Action.HASH or (treatment.action is None and any(map(_hashes, treatment.fields)))


def _free_alias(name: str, treatments: Sequence[Treatment]) -> str:
    """Return an alias that no column and no field has: a field of an array's elements would hide an alias of its name."""
    taken = {fold_case(found) for one in treatments for found in (one.path, *_field_names(one.type))}
    while name in taken or name == "v":
        name += "_"
    return name


def _field_names(type_: Type) -> Iterator[str]:
    element = type_.element if isinstance(type_, Array) else type_
    for field in element.fields if isinstance(element, Struct) else ():
        yield field.name
        yield from _field_names(field.type)
