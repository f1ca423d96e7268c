"""Rows that a job reads: a frame, its columns and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from onefold.core.names import fold_case
from onefold.schema.columns import Column


class ChangeLog(Protocol):
    """One version of a change log: what is known of it before its rows are read."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """As they landed, metadata included."""

    @property
    def empty(self) -> frozenset[str]:
        """Columns that are there and hold no value at all, so that nobody can tell their type (JSON lines)."""

    @property
    def converts(self) -> bool:
        """Whether values that Spark cannot convert come converted."""

    def open(self, unified: Sequence[Column]) -> LandedFrame:
        """Its rows, which are wanted in the unified columns in the end."""


@dataclass(frozen=True)
class LandedFrame:
    """A version with its rows: a frame in held form. As a log, one whose rows are at hand.

    finished: whether the rows are as the base holds them, with their positions.
    """

    name: str
    frame: DataFrame
    columns: tuple[Column, ...]
    empty: frozenset[str] = frozenset()
    finished: bool = False
    converts: bool = False

    def open(self, unified: Sequence[Column]) -> LandedFrame:  # noqa: ARG002
        return self


def column_of(log: ChangeLog, name: str) -> Column | None:
    """The column of a name, whatever its case."""
    return next((column for column in log.columns if fold_case(column.name) == fold_case(name)), None)
