"""Columns from short texts."""

from __future__ import annotations

from onefold.schema.columns import Column
from onefold.schema.types import parse_type


def columns(**types: str) -> tuple[Column, ...]:
    """Return columns by their names, as in `columns(id="INT64")`."""
    return tuple(Column(name, parse_type(type_)) for name, type_ in types.items())
