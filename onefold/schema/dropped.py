"""The columns and fields that the newest version of a table lacks."""

from __future__ import annotations

from collections.abc import Sequence

from onefold.schema.columns import Column, Schema
from onefold.schema.diff import compare
from onefold.schema.versions import Version


def dropped_paths(full: Sequence[Column], versions: Sequence[Version]) -> tuple[str, ...]:
    """Return the columns and fields that a version has and the newest one lacks.

    Args:
        full: the columns of the view without a contract.
        versions: the versions that it reads, in their order; at least one.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> old = tuple(Column(name, parse_type("INT64")) for name in ("id", "fax"))
        >>> dropped_paths(old, [Version("a", old), Version("b", old[:1])])
        ('fax',)
    """
    known = Schema(column for version in versions for column in version.columns)
    landed = [column for column in full if known.get(column.name)]
    return tuple(change.path for change in compare(versions[-1].columns, landed) if change.kind == "added")
