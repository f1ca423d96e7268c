"""The versioned table of pulled rows: that of captured rows, with the day by which it is partitioned."""

from __future__ import annotations

from dataclasses import replace

from onefold.core.errors import SchemaConflict
from onefold.core.names import fold_case
from onefold.landing.table import RenamedColumn, VersionedTable, versioned_table
from onefold.landing.version import version_of_structure
from onefold.mysql.table import Structure
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

DAY = Column("_day", Scalar("DATE"))
"""The partition: the day of the watermark."""


def pulled_table(structure: Structure) -> VersionedTable:
    """Return the table of pulled rows for a structure.

    Its version is that of the structure at the source. No watermark tells of rows that an ALTER changed, so another type
    there has to be another version: from it the next pull knows that it may have to read all rows.

    A column of the source that is named like the day gets an underscore.

    Examples:
        >>> from onefold.mysql.table import SourceColumn, SourceType
        >>> table = pulled_table(Structure("score", (SourceColumn("_day", SourceType("int")),)))
        >>> table.source_names, table.columns[-1].name
        (('_day_',), '_day')

    Raises:
        SchemaConflict: columns would share a name, or have unknown types.
    """
    captured = replace(versioned_table(structure), version=version_of_structure(structure), former="")
    taken = [name for name in captured.source_names if fold_case(name) == DAY.name]
    if not taken:
        return _with_day(captured)
    (old,), new = taken, f"{taken[0]}_"
    if any(fold_case(name) == fold_case(new) for name in captured.source_names):
        raise SchemaConflict(
            f"{structure.table}: the columns {old} and {new} would both be {new} in BigQuery; rename one, or drop it"
        )
    return _with_day(_renamed(captured, old, new))


def _with_day(captured: VersionedTable) -> VersionedTable:
    return replace(captured, columns=(*captured.columns, DAY), added=(*captured.added, DAY))


def _renamed(captured: VersionedTable, old: str, new: str) -> VersionedTable:
    width = len(captured.source_names)
    columns = tuple(
        Column(new, column.type) if number < width and column.name == old else column
        for number, column in enumerate(captured.columns)
    )
    key = tuple(new if name == old else name for name in captured.primary_key)
    return replace(captured, columns=columns, primary_key=key, renamed=(*captured.renamed, RenamedColumn(old, new)))
