"""The version of a structure: a hash that is specified in docs/reference/source-types.md, and stays as it is for ever."""

from __future__ import annotations

import hashlib
from itertools import chain

from onefold.mysql.table import Structure

LENGTH = 9


def version_of(structure: Structure) -> str:
    """The first digits of the SHA-256 of the canonical text."""
    return hashlib.sha256(canonical_text(structure).encode()).hexdigest()[:LENGTH]


def canonical_text(structure: Structure) -> str:
    """Table name, then name and type of each column in order; before each text, its length in UTF-8 and a colon."""
    columns = chain.from_iterable((column.name, str(column.type)) for column in structure.columns)
    return "".join(f"{len(text.encode())}:{text}" for text in (structure.table, *columns))
