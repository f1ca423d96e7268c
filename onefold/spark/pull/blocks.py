"""Batches of Arrow as blocks of lines: the bytes of a batch go to a file as they are, and no row passes through Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from onefold.pull.read.part import FILE_DAYS, Block, day_group
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.queries import COUNTED
from onefold.spark.pull.lines import DAY_OF_ROW, LINE, LOST, NUMBER


def blocks_of(batch: pa.RecordBatch, plan: TablePlan, losses: Mapping[int, tuple[str, str]]) -> Iterator[Block]:
    """Yield a batch of `onefold.spark.pull.lines.line_frame`: a block for each replaced day and each group of others.

    Args:
        batch: the lines, each with its line break.
        plan: of the pull.
        losses: the columns that may lose values.
    """
    rest = batch
    for day in plan.replaced_days:
        is_day = pc.equal(rest.column(DAY_OF_ROW), pa.scalar(day))
        if _count(is_day):
            yield _block_of(rest.filter(is_day), plan, losses, day)
            rest = rest.filter(pc.invert(is_day))
    groups = {day_group(day) for day in pc.unique(rest.column(DAY_OF_ROW)).to_pylist()}
    for group in sorted(groups):
        yield _block_of(_of_group(rest, group) if len(groups) > 1 else rest, plan, losses, None)


def _of_group(batch: pa.RecordBatch, group: int) -> pa.RecordBatch:
    days = batch.column(DAY_OF_ROW)
    first = date.fromordinal(max(group * FILE_DAYS, 1))
    last = date.fromordinal(min((group + 1) * FILE_DAYS - 1, date.max.toordinal()))
    return batch.filter(pc.and_(pc.greater_equal(days, pa.scalar(first)), pc.less_equal(days, pa.scalar(last))))


def _block_of(batch: pa.RecordBatch, plan: TablePlan, losses: Mapping[int, tuple[str, str]], replaced: date | None) -> Block:
    days = pc.value_counts(batch.column(DAY_OF_ROW)).to_pylist()
    readings = batch.column(NUMBER)
    ends = pc.min_max(readings).as_py()
    return Block(
        line_bytes(batch.column(LINE)),
        {entry["values"]: entry["counts"] for entry in days},
        _whole(ends["min"]),
        _whole(ends["max"]),
        _count(pc.greater(readings, pa.scalar(Decimal(plan.border), readings.type))) if plan.border is not None else 0,
        readings.null_count if plan.watermark else 0,
        {loss: count for number, loss in losses.items() if (count := _count(batch.column(f"{LOST}{number}")))},
        replaced,
        _whole(batch.column(COUNTED)[0].as_py()) if plan.is_counted else None,
    )


def line_bytes(lines: pa.Array) -> bytes:
    """Return the bytes of texts, one after the other: Arrow has them so, and says in offsets where each begins."""
    if not len(lines):
        return b""
    _, offsets, data = lines.buffers()
    wide = pa.types.is_large_string(lines.type)
    at = pa.Array.from_buffers(pa.int64() if wide else pa.int32(), len(lines) + 1, [None, offsets], offset=lines.offset)
    found: bytes = data[at[0].as_py() : at[len(lines)].as_py()].to_pybytes()
    return found


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _count(flags: pa.Array) -> int:
    return pc.sum(flags).as_py() or 0
