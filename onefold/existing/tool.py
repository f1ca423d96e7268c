"""What Onefold has to know of a tool to recognise its tables. Each module of `tools` has one; others are entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onefold.core.names import TableId
from onefold.existing.table import ExistingTable, Recognised, TableNote


@dataclass(frozen=True)
class Notes:
    """A table in which a tool notes the keys or the modes of its tables, and how to read it.

    Attributes:
        table: its name.
        query: returns the query for it, which has to be cheap.
        read: returns the notes by the name of a table, from the rows of the query.
    """

    table: str
    query: Callable[[TableId], str]
    read: Callable[[Iterable[Mapping[str, Any]]], Mapping[str, TableNote]]


@dataclass(frozen=True)
class Tool:
    """A tool that writes tables.

    Attributes:
        name: the tool, as a person names it.
        recognise: returns what a table is, from its metadata alone; None where the tool did not write it.
        notes: where the tool notes keys; None where it does so nowhere.
    """

    name: str
    recognise: Callable[[ExistingTable], Recognised | None]
    notes: Notes | None = None
