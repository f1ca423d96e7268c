"""Batches of Arrow as blocks, without Spark."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pyarrow as pa
from support.load_scene import NOON, LoadScene

from onefold.spark.pull.blocks import blocks_of


def test_a_batch_of_many_days_is_blocks_of_a_thousand_days_at_most() -> None:
    scene = LoadScene()
    plan = scene.puller.plan(scene.process(), "15m", NOON)
    days = [*(date(1, 1, 1) + timedelta(days=number * 700) for number in range(20)), date(9999, 12, 31)]
    readings = pa.array([Decimal(number) for number in range(len(days))], pa.decimal128(20, 0))
    lines = pa.array([f"{number}\n" for number in range(len(days))])
    batch = pa.record_batch([lines, pa.array(days), readings], ["line", "day", "reading"])
    blocks = list(blocks_of(batch, plan, {}))
    assert all((max(block.days) - min(block.days)).days < 1_000 for block in blocks)
    assert b"".join(block.lines for block in blocks).split() == [str(number).encode() for number in range(len(days))]
    assert len({block.group for block in blocks}) == len(blocks)
