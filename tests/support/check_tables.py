"""A table of a check, by the types of its columns at the source: its key is `id`, and its full view has the landed types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from onefold.check.request import CheckedTable, CheckRequest
from onefold.core.names import TableId
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.pull.read.clock import micros
from onefold.pull.read.plan import LoadState
from onefold.pull.read.pulled_table import pulled_table
from onefold.pull.read.watermark import Watermark
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING
from onefold.settings.sources import TableLoad

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
BASE = TableId("p", "d", "t")
VIEW = TableId("p", "d__views_full", "t")


def checked(types: Mapping[str, SourceType], watermark: Watermark | None = None) -> CheckedTable:
    """The table as it is at noon; rows from noon on are left out where there is a watermark."""
    columns = tuple(
        SourceColumn(name, type_, "utf8mb4" if type_.name == "varchar" else None) for name, type_ in types.items()
    )
    structure = Structure("t", columns, ("id",))
    target = pulled_table(structure)
    shown = Schema(
        (*Schema(target.columns).only(target.source_names), Column("source_name", STRING), Column("database_name", STRING))
    )
    return CheckedTable(
        CheckRequest("s", "d", at=NOON), BASE, structure, target, TableLoad("incremental"), ("id",), watermark, VIEW, shown,
        LoadState(target.version), micros(NOON), micros(NOON) if watermark else None,
    )  # fmt: skip
