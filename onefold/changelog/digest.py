"""A digest of a row as it landed: the last tie-break between two changes of one position, the same in every engine.

The digest covers the name and the text of every column that is not NULL, in the order of the names. A change that lands
again in another version, with one more column or with another order of columns, has the same digest. The metadata and the
time of landing are not covered, so two deliveries of one change have the same digest. An array without elements counts as
NULL, because BigQuery stores no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from onefold.core.names import fold_case, quote, quote_text
from onefold.schema.casts import convert
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Array, Struct, Type

LENGTH = 32
"""The number of hexadecimal digits of a digest, the first of a SHA-256."""


def digest(texts: Mapping[str, str | None]) -> str:
    """Return the digest of a row.

    Args:
        texts: the text of each column, as `text_sql` gives it; None for NULL.

    Examples:
        >>> digest({"id": "7", "name": None}) == digest({"ID": "7"})
        True
    """
    present = {fold_case(name): text for name, text in texts.items() if text is not None}
    # Names and texts are preceded by their lengths, so that no two rows give the same input.
    row = "".join(f"{field_label(name)}{len(present[name])}:{present[name]}" for name in sorted(present))
    return hashlib.sha256(row.encode()).hexdigest()[:LENGTH]


def digest_sql(row: str, columns: Sequence[Column]) -> str:
    """Return the digest of a row as an expression of SQL.

    Args:
        row: the alias of the row.
        columns: the columns of the source in that row.

    Examples:
        >>> digest_sql("v", [Column("id", STRING)])[:58]
        "SUBSTR(TO_HEX(SHA256(CONCAT('', IFNULL(CONCAT('2:id=', CON"
    """
    by_name = sorted(columns, key=lambda column: fold_case(column.name))
    pieces = (_piece(fold_case(column.name), text_sql(f"{row}.{quote(column.name)}", column.type)) for column in by_name)
    return f"SUBSTR(TO_HEX(SHA256(CONCAT('', {', '.join(pieces)}))), 1, {LENGTH})"


def text_sql(x: str, type_: Type) -> str:
    """Return the text of a value as an expression of SQL: NULL for NULL and for an array without elements.

    Args:
        x: an expression of SQL.
        type_: its type.

    Examples:
        >>> from onefold.schema.types import Scalar
        >>> text_sql("v.n", Scalar("INT64"))
        'CAST(v.n AS STRING)'
    """
    if not isinstance(type_, Array):
        return convert(x, type_, STRING)
    # UNNEST brings the fields of a struct into scope, where they would hide an alias of the same name.
    taken = {fold_case(field.name) for field in type_.element.fields} if isinstance(type_.element, Struct) else set()
    e, offset = _free_name("element", taken), _free_name("place", taken)
    text = f"IF({e} IS NULL, '-', {_with_length(convert(e, type_.element, STRING))})"
    texts = f"ARRAY(SELECT {text} FROM UNNEST({x}) AS {e} WITH OFFSET AS {offset} ORDER BY {offset})"
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
    """Return the text before a column's value: the name, preceded by its length.

    Examples:
        >>> field_label("id")
        '2:id='
    """
    return f"{len(name)}:{name}="
