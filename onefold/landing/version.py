"""The version of a structure, by which its table is named: docs/reference/source-types.md specifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import chain

from onefold.mysql.table import Structure

LENGTH = 9


def version_of_columns(table: str, columns: Iterable[tuple[str, str]]) -> str:
    """Return the version of a captured table: a digest of its columns in BigQuery, sorted by name.

    What BigQuery cannot tell apart is one version: another order of the columns, `VARCHAR(400)` and `VARCHAR(1020)`, `INT`
    and `BIGINT`.

    Args:
        table: the name of the table at the source.
        columns: the names in BigQuery of the source's columns, each with the type as which its values land.

    Examples:
        >>> columns = [("id", "INT64"), ("name", "STRING")]
        >>> version_of_columns("t", columns) == version_of_columns("t", columns[::-1])
        True
    """
    return _digest(joined(table, *chain.from_iterable(sorted(columns))))


def version_of_structure(structure: Structure) -> str:
    """Return the version of a pulled table, and of a captured one in earlier releases: a digest of its canonical text."""
    return _digest(canonical_text(structure))


def canonical_text(structure: Structure) -> str:
    """Return the table name and the names and types of the columns in order, as one text.

    Examples:
        >>> from onefold.mysql.table import SourceColumn, SourceType
        >>> canonical_text(Structure("t", (SourceColumn("id", SourceType("int")),)))
        '1:t2:id3:int'
    """
    return joined(structure.table, *chain.from_iterable((column.name, str(column.type)) for column in structure.columns))


def joined(*parts: str) -> str:
    """Return texts as one: before each come its length in UTF-8 and a colon, so that no two lists share a text."""
    return "".join(f"{len(text.encode())}:{text}" for text in parts)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
