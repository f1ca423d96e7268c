"""Rows that came to those that a merge has read: a table was emptied and loaded again, with the former times of landing.

A merge counts the rows that landed before the time from which the next one reads. Where there are more of them later, the
version is read from its beginning. So is a plain change table where there are fewer: rows may go while others come. The
count of a whole table costs nothing, and the rows since that time are read anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from onefold.core.names import quote_text
from onefold.merge.change_query import MAX_TABLES, rows_since
from onefold.merge.change_tables import ChangeTable, tells_arrival
from onefold.merge.merge_state import LandedRows, MergeState
from onefold.ports.warehouse import BaseWarehouse


def count_landed(
    warehouse: BaseWarehouse, changes: Sequence[ChangeTable], state: MergeState, before: datetime
) -> tuple[Mapping[str, LandedRows], MergeState]:
    """Return how many rows of each version landed before a time, and the state with the versions that got older rows.

    Args:
        warehouse: where the tables are.
        changes: the change tables; those that do not tell when rows landed are always read whole.
        state: what the log says.
        before: the time.
    """
    told = [one for one in changes if tells_arrival(one)]
    groups = (told[start : start + MAX_TABLES] for start in range(0, len(told), MAX_TABLES))
    found = {row["version"]: row for group in groups for row in warehouse.fetch(landed_query(group, state, before))}
    more = frozenset(one.version.id for one in told if _has_others(one, found[one.version.id], state))
    bounds = {one.version.id: _boundary(one, before) for one in told}
    landed = {version: LandedRows(bounds[version], row["now"]) for version, row in found.items()}
    return landed, replace(state, reloaded=more)


def landed_query(changes: Sequence[ChangeTable], state: MergeState, before: datetime) -> str:
    """Return a query of how many rows of each version landed before a time, and before the time of the last count."""
    return "\nUNION ALL\n".join(_counted(one, state.landed.get(one.version.id), before) for one in changes)


def _boundary(source: ChangeTable, before: datetime) -> datetime:
    return source.reading.boundary(before) if source.reading else before


def _counted(source: ChangeTable, last: LandedRows | None, before: datetime) -> str:
    rows = f"SELECT COUNT(*) FROM {source.id.quoted} AS v"

    def until(time: datetime) -> str:
        return f"({rows}) - ({rows} WHERE {rows_since(source, time)})"

    then = until(last.before) if last else "NULL"
    return f"SELECT {quote_text(source.version.id)} AS version, {until(_boundary(source, before))} AS now, {then} AS `then`"


def _has_others(source: ChangeTable, row: Mapping[str, Any], state: MergeState) -> bool:
    """Return whether rows came to those that were read. A plain change table may lose rows, too, which would hide them."""
    last = state.landed.get(source.version.id)
    if last is None:
        return False
    return bool(row["then"] != last.rows if source.reading else row["then"] > last.rows)
