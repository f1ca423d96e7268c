"""Rows that a job reads: a frame, its columns and the name of what it was read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from onefold.schema.columns import Column, Schema


class ChangeLog(Protocol):
    """One version of a change log: everything that is known before its rows are read."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> Schema:
        """The columns as they landed, metadata included."""

    @property
    def empty(self) -> frozenset[str]:
        """The folded names of columns without any value, so that their type is unknown (JSON lines)."""

    @property
    def converts(self) -> bool:
        """Whether values that Spark cannot convert arrive converted."""

    def open(self, unified: Sequence[Column]) -> LandedFrame:
        """Return the rows.

        Args:
            unified: the columns into which the job will convert the rows.
        """


@dataclass(frozen=True)
class LandedFrame:
    """The rows of one version as they landed, in Spark form. It is a change log that is open already.

    finished: whether the rows have the base's columns and their positions already.
    """

    name: str
    rows: DataFrame
    columns: Schema
    empty: frozenset[str] = frozenset()
    finished: bool = False
    converts: bool = False

    def open(self, unified: Sequence[Column]) -> LandedFrame:  # noqa: ARG002
        return self
