"""The keys that lie in a day and that a pull did not read any more: each of them gets a deletion in the same load.

The deletion has the watermark of the row that it replaces and the time of this read. So it comes after every older copy of
the row, in whatever day that copy lies, and before every later change. A deletion that lies in the day already is carried
over, and keeps its place in the order. A row that is still at the source, with a lower watermark, gets such a place, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from onefold.changelog.metadata import METADATA
from onefold.landing.key_values import landing_value
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pulled_table import DAY
from onefold.pull.read.rows import added_values, metadata
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import join_all
from onefold.schema.recast import keeps_values
from onefold.schema.versions import Version

LOOKED_UP = 0xFFFF_FFFF
"""The part of the sequence of a row whose key was looked up, deletions among them: greater than that of any key range."""


@dataclass(frozen=True)
class KeyColumns:
    """The columns of the key: in the present version, and in the least common type of all versions.

    Attributes:
        present: as pulled rows have them.
        common: the same columns in their common types.
    """

    present: tuple[Column, ...]
    common: tuple[Column, ...]

    @classmethod
    def of(cls, plan: TablePlan, versions: Sequence[Version]) -> KeyColumns:
        """Return the columns of the key of a table.

        Args:
            plan: of the pull.
            versions: all versions of the table.
        """
        present = tuple(Schema(plan.target.columns).only(plan.keys))
        types = [[one.type, *(found.type for v in versions if (found := v.schema.get(one.name)))] for one in present]
        common = (Column(one.name, join_all(some)) for one, some in zip(present, types, strict=True))
        return cls(present, tuple(common))


@dataclass(frozen=True)
class Landed:
    """A version with rows, and the versioned table that takes the deletions of its keys.

    Attributes:
        version: the version in which rows have landed.
        target: the present version where its key holds every value of the key; else the version itself.
    """

    version: Version
    target: Version

    @classmethod
    def of(cls, version: Version, present: Version, keys: KeyColumns) -> Landed:
        """Return the version with its target.

        Args:
            version: the version in which rows have landed.
            present: the version of the pull.
            keys: the columns of the key.
        """
        pairs = ((version.schema.get(key.name), present.schema.get(key.name), key) for key in keys.common)
        kept = all(not old or (new and keeps_values(old.type, new.type, key.type)) for old, new, key in pairs)
        return cls(version, present if kept else version)


def deletion_line(plan: TablePlan, target: Version, keys: KeyColumns, found: Mapping[str, Any], day: date, line: int) -> str:
    """Return the line of a file for a deletion.

    Args:
        plan: of the pull.
        target: the version that takes it.
        keys: the columns of the key.
        found: the row of `DayRows.missing`.
        day: the day in which it lies.
        line: the number of the key within the load.
    """
    values = {
        column.name: value
        for number, key in enumerate(keys.common)
        if (column := target.schema.get(key.name)) and (value := landing_value(column.type, found[f"v{number}"])) is not None
    }
    place = found["sequence"] if found["deleted"] else place_above(plan, found["sequence"], line)
    change = metadata(plan, "DELETE", place)
    return json.dumps({**values, **added_values(plan), METADATA: change, DAY.name: day.isoformat()}, ensure_ascii=False)


def place_above(plan: TablePlan, replaced: str, line: int) -> str:
    """Return the sequence of a row that was looked up: directly above the change that it replaces, and above all reads.

    Args:
        plan: of the pull.
        replaced: the sequence of the change.
        line: the number of the key within the load.
    """
    watermark, read, *_ = (int(section, 16) for section in replaced.split("/"))
    # The clock of the source may have been set back since the row was read.
    return f"{watermark:X}/{max(plan.read_at, read + 1):X}/{LOOKED_UP:X}/{line:X}"
