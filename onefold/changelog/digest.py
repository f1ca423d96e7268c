"""A digest of a row as it landed: the last tie-break between two changes of one position, the same in every engine.

It is taken over the text of every column that is not NULL, by name. So a change that lands again in another version, which
has a column more or another order of columns, has the same digest. The metadata and the time of landing are no part of
it: two deliveries of one change are one. An array without elements counts as NULL, which is how BigQuery stores it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from onefold.core.names import fold_case, quote, quote_text
from onefold.schema.casts import convert
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Array, Struct, Type

LENGTH = 32
"""Hexadecimal digits that are kept of a SHA-256."""


def digest(texts: Mapping[str, str | None]) -> str:
    """The digest of a row from the text of each column, as `text_sql` gives it; NULL as None."""
    written = {fold_case(name): text for name, text in texts.items() if text is not None}
    whole = "".join(f"{field_label(name)}{len(written[name])}:{written[name]}" for name in sorted(written))
    return hashlib.sha256(whole.encode()).hexdigest()[:LENGTH]


def array_text(texts: Iterable[str | None]) -> str | None:
    """The text of an array from the texts of its elements."""
    return "".join("-" if text is None else f"{len(text)}:{text}" for text in texts) or None


def digest_sql(row: str, columns: Sequence[Column]) -> str:
    """The same as an expression over the row's alias."""
    by_name = sorted(columns, key=lambda column: fold_case(column.name))
    pieces = (_piece(fold_case(column.name), text_sql(f"{row}.{quote(column.name)}", column.type)) for column in by_name)
    return f"SUBSTR(TO_HEX(SHA256(CONCAT('', {', '.join(pieces)}))), 1, {LENGTH})"


def text_sql(x: str, type_: Type) -> str:
    """A value's text, NULL for NULL and for an array without elements."""
    if not isinstance(type_, Array):
        return convert(x, type_, STRING)
    # An element that is a struct brings its fields into scope, which hide an alias of their name.
    taken = {fold_case(field.name) for field in type_.element.fields} if isinstance(type_.element, Struct) else set()
    e, place = _free_name("element", taken), _free_name("place", taken)
    text = f"IF({e} IS NULL, '-', {_with_length(convert(e, type_.element, STRING))})"
    texts = f"ARRAY(SELECT {text} FROM UNNEST({x}) AS {e} WITH OFFSET AS {place} ORDER BY {place})"
    return f"NULLIF(ARRAY_TO_STRING({texts}, ''), '')"


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _piece(name: str, text: str) -> str:
    return f"IFNULL(CONCAT({quote_text(field_label(name))}, {_with_length(text)}), '')"


def _with_length(text: str) -> str:
    return f"CONCAT(CAST(LENGTH({text}) AS STRING), ':', {text})"


def field_label(name: str) -> str:
    return f"{len(name)}:{name}="
