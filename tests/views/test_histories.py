"""Random histories: after each step both views can be read, and equal a model in plain Python.

Versions appear, are dropped, created again, retired and altered in place, the settings change, and rows land; messages and
merges come in any order, and several times.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.random_history import VALUES, RandomHistory
from support.seeding import examples

pytestmark = pytest.mark.long

numbers = st.integers(0, 9)
types = st.sampled_from(list(VALUES))
changes = st.tuples(st.just("change"), numbers, st.sampled_from(["INSERT", "UPDATE-INSERT", "DELETE"]), st.integers(1, 3))
onefold = st.tuples(st.sampled_from(["message", "merge"]))
of_versions = st.one_of(
    st.tuples(st.just("create"), types),
    st.tuples(st.just("create_again"), numbers, types),
    st.tuples(st.sampled_from(["drop", "alter", "retire"]), numbers),
    st.tuples(st.just("text")),
)
# Rows and what Onefold does come more often than changes of versions, so that few steps go by without an effect.
steps = st.one_of(changes, changes, onefold, onefold, of_versions)

EVERY_STEP: list[tuple[Any, ...]] = [
    ("merge",), ("create", "INT64"), ("change", 1, "UPDATE-INSERT", 1), ("change", 1, "INSERT", 2), ("merge",),
    ("alter", 1), ("change", 1, "INSERT", 3), ("message",), ("merge",), ("text",), ("message",), ("merge",),
    ("retire", 0), ("message",), ("merge",), ("retire", 0), ("message",), ("drop", 0), ("message",), ("merge",),
    ("create_again", 0, "NUMERIC"), ("change", 0, "DELETE", 2), ("message",), ("merge",), ("text",), ("message",),
    ("merge",),
]  # fmt: skip


@settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(steps, min_size=5, max_size=10))
@example(history=EVERY_STEP)
def test_after_each_step_both_views_are_what_they_have_to_be(dataset: EmulatedDataset, history: list[Any]) -> None:
    scene = RandomHistory(dataset)
    scene.create("BOOL")
    scene.change(0, "INSERT", 1)
    for name, *arguments in history:
        getattr(scene, name)(*arguments)
        scene.check()
