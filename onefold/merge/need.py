"""Which of many tables a merge works on now, why, and in which order.

A MERGE reads and rewrites the blocks of a base that its rows touch, and of a busy table that is every block, however few
rows landed. So a table may wait (`merge_when` in onefold.yaml) until much has landed for its base, or its last merge is old.
Its current view is up to date all the same. What landed is told by the sizes of tables, which cost nothing to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from onefold.core.errors import OnefoldError
from onefold.core.text import reason_of, size_text
from onefold.merge.base_table import base_table
from onefold.merge.dataset import Candidate, is_newer
from onefold.merge.merge_state import MergeState
from onefold.merge.stored_base import read_base, read_log
from onefold.ports.listing import StoredSize
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.table_rules import MergeWhen
from onefold.settings.environment import Settings

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class MergeNeed:
    """Whether a table is merged now.

    table: the table and its change tables.
    state: `waiting` has new rows, but too few of them for now.
    reason: why, in words for people.
    last: when the last merge began; None where there was none.
    age: how long ago that was; None where there was no merge, or nothing new has landed.
    base_bytes: the size of the base, where the table is merged because of what landed; None where its age decides.
    """

    table: Candidate
    state: Literal["due", "waiting", "up_to_date"]
    reason: str
    last: datetime | None = None
    age: timedelta | None = None
    base_bytes: int | None = None

    @property
    def rank(self) -> tuple[bool, datetime, int]:
        """The place among tables that are merged: the oldest merge first, then by cost what is due by what landed."""
        if self.base_bytes is None:
            return False, self.last or _NEVER, 0
        return True, _NEVER, self.base_bytes


def in_order(needs: Iterable[MergeNeed]) -> list[MergeNeed]:
    """Return tables in the order of their merges: never merged ones first, then the oldest merge, then the cheapest.

    A batch that is ended by its time limit leaves the end of the list to the next one, where it comes first.
    """
    return sorted(needs, key=lambda need: need.rank)


def read_need(warehouse: BaseWarehouse, table: Candidate, settings: Settings) -> MergeNeed:
    """Return whether a table is merged now.

    Rows are never overlooked: where it is unknown when a change table was written, or how much landed, the table is due.
    So is a table that cannot be looked at: its merge meets the same error, and reports it.

    Args:
        warehouse: where the tables are.
        table: the table.
        settings: those of the installation; versions that are retired do not count.
    """
    try:
        return _need(warehouse, table, settings)
    except OnefoldError as error:
        return MergeNeed(table, "due", reason_of(error))


def landed_bytes(sizes: Mapping[str, StoredSize | None], state: MergeState) -> int | None:
    """Return about how many bytes landed since the last merge, the overlap of its window included; None where it is unknown.

    A merge logs how many rows had landed before the time from which the next one reads. Where partitions expire, or there
    are fewer rows by now, nothing is known.

    Args:
        sizes: the present sizes of the versions that were merged.
        state: what the log says.

    Examples:
        >>> from onefold.merge.merge_state import LandedRows
        >>> state = MergeState(landed={"abc": LandedRows(_NEVER, 90)})
        >>> landed_bytes({"abc": StoredSize(100, 5_000)}, state)
        500
    """
    total = 0
    for version, size in sizes.items():
        counted = state.landed.get(version)
        if size is None or size.size is None or size.expires or counted is None or size.rows < counted.rows:
            return None
        total += (size.rows - counted.rows) * size.size // max(size.rows, 1)
    return total


def weighed(
    table: Candidate, when: MergeWhen, last: datetime, age: timedelta, landed: int | None, base_bytes: int | None
) -> MergeNeed:
    """Return whether a table with new rows is merged now.

    Args:
        table: the table.
        when: the setting of the table.
        last: when the last merge began.
        age: how long ago that was.
        landed: the bytes that landed since; None where that is unknown.
        base_bytes: the size of the base; None where it is unknown.
    """
    hours = age / timedelta(hours=1)
    if hours >= when.max_age_hours:
        return MergeNeed(table, "due", f"its last merge is {hours:.1f} hours old", last, age)
    if landed is None or not base_bytes:
        return MergeNeed(table, "due", "it is unknown how much landed since the last merge", last, age)
    percent = 100 * landed / base_bytes
    found = f"{size_text(landed)} landed, {percent:.1f} % of the base"
    if percent >= when.landed_percent:
        return MergeNeed(table, "due", found, last, age, base_bytes)
    limits = f"{when.landed_percent:g} %, or {when.max_age_hours} hours after its last merge, which is {hours:.1f} hours old"
    return MergeNeed(table, "waiting", f"{found}: it waits for {limits}", last, age)


def _need(warehouse: BaseWarehouse, table: Candidate, settings: Settings) -> MergeNeed:
    rules = settings.rules_for(table.table)
    place = rules.base_place(table.table)
    base = read_base(warehouse, place)
    if base is None:
        return MergeNeed(table, "due", "it has no base yet")
    state = read_log(warehouse, place, base)
    used = {version: id_ for version, id_ in table.changes.items() if version not in rules.retired}
    merged = {version: start for version in used if (start := state.start_of(version))}
    last = min(merged.values(), default=None)
    newer = {version for version, id_ in used.items() if is_newer(warehouse, version, id_, state)}
    if not newer:
        return MergeNeed(table, "up_to_date", "no row is newer than the last merge", last)
    age = state.now - last if last and state.now else None
    if not newer <= merged.keys():
        return MergeNeed(table, "due", "no merge has read one of its versions", last, age)
    if rules.merge_when is None or last is None or age is None:
        return MergeNeed(table, "due", "rows landed since the last merge", last, age)
    landed = landed_bytes({version: warehouse.table_size(used[version]) for version in merged}, state)
    size = warehouse.table_size(base_table(place))
    return weighed(table, rules.merge_when, last, age, landed, size.size if size else None)
