"""What a user may decide about one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.casts import UTC
from onefold.schema.types import Type


@dataclass(frozen=True)
class TableRules:
    """How the versions of one table become one view.

    conversions: `lossless` is the type tree; `classic` the two rules of the published predecessor.
    time_zone: the zone in which a DATETIME is read where a TIMESTAMP is wanted.
    version_column: the name of a first column that tells which version a row came from.
    types: target types by column name in lower case, in place of the least common type.
    retired: versions that are left out, so that their tables can be dropped.
    keys: the columns whose values identify a row of the source.
    overlap_minutes: how much of what an earlier merge may have read is read again: more than a row needs from the time of
        its landing until it can be read.
    names: how the versioned tables of its dataset are named.
    """

    conversions: Literal["lossless", "classic"] = "lossless"
    time_zone: str = UTC
    version_column: str | None = None
    types: tuple[tuple[str, Type], ...] = ()
    retired: frozenset[str] = field(default_factory=frozenset)
    keys: tuple[str, ...] = ()
    overlap_minutes: int = 60
    names: VersionedNames = DEFAULT_NAMES
