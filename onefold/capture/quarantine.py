"""Values of the quarantine: why a table cannot be captured, what to do, and from which position on its rows are missing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, Literal

from onefold.landing.version import canonical_text
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.table import SourceColumn, SourceType, Structure

Kind = Literal["structure", "rows", "grant", "name", "warehouse", "copy"]
"""What prevents the capture of a table: its structure, its rows in the log, a missing right of the user, its name, the
warehouse, or its copy."""


@dataclass(frozen=True)
class TableProblem:
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

    While `until` is None the table is in quarantine. A position in `until` means that the table has left quarantine: rows
    of the log before that position are still skipped, because a copy read at that position shows their result.
    """

    problem: TableProblem
    since: LogPosition
    until: LogPosition | None = None

    @property
    def table(self) -> TableName:
        return self.problem.table


@dataclass(frozen=True)
class KnownStructure:
    """The structure that a table had at a position of the log, as a digest."""

    shape: str
    position: LogPosition
    structure: Structure | None = None
    """The structure itself, if rows of the log had it. A copy may show what the log has not been read to yet."""


def structure_json(structure: Structure) -> dict[str, Any]:
    """Return a structure for a checkpoint."""
    columns = [[column.name, *astuple(column.type), column.charset, list(column.values)] for column in structure.columns]
    return {"columns": columns, "key": list(structure.primary_key)}


def structure_from(table: str, body: Mapping[str, Any]) -> Structure:
    """Return the structure that `structure_json` has written.

    Args:
        table: the name of the table.
        body: what was written.
    """
    columns = tuple(
        SourceColumn(name, SourceType(*type_), charset, tuple(values)) for name, *type_, charset, values in body["columns"]
    )
    return Structure(table, columns, tuple(body["key"]))


@dataclass(frozen=True)
class DroppedColumns:
    """Columns that were dropped without a copy of their table."""

    table: TableName
    names: frozenset[str]
    """In BigQuery, in one case."""
    position: LogPosition
    """Of the last statement that dropped one of them."""


def shape_of(structure: Structure) -> str:
    """Return a digest of everything that rows depend on: columns, types, key, and the values of ENUM and SET.

    Character sets are left out, because an update of the server gives them other names (`utf8` became `utf8mb3`).

    Examples:
        >>> from onefold.mysql.table import SourceColumn, SourceType
        >>> shape_of(Structure("t", (SourceColumn("id", SourceType("int")),)))
        '5d77a4c5ffd6'
    """
    values = [column.values for column in structure.columns if column.values]
    text = json.dumps([canonical_text(structure), structure.primary_key, values])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
