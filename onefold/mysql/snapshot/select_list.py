"""The columns of a SELECT for a snapshot: a query's values land exactly like the values of the log."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from onefold.mysql.binlog.rows import DecodedRows, replace_unrepresentable
from onefold.mysql.snapshot.renderings import Convert, rendering_of, selected
from onefold.mysql.table import Structure


def select_list(structure: Structure) -> str:
    """Return the columns of a SELECT, in the structure's order, for a session of `onefold.mysql.connection.connect`."""
    return ", ".join(selected(column) for column in structure.columns)


def read_selected(structure: Structure, rows: Iterable[tuple[Any, ...]]) -> DecodedRows:
    """Return the rows of a SELECT of `select_list` as they land."""
    converts = _converts(structure)
    return replace_unrepresentable(
        structure,
        ([None if value is None else convert(value) for convert, value in zip(converts, row, strict=True)] for row in rows),
    )


@lru_cache(maxsize=4096)
def _converts(structure: Structure) -> tuple[Convert, ...]:
    return tuple(rendering_of(column).convert for column in structure.columns)
