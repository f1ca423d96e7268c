"""The versioned table of pulled rows: that of captured rows, with the day by which it is partitioned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from onefold.core.errors import SchemaConflict
from onefold.core.names import fold_case
from onefold.landing.table import ADDED, RenamedColumn, VersionedTable, versioned_table
from onefold.mysql.table import Structure
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

DAY = Column("_day", Scalar("DATE"))
"""The partition: the day of the watermark."""


@dataclass(frozen=True)
class PulledTable:
    """The table in BigQuery for one structure of a pulled table.

    Attributes:
        captured: the same table without the day; its version is that of the structure.
    """

    captured: VersionedTable

    @property
    def table(self) -> str:
        """The base name."""
        return self.captured.table

    @property
    def version(self) -> str:
        """The version, equal to that of capture for the same structure."""
        return self.captured.version

    @property
    def name(self) -> str:
        """The name of the versioned table."""
        return self.captured.name

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The key's columns in BigQuery."""
        return self.captured.primary_key

    @property
    def clustering(self) -> tuple[str, ...]:
        """The columns to cluster by."""
        return self.captured.clustering

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the source, those that capture adds, and the day."""
        return (*self.captured.columns, DAY)

    @property
    def source_names(self) -> tuple[str, ...]:
        """The names of the source's columns in BigQuery, in the order of the structure."""
        return self.captured.source_names


def pulled_table(structure: Structure) -> PulledTable:
    """Return the table for a structure. A column of the source that is named like the day gets an underscore.

    Examples:
        >>> from onefold.mysql.table import SourceColumn, SourceType
        >>> table = pulled_table(Structure("score", (SourceColumn("_day", SourceType("int")),)))
        >>> table.source_names, table.columns[-1].name
        (('_day_',), '_day')

    Raises:
        SchemaConflict: columns would share a name, or have unknown types.
    """
    captured = versioned_table(structure)
    taken = [name for name in captured.source_names if fold_case(name) == DAY.name]
    if not taken:
        return PulledTable(captured)
    (old,), new = taken, f"{taken[0]}_"
    if any(fold_case(name) == fold_case(new) for name in captured.source_names):
        raise SchemaConflict(
            f"{structure.table}: the columns {old} and {new} would both be {new} in BigQuery; rename one, or drop it"
        )
    return PulledTable(_renamed(captured, old, new))


def _renamed(captured: VersionedTable, old: str, new: str) -> VersionedTable:
    width = len(captured.columns) - len(ADDED)
    columns = tuple(
        Column(new, column.type) if number < width and column.name == old else column
        for number, column in enumerate(captured.columns)
    )
    key = tuple(new if name == old else name for name in captured.primary_key)
    return replace(captured, columns=columns, primary_key=key, renamed=(*captured.renamed, RenamedColumn(old, new)))
