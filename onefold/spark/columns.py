"""Columns by their exact names."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812


def named(name: str) -> Column:
    """Return the column of exactly this name; Spark would read a dot in a name as a path into a struct."""
    return F.col("`" + name.replace("`", "``") + "`")
