"""The line of a folder of JSON lines that is none: Spark says that there is one, and not where."""

from __future__ import annotations

from pyspark.sql import Column as Value
from pyspark.sql import DataFrameReader
from pyspark.sql import functions as F  # noqa: N812

_SCHEMA = "_ STRING, _corrupt_record STRING"


def malformed_line(reader: DataFrameReader, uri: str) -> str | None:
    """The file and the line; None where each is an object. Every row is read once more."""
    found = reader.text(uri).where(_is_malformed()).select(F.input_file_name()).first()
    if found is None:
        return None
    lines = reader.text(found[0]).select(_is_malformed()).toLocalIterator()
    return next(f"{found[0]}, line {number}" for number, (malformed,) in enumerate(lines, 1) if malformed)


def _is_malformed() -> Value:
    """Whether Spark's own parser takes no object from the line; a blank one is passed over."""
    return (F.trim("value") != "") & F.from_json("value", _SCHEMA).getField("_corrupt_record").isNotNull()
