"""The memory of stages over many rows: what the figures and the graph of `benchmarks.many_rows` are made of."""

from __future__ import annotations

import os
from xml.etree import ElementTree

import pytest

from benchmarks.many_rows import STAGES, Measured, graph, resident

pytestmark = pytest.mark.long

FLAT = Measured("pull", 4_000, [(second, 100.0 + (second == 5)) for second in range(9)])
GROWING = Measured("merge", 8_000, [(second, 50.0 * second) for second in range(9)])


def test_a_stage_is_told_by_the_medians_of_its_quarters_and_its_peak() -> None:
    assert FLAT.line() == ("pull", "4,000", "8", "500", "100", "100", "101")
    assert GROWING.line() == ("merge", "8,000", "8", "1,000", "150", "350", "400")


def test_the_graph_has_a_line_for_each_stage_from_its_begin_to_its_end() -> None:
    found = [one for one in ElementTree.fromstring(graph([FLAT, GROWING])).iter() if one.tag.endswith("polyline")]
    points = [[tuple(map(float, point.split(","))) for point in (one.get("points") or "").split()] for one in found]
    assert [len(line) for line in points] == [9, 9]
    assert points[0][0][0] == points[1][0][0] < points[0][-1][0] == points[1][-1][0]
    assert points[1][0][1] > points[1][-1][1]  # more memory is higher up


def test_the_memory_of_a_process_is_that_of_its_children_too() -> None:
    assert 5 < resident(os.getpid()) < resident(1) + 1e6


def test_all_stages_have_a_name() -> None:
    assert list(STAGES) == ["pull", "copy", "merge", "shred"]
