"""Two expressions that Spark's functions lack."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812


def named(name: str) -> Column:
    """Return the column of exactly this name; Spark would read a dot in a name as a path into a struct."""
    return F.col("`" + name.replace("`", "``") + "`")


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """Apply `body` to a value that is computed once, however often `body` uses the value."""
    return F.transform(F.array(value), body)[0]
