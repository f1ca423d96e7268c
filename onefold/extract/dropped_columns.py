"""Columns that never leave the source, across changes of their table: a rename must not bring them out."""

from __future__ import annotations

from collections.abc import Iterable

from onefold.core.errors import TableRefused
from onefold.core.names import fold_hidden
from onefold.extract.plan import LoadState
from onefold.mysql.catalog import TableName
from onefold.mysql.table import Structure
from onefold.settings.sources import TableLoad


def dropped_columns(structure: Structure, load: TableLoad) -> tuple[str, ...]:
    """Return the columns of a table that `drop` names, in the table's spelling.

    Args:
        structure: the table's, with all columns.
        load: its settings.
    """
    ruled = set(map(fold_hidden, load.drop))
    return tuple(column.name for column in structure.columns if fold_hidden(column.name) in ruled)


def check_renamed(name: TableName, structure: Structure, load: TableLoad, state: LoadState) -> None:
    """Check that no column that `drop` names may have got another name since the last load.

    A pull sees structures, and no statements: a column that is gone and another one that is new may be the same column. A
    column that is gone alone needs nothing.

    Args:
        name: the table.
        structure: its structure, with all columns.
        load: its settings.
        state: what the log of loads knows.

    Raises:
        TableRefused: names both columns, and the line to add.
    """
    present, ruled = {fold_hidden(column.name) for column in structure.columns}, set(map(fold_hidden, load.drop))
    lost = [one for one in state.dropped if fold_hidden(one) in ruled - present]
    known = {fold_hidden(one) for one in (*state.columns, *state.dropped)} | ruled
    gained = [column.name for column in structure.columns if fold_hidden(column.name) not in known]
    if lost and gained:
        old, new, both = ", ".join(lost), ", ".join(gained), ", ".join(dict.fromkeys((*load.drop, *gained)))
        raise TableRefused(
            f"{name}: {old}, which `drop` names, is gone; {new} is new, and may hold the same values",
            f"set `drop: [{both}]` for the table in onefold.yaml, or, if it holds other values, take {old} out of `drop`",
        )


def check_no_copy(name: TableName, structure: Structure, load: TableLoad, others: Iterable[LoadState]) -> None:
    """Check that a table that is pulled for the first time is no other one, or a copy, with columns that `drop` names.

    A rename, a swap and an online schema change give the rows of a table another name, by which `drop` does not know them. A
    table that has every column of another one, and more that would land, may hold its rows.

    Args:
        name: the table.
        structure: its structure, with all columns.
        load: its settings.
        others: what the log of loads knows of the other tables.

    Raises:
        TableRefused: names both tables, and the line to add.
    """
    ruled = set(map(fold_hidden, load.drop))
    landing = {
        fold_hidden(column.name): column.name for column in structure.columns if fold_hidden(column.name) not in ruled
    }
    for other in others:
        known = set(map(fold_hidden, other.columns))
        more = [column for folded, column in landing.items() if folded not in known]
        if other.dropped and known and known <= landing.keys() | ruled and more:
            of, dropped, new = f"{name.database}.{other.source_table}", ", ".join(other.dropped), ", ".join(more)
            raise TableRefused(
                f"{name}: it has every column of {of}, and {new} besides, and may hold what `drop` names there: {dropped}",
                f"name {name.table} under `tables` in onefold.yaml, before every pattern that matches it, with `drop` of "
                "what must not land; or name it under `exclude`",
            )
