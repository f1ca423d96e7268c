"""Queries that people write, which may only read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class QueryEstimate:
    """What a warehouse says of a statement without running it.

    Attributes:
        statement_type: as BigQuery names it, such as SELECT or SCRIPT; empty where it is not known.
        size: the bytes that the statement would read.
    """

    statement_type: str
    size: int


@dataclass(frozen=True)
class QueryResult:
    """The first rows of a query.

    Attributes:
        columns: name and type of each column.
        rows: the values of the rows that were read, in the order of the columns.
        row_count: the number of all rows of the result.
        processed: the bytes that the query read.
        billed: the bytes that are paid for.
    """

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    row_count: int
    processed: int
    billed: int


class QueryWarehouse(Protocol):
    """A warehouse that runs queries of people."""

    project: str

    def estimate(self, sql: str) -> QueryEstimate:
        """Return what a statement is and would read; nothing is run.

        Raises:
            Rejected: the statement is not valid.
            NotFound: it names a table that does not exist.
        """

    def read_query(self, sql: str, most: int | None) -> QueryResult:
        """Run a statement, and return the first rows of its result.

        Args:
            sql: the statement, of which `estimate` has said that it is a SELECT.
            most: the number of rows to read; None for all.

        Raises:
            Rejected: the warehouse refuses the statement.
        """
