"""Tables in quarantine, as values: why a table cannot be captured now, its remedy, and since which place of the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from onefold.capture.versioned_table import canonical_text, table_name
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.table import Structure

Kind = Literal["structure", "rows", "grant", "name", "warehouse", "copy"]
"""What is wrong: its structure, rows in the log, a right of the user, its name; or the warehouse or a copy refuses it."""


@dataclass(frozen=True)
class Problem:
    """What keeps one table from being captured. `remedy` is an action that works as it is written."""

    table: TableName
    kind: Kind
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}"


@dataclass(frozen=True)
class Quarantined:
    """A table whose rows are not published.

    While `until` is None it is in quarantine. With a place, it has left, and a copy from there on shows what all rows before
    did: rows of the log before that place are still passed over.
    """

    problem: Problem
    since: LogPosition
    until: LogPosition | None = None

    @property
    def table(self) -> TableName:
        return self.problem.table


@dataclass(frozen=True)
class KnownStructure:
    """The structure that a table had at a place of the log, as a digest."""

    shape: str
    place: LogPosition


def shape_of(structure: Structure) -> str:
    """A digest of all that rows depend on: columns, types, key, and the values of ENUM and SET.

    Character sets are left out: a server's update gives them other names.
    """
    values = [column.values for column in structure.columns if column.values]
    text = json.dumps([canonical_text(structure), structure.primary_key, values])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def holder_of_name(name: str, owners: Mapping[str, str], present: Collection[str]) -> str | None:
    """Return the other source table that has the base name of `name`, or None where `name` may have it.

    A table that was captured first under an altered name keeps the base name for as long as it exists. Otherwise the table
    whose own name is the base name has it, and after that the first by name.

    Args:
        name: of a source table.
        owners: source names by base name, of those captured under another name than their own.
        present: the names of the captured tables that exist now.

    >>> holder_of_name("a b", {}, {"a b", "a_b"})
    'a_b'
    >>> holder_of_name("a_b", {"a_b": "a b"}, {"a b", "a_b"})
    'a b'
    """
    base = table_name(name)
    owner = owners.get(base)
    if owner == name:
        return None
    if owner is not None and owner in present:
        return owner
    if name == base:
        return None
    if base in present:
        return base
    first = min((other for other in present if table_name(other) == base), default=name)
    return first if first < name else None
