"""The rows of each version that a view over a base reads: those that landed since a day, or all of them.

Each version has its filter in its own branch of the text. So a version that no merge has read is read whole, and the filters
of the others stay. A filter begins with a day, as the partitions of versioned tables do: BigQuery reads a partition whole
in any case, and the merges of one day leave the text as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from onefold.changelog.metadata import LANDED_AT
from onefold.merge.change_query import table_window, window_sql
from onefold.merge.change_tables import ChangeTable
from onefold.schema.versions import Version


@dataclass(frozen=True)
class Windows:
    """The rows that a text over versions reads.

    Attributes:
        changes: by version, the change tables with the times of landing from which they are read. A version that is not
            among them is read whole.
        parts: by version, the item of FROM with its rows. A version that is not among them has those of its table.
    """

    changes: Mapping[str, ChangeTable] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)

    def condition(self, row: str, version: str) -> str | None:
        """Return the condition for the rows of a version that are read; None where it is read whole.

        Args:
            row: the alias of the row with a dot, such as `v.`.
            version: the version; empty for a change table without versions.
        """
        source = self.changes.get(version)
        return table_window(row, source) if source else None

    def condition_of_leaf(self, versions: Iterable[Version]) -> str | None:
        """Return the condition for the rows of a leaf view: from the earliest time of its versions on.

        The text of a leaf has no filter, because its name is a digest of its text. A version without times of landing has
        rows without a time, which every window holds.

        Args:
            versions: the versions that the leaf reads.
        """
        sources = [self.changes.get(version.id) for version in versions if version.schema.has(LANDED_AT)]
        since = [source.since if source and source.way is None else None for source in sources]
        known = [time for time in since if time]
        return window_sql("", min(known)) if known and len(known) == len(since) else None


ALL_ROWS = Windows()
"""The windows of a text that reads all rows of all versions."""


def windows_by_day(changes: Iterable[ChangeTable]) -> Windows:
    """Return the windows of change tables, each from the beginning of its first day in UTC on.

    Args:
        changes: the change tables, each with the time of landing from which a merge would read it.
    """
    return Windows({one.version.id: replace(one, since=one.since and _day(one.since)) for one in changes})


def _day(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
