"""How rows are written: with the types of a warehouse, into files of a format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onefold.core.shred_options import FileFormat, Warehouse
from onefold.events.shred.csv_values import NULL, csv_converter
from onefold.events.shred.parquet_values import parquet_converter
from onefold.events.shred.redshift_values import redshift_converter


@dataclass(frozen=True)
class RowFormat:
    """The warehouse that takes rows, and the format of their files.

    Attributes:
        warehouse: whose types the columns have.
        format: of the files. A row of CSV is a line without its end, and one of Parquet the values of its columns.
    """

    warehouse: Warehouse
    format: FileFormat

    @property
    def is_csv(self) -> bool:
        """Whether a row is a text."""
        return self.format == "csv"

    @property
    def is_flat(self) -> bool:
        """Whether the columns are the leaves of the data: Redshift has no nested ones."""
        return self.warehouse == "redshift"

    @property
    def null(self) -> str | None:
        """What a column without a value has."""
        return NULL if self.is_csv else None

    def converter(self, type_: str, plain: bool = False) -> Callable[[Any], Any]:
        """Return the function that makes the value of a column, from a value that is not NULL.

        The function raises DoesNotFit for a value that the column cannot hold exactly.

        Args:
            type_: the type of the column in the warehouse.
            plain: whether no text has a character that makes quotes or an escape of CSV necessary.
        """
        if self.is_csv:
            return csv_converter(type_, plain)
        return redshift_converter(type_) if self.is_flat else parquet_converter(type_)
