"""The columns of the key of a change table: which can be a key, and why a table has no latest row of each key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onefold.changelog.metadata import metadata_problems, source_columns
from onefold.core.errors import SchemaConflict
from onefold.core.text import shown_list
from onefold.schema.columns import Column
from onefold.schema.types import Array, Range, Struct, Type

# GoogleSQL, "Groupable data types": FLOAT64 may be grouped but not partitioned by.
_NOT_A_KEY = frozenset({"FLOAT64", "GEOGRAPHY", "JSON"})


def check_change_table(table: str, columns: Sequence[Column], keys: Sequence[str]) -> None:
    """Check that a table has a latest row for each key.

    Args:
        table: the name of the table, for the error.
        columns: its columns.
        keys: the columns of the key.

    Examples:
        >>> from onefold.changelog.metadata import METADATA, METADATA_FIELDS, metadata_type
        >>> from onefold.schema.types import STRING
        >>> check_change_table("shop.t", [Column("id", STRING), Column(METADATA, metadata_type(METADATA_FIELDS))], ["id"])

    Raises:
        SchemaConflict: the rows are not changes, or the columns cannot be a key; the error lists all problems.
    """
    problems = [*metadata_problems(table, columns), *key_problems(table, columns, keys)]
    if problems:
        raise SchemaConflict(problems)


def key_problems(table: str, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[str]:
    """Yield the reasons why some columns cannot be the key of a change table.

    Args:
        table: the name of the table, for the texts.
        columns: its columns.
        keys: the columns of the key.

    Examples:
        >>> from onefold.schema.types import STRING
        >>> list(key_problems("shop.t", [Column("id", STRING)], ["no"]))
        ['shop.t has no column no for the key; it has id']
    """
    if not keys:
        yield f"{table}: name the columns of the key"
    yield from missing_keys(table, columns, keys)
    yield from key_type_problems(table, columns, keys)


def missing_keys(table: str, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[str]:
    """Yield the columns of the key that a table does not have.

    Args:
        table: the name of the table, for the texts.
        columns: its columns.
        keys: the columns of the key.
    """
    source = source_columns(columns)
    for key in keys:
        if not source.has(key):
            yield f"{table} has no column {key} for the key; it has {shown_list(source.names)}"


def key_type_problems(table: str, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[str]:
    """Yield the columns of the key whose types have no equality.

    Args:
        table: the name of the table, for the texts.
        columns: its columns.
        keys: the columns of the key; those that the table does not have are left out.

    Examples:
        >>> from onefold.schema.types import Scalar
        >>> list(key_type_problems("shop.t", [Column("id", Scalar("FLOAT64"))], ["id", "no"]))
        ['shop.t: the key id is FLOAT64, which has no equality to group rows by']
    """
    source = source_columns(columns)
    for key in keys:
        column = source.get(key)
        if column and not _can_be_key(column.type):
            yield f"{table}: the key {key} is {column.type}, which has no equality to group rows by"


def _can_be_key(type_: Type) -> bool:
    return not isinstance(type_, Array | Struct | Range) and type_.name not in _NOT_A_KEY
