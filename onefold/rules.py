"""What a user may decide about one unified view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from onefold.conversions import UTC
from onefold.types import Type


@dataclass(frozen=True)
class Rules:
    """How the versions of one table become one view.

    conversions: `lossless` is the type tree; `classic` the two rules of the published predecessor.
    time_zone: the zone in which a DATETIME is read where a TIMESTAMP is wanted.
    version_column: the name of a first column that tells which version a row came from.
    types: target types by column name in lower case, in place of the least common type.
    retired: versions that are left out, so that their tables can be dropped.
    """

    conversions: Literal["lossless", "classic"] = "lossless"
    time_zone: str = UTC
    version_column: str | None = None
    types: tuple[tuple[str, Type], ...] = ()
    retired: frozenset[str] = field(default_factory=frozenset)
