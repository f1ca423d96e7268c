"""The order of the versions of a model that several registries have."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from onefold.events.registry.merged import merged_order
from onefold.events.registry.schema_key import SchemaKey

VERSIONS = [SchemaKey.parse(f"com.acme/a/jsonschema/1-0-{number}") for number in range(5)]
ORDERS = st.lists(st.lists(st.sampled_from(VERSIONS), unique=True), max_size=3)


@given(ORDERS)
def test_merged_orders_have_each_version_once_and_keep_the_first_order(orders: list[list[SchemaKey]]) -> None:
    merged = merged_order(orders)
    assert sorted(merged) == sorted({key for order in orders for key in order})
    assert [key for key in merged if key in orders[0]] == orders[0] if orders else merged == ()


def test_a_version_that_one_registry_adds_moves_no_other() -> None:
    for first, second in permutations([VERSIONS[:2], [VERSIONS[0], VERSIONS[3]]]):
        before = merged_order([first, second])
        after = merged_order([[*first, VERSIONS[4]], second])
        assert [key for key in after if key in before] == list(before)
