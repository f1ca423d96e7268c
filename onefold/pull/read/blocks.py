"""Lines of rows as blocks: one for each day that is replaced, and one for each group of other days."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import compress

from onefold.pull.read.clock import time_of
from onefold.pull.read.days import row_day
from onefold.pull.read.part import Block, Losses, day_group
from onefold.pull.read.plan import TablePlan


@dataclass(frozen=True)
class RowLines:
    """Some rows of a key range, and what their lines are counted by.

    Attributes:
        lines: a line of each row, with its line break.
        readings: the watermark of each row as a number; None where it has none.
        days: the day of each row.
        losses: the values that BigQuery cannot hold.
        counted: as `Block` has it.
    """

    lines: Sequence[bytes]
    readings: Sequence[int | None]
    days: Sequence[date]
    losses: Losses = field(default_factory=dict)
    counted: int | None = None


def grouped(plan: TablePlan, rows: RowLines) -> Iterator[Block]:
    """Yield rows as blocks; what they have lost is counted in the first one.

    Args:
        plan: of the pull.
        rows: the rows.
    """
    days = Counter(rows.days)
    groups = {day: day if day in plan.replaced_days else day_group(day) for day in days}
    losses = rows.losses
    for group in dict.fromkeys(groups.values()):
        of_group = {day: count for day, count in days.items() if groups[day] == group}
        yield _block(plan, rows, of_group, losses, group if isinstance(group, date) else None)
        losses = {}


def _block(plan: TablePlan, rows: RowLines, days: Mapping[date, int], losses: Losses, replaced: date | None) -> Block:
    chosen = [day in days for day in rows.days]
    readings = [reading for reading in compress(rows.readings, chosen) if reading is not None]
    count, border = sum(days.values()), plan.border
    return Block(
        b"".join(compress(rows.lines, chosen)),
        days,
        min(readings, default=None),
        max(readings, default=None),
        0 if border is None else sum(reading > border for reading in readings),
        count - len(readings) if plan.watermark else 0,
        losses,
        replaced,
        rows.counted,
    )


def day_of(plan: TablePlan, reading: int | None, shown: str | None) -> date:
    """Return the day of a row of a pull; the arguments are those of `onefold.pull.read.days.row_day`."""
    if plan.watermark is None:
        return time_of(plan.read_at).date()
    return row_day(plan.watermark.kind, reading, shown, plan.range.key_days)
