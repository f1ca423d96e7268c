"""The order of the versions of a model that several registries have, in one run and from run to run."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.registries import KeptOrders, folder_store, schema

from onefold.adapters.folder_objects import FolderObjects
from onefold.core.errors import InvalidInput
from onefold.events.registry.copies import RegistryCopy
from onefold.events.registry.frozen import freeze
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.kept_orders import kept_order, parse_orders
from onefold.events.registry.merged import merged_order
from onefold.events.registry.reading import RegistryAt
from onefold.events.registry.registry import Registry
from onefold.events.registry.resolver import ListedRegistry, RegistryList
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.plan import plan_shred

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


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(VERSIONS))))
def test_whatever_is_published_later_comes_behind_what_a_run_has_used(published: list[tuple[int, SchemaKey]]) -> None:
    orders: list[list[SchemaKey]] = [[], [], []]
    used: tuple[SchemaKey, ...] = ()
    for registry, version in published:
        if version not in orders[registry]:
            orders[registry].append(version)
        before, used = used, kept_order(used, orders)
        assert used[: len(before)] == before
        assert sorted(used) == sorted({key for order in orders for key in order})


class Runs(KeptOrders):
    """Runs with folders of this machine, which have no copies."""

    def find(self, registry: str) -> RegistryCopy | None:  # noqa: ARG002 as the other copies
        return None

    def save(self, copy: RegistryCopy) -> None:
        raise AssertionError(f"a copy of {copy.registry}")

    def read(self, *folders: Path) -> Registry:
        registries = RegistryList(tuple(ListedRegistry(str(one)) for one in folders))
        return freeze(registries, self._open, lambda: frozenset(), self, datetime.now(UTC))

    def versions(self, *folders: Path) -> list[str]:
        return [str(one.key.version) for one in self.read(*folders).models[schema().key.model_key]]

    def _open(self, one: ListedRegistry) -> RegistryAt:
        return RegistryAt(one.address, FolderObjects(Path(one.address)))


def publish(folder: Path, *schemas: JsonSchema) -> None:
    for one in schemas:
        folder_store(folder).add(one)


def test_a_run_keeps_the_order_of_earlier_runs_also_when_a_registry_joins_or_leaves(tmp_path: Path) -> None:
    own, central, runs = tmp_path / "own", tmp_path / "central", Runs()
    mine, theirs = schema("1-0-1", mine={"type": "string"}), schema("1-1-0", theirs={"type": "string"})
    publish(own, schema(), mine)
    assert runs.versions(own) == ["1-0-0", "1-0-1"]
    publish(central, schema(), theirs)
    assert runs.versions(own, central) == ["1-0-0", "1-0-1", "1-1-0"]
    assert runs.versions(central) == ["1-0-0", "1-1-0"]
    assert runs.versions(central, own) == ["1-0-0", "1-0-1", "1-1-0"]


def test_a_schema_keeps_its_table_when_a_registry_before_its_own_gets_one_of_the_same_name(tmp_path: Path) -> None:
    own, central, runs = tmp_path / "own", tmp_path / "central", Runs()
    old, twin = schema(name="click", vendor="com.acme.ad"), schema(name="ad_click", vendor="com.acme")

    def table(of: JsonSchema, *folders: Path) -> str:
        made = plan_shred(runs.read(*folders), "csv", "self-describing")
        return made.tables[made.schemas[of.key.uri].table or 0].name

    publish(central, old)
    assert table(old, central) == "com_acme_ad_click_1"
    publish(own, twin)
    assert table(old, own, central) == "com_acme_ad_click_1"
    assert table(twin, own, central) == table(twin, own) != "com_acme_ad_click_1"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"form": 1, "orders": {"a": ["1-0-0"]}}'])
def test_damaged_orders_stop_a_run_and_say_what_to_do(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^out/orders.json: expected the orders of schemas, got .*bring it back"):
        parse_orders(text, "out/orders.json")


def test_orders_of_a_later_release_stop_a_run() -> None:
    with pytest.raises(InvalidInput, match=r"^out/orders.json has the form '2' of a later release: run that release$"):
        parse_orders('{"form": 2}', "out/orders.json")
