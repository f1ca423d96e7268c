"""Several registries as one set of schemas, and the rules of their copies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from support.registries import KeptOrders, schema

from onefold.core.errors import InvalidInput, Rejected, TryAgain
from onefold.events.registry.adopted import AdoptedTable, AdoptedTables
from onefold.events.registry.column_mapping import TableColumn
from onefold.events.registry.copies import RegistryCopy, parse_copy
from onefold.events.registry.frozen import freeze
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.registry import Registry
from onefold.events.registry.resolver import ListedRegistry, RegistryList
from onefold.events.registry.schema_key import ModelKey, SchemaKey

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
OWN, CENTRAL = "gs://own/registry", "https://central.example"
CLICK = schema("1-0-0", "click")
VIEW = schema("1-0-0", "view", "com.central")


def registry_of(*schemas: JsonSchema, unusable: Mapping[str, str] | None = None) -> Registry:
    models: dict[ModelKey, tuple[JsonSchema, ...]] = {}
    for one in schemas:
        models[one.key.model_key] = (*models.get(one.key.model_key, ()), one)
    return Registry(models, "", unusable or {})


@dataclass
class FakeRegistry:
    """A registry that can be listed or not, that answers, refuses or is down, and notes what it was asked."""

    registry: Registry
    lists: bool = True
    error: Exception | None = None
    asked: list[str] = field(default_factory=list)

    def read_whole(self) -> Registry | None:
        self._answer("all")
        return self.registry if self.lists else None

    def read_models(self, keys: Collection[SchemaKey]) -> Registry:
        self._answer(" ".join(f"{key.name} {key.version}" for key in keys))
        models = {key.model_key for key in keys}
        found = [one for model, some in self.registry.models.items() if model in models for one in some]
        unusable = {uri: why for uri, why in self.registry.unusable.items() if SchemaKey.parse(uri).model_key in models}
        return registry_of(*found, unusable=unusable)

    def read_adopted(self) -> AdoptedTables:
        return self.registry.adopted

    def _answer(self, question: str) -> None:
        self.asked.append(question)
        if self.error:
            raise self.error


@dataclass
class Pipeline(KeptOrders):
    """Runs of a job with a list of registries; copies are kept as text."""

    fakes: dict[str, FakeRegistry]
    wanted: Sequence[SchemaKey] = ()
    registries: RegistryList | None = None
    now: datetime = NOON
    kept: dict[str, str] = field(default_factory=dict)
    passes: int = 0

    def find(self, registry: str) -> RegistryCopy | None:
        return parse_copy(self.kept[registry]) if registry in self.kept else None

    def save(self, copy: RegistryCopy) -> None:
        self.kept[copy.registry] = copy.to_json()

    def run(self) -> Registry:
        self.now += timedelta(minutes=10)
        registries = self.registries or RegistryList(tuple(map(ListedRegistry, self.fakes)))
        return freeze(registries, lambda one: self.fakes[one.address], self._collect, self, self.now)

    def _collect(self) -> frozenset[SchemaKey]:
        self.passes += 1
        return frozenset(self.wanted)


def down() -> TryAgain:
    return TryAgain("no answer in time")


def pipeline(own: FakeRegistry, central: FakeRegistry, *wanted: JsonSchema) -> Pipeline:
    return Pipeline({OWN: own, CENTRAL: central}, [one.key for one in wanted])


def names(registry: Registry) -> dict[str, str]:
    return {f"{key.name} {key.version}": origin for key, origin in registry.origins.items()}


def test_registries_that_can_be_listed_are_read_whole_and_the_input_is_not() -> None:
    runs = pipeline(FakeRegistry(registry_of(CLICK)), FakeRegistry(registry_of(VIEW)))
    assert names(runs.run()) == {"click 1-0-0": OWN, "view 1-0-0": CENTRAL}
    assert runs.passes == 0


def test_the_first_registry_that_has_a_schema_gives_it() -> None:
    other = schema("1-0-0", "click", page={"type": "string"})
    found = pipeline(FakeRegistry(registry_of(CLICK)), FakeRegistry(registry_of(other))).run()
    assert found.find(CLICK.key) == CLICK
    assert found.origins[CLICK.key] == OWN


def test_a_fitting_vendor_prefix_makes_a_later_registry_the_first() -> None:
    other = schema("1-0-0", "click", page={"type": "string"})
    runs = pipeline(FakeRegistry(registry_of(CLICK)), FakeRegistry(registry_of(other)))
    runs.registries = RegistryList((ListedRegistry(OWN), ListedRegistry(CENTRAL, vendor_prefixes=("com.ac",))))
    assert runs.run().find(CLICK.key) == other


def test_a_registry_that_cannot_be_listed_is_asked_only_for_what_is_missing() -> None:
    central = FakeRegistry(registry_of(CLICK, VIEW), lists=False)
    runs = pipeline(FakeRegistry(registry_of(CLICK)), central, CLICK, VIEW)
    assert names(runs.run()) == {"click 1-0-0": OWN, "view 1-0-0": CENTRAL}
    assert central.asked == ["all", "view 1-0-0"]
    assert runs.passes == 1


def test_a_schema_that_no_registry_has_is_missing() -> None:
    runs = pipeline(FakeRegistry(registry_of(CLICK)), FakeRegistry(registry_of(), lists=False), CLICK, VIEW)
    assert names(runs.run()) == {"click 1-0-0": OWN}


def test_a_schema_to_which_another_refers_is_asked_for() -> None:
    reference = {"$ref": f"{VIEW.key.uri}#"}
    refers = parse_schema({**schema("1-0-0", "click").json, "properties": {"view": reference}})
    central = FakeRegistry(registry_of(VIEW), lists=False)
    found = pipeline(FakeRegistry(registry_of(refers)), central, refers).run()
    assert found.find(VIEW.key) == VIEW


def test_what_the_first_registry_cannot_use_no_later_one_gives() -> None:
    broken = FakeRegistry(registry_of(unusable={CLICK.key.uri: "a key is there twice"}))
    found = pipeline(broken, FakeRegistry(registry_of(CLICK, VIEW))).run()
    assert names(found) == {"view 1-0-0": CENTRAL}
    assert found.unusable == {CLICK.key.uri: "a key is there twice"}


def test_versions_of_two_registries_are_one_model() -> None:
    first, second, third = (schema(version, "click") for version in ("1-0-0", "1-0-1", "1-0-2"))
    found = pipeline(FakeRegistry(registry_of(first, third)), FakeRegistry(registry_of(first, second))).run()
    assert [str(one.key.version) for one in found.models[first.key.model_key]] == ["1-0-0", "1-0-1", "1-0-2"]


def test_a_registry_that_is_down_is_replaced_by_its_copy_and_named() -> None:
    runs = pipeline(FakeRegistry(registry_of(CLICK)), central := FakeRegistry(registry_of(VIEW)), CLICK, VIEW)
    first = runs.run()
    central.error = down()
    second = runs.run()
    assert second.models == first.models
    assert second.stale == {CENTRAL: "no answer in time"}
    central.error = None
    assert runs.run().stale == {}


@pytest.mark.parametrize("lists", [True, False])
def test_a_registry_that_is_down_at_the_first_run_stops_it(lists: bool) -> None:
    central = FakeRegistry(registry_of(VIEW), lists, down())
    with pytest.raises(TryAgain) as caught:
        pipeline(FakeRegistry(registry_of(CLICK)), central, CLICK, VIEW).run()
    assert str(caught.value) == (
        f"the registry {CENTRAL} does not answer, and its copy does not say whether it has {VIEW.key}: "
        "start the job again when it answers (no answer in time)"
    )


def test_a_registry_that_is_down_and_not_needed_stops_nothing() -> None:
    central = FakeRegistry(registry_of(VIEW), lists=False, error=down())
    found = pipeline(FakeRegistry(registry_of(CLICK)), central, CLICK).run()
    assert names(found) == {"click 1-0-0": OWN}
    assert found.stale == {CENTRAL: "no answer in time"}


@pytest.mark.parametrize("lists", [True, False])
def test_a_schema_is_not_missing_because_a_registry_is_down(lists: bool) -> None:
    central = FakeRegistry(registry_of(VIEW), lists)
    runs = pipeline(FakeRegistry(registry_of(CLICK)), central, CLICK, VIEW)
    runs.run()
    central.error = down()
    runs.wanted = [schema("1-0-1", "view", "com.central").key]
    with pytest.raises(TryAgain, match=f"the registry {CENTRAL} does not answer.*view/jsonschema/1-0-1"):
        runs.run()


def test_an_earlier_registry_that_is_down_may_have_what_its_copy_was_never_asked_for() -> None:
    own = FakeRegistry(registry_of(CLICK), lists=False)
    runs = pipeline(own, FakeRegistry(registry_of(VIEW)), CLICK)
    runs.run()
    own.error = down()
    runs.wanted = [CLICK.key, VIEW.key]
    with pytest.raises(TryAgain, match=f"{OWN} does not answer"):
        runs.run()


def test_what_the_copy_of_an_earlier_registry_did_not_have_a_later_one_may_give() -> None:
    own = FakeRegistry(registry_of(CLICK), lists=False)
    runs = pipeline(own, FakeRegistry(registry_of(VIEW)), CLICK, VIEW)
    first = runs.run()
    own.error = down()
    assert runs.run().models == first.models


def test_without_a_time_to_live_every_run_asks() -> None:
    runs = pipeline(FakeRegistry(registry_of(CLICK)), central := FakeRegistry(registry_of(), lists=False), VIEW)
    assert VIEW.key not in runs.run().origins
    central.registry = registry_of(VIEW)
    assert VIEW.key in runs.run().origins


@pytest.mark.parametrize("lists", [True, False])
def test_a_fresh_copy_is_not_asked_again(lists: bool) -> None:
    runs = Pipeline({CENTRAL: (central := FakeRegistry(registry_of(VIEW), lists))}, [VIEW.key])
    runs.registries = RegistryList((ListedRegistry(CENTRAL),), fresh_seconds=3_600)
    first, asked = runs.run(), len(central.asked)
    assert runs.run().models == first.models
    assert len(central.asked) == asked
    runs.now += timedelta(hours=1)
    runs.run()
    assert len(central.asked) > asked


@pytest.mark.parametrize("lists", [True, False])
def test_that_a_schema_is_missing_is_never_taken_from_a_fresh_copy(lists: bool) -> None:
    runs = Pipeline({CENTRAL: (central := FakeRegistry(registry_of(VIEW), lists))}, [VIEW.key])
    runs.registries = RegistryList((ListedRegistry(CENTRAL),), fresh_seconds=3_600)
    runs.run()
    newer = schema("1-0-1", "view", "com.central")
    central.registry, runs.wanted = registry_of(VIEW, newer), [newer.key]
    assert newer.key in runs.run().origins


def test_a_registry_that_can_no_longer_be_listed_is_asked_for_schemas() -> None:
    runs = pipeline(FakeRegistry(registry_of(CLICK)), central := FakeRegistry(registry_of(VIEW)), VIEW)
    runs.run()
    central.lists = False
    central.registry = registry_of()
    assert VIEW.key not in runs.run().origins


def test_a_registry_that_refuses_stops_the_run_even_with_a_copy() -> None:
    runs = pipeline(FakeRegistry(registry_of(CLICK)), central := FakeRegistry(registry_of(VIEW)), VIEW)
    runs.run()
    central.error = Rejected("the server answers 403")
    with pytest.raises(Rejected, match="403"):
        runs.run()


def test_a_folder_of_this_machine_has_no_copy() -> None:
    runs = Pipeline({"/own": FakeRegistry(registry_of(CLICK))})
    runs.run()
    assert runs.kept == {}


def test_a_copy_is_read_back_as_it_was() -> None:
    copy = RegistryCopy(CENTRAL).with_models(
        frozenset([VIEW.key.model_key, CLICK.key.model_key]), registry_of(VIEW, unusable={CLICK.key.uri: "broken"}), NOON
    )
    assert parse_copy(copy.to_json()) == copy
    listed = RegistryCopy(CENTRAL).listed(registry_of(CLICK, VIEW), NOON)
    assert parse_copy(listed.to_json()) == listed


@pytest.mark.parametrize("text", ["", "[]", '{"form": 2}', '{"form": 1}', '{"form": 1, "schemas": [{}]}'])
def test_a_copy_that_cannot_be_read_is_none(text: str) -> None:
    assert parse_copy(text) is None
    assert parse_copy(RegistryCopy(CENTRAL).listed(registry_of(CLICK), NOON).to_json()[:-9]) is None


def test_registries_without_a_schema_are_refused_unless_one_cannot_be_listed() -> None:
    empty = FakeRegistry(registry_of())
    with pytest.raises(InvalidInput, match=f"{OWN}, {CENTRAL}: expected a registry, got no schema"):
        pipeline(empty, empty).run()
    assert pipeline(empty, FakeRegistry(registry_of(VIEW), lists=False)).run().models == {}


@pytest.mark.parametrize("lists", [True, False])
def test_of_two_adopted_tables_that_of_the_first_registry_counts_also_if_it_is_asked_nothing(lists: bool) -> None:
    columns = (TableColumn("id", "BIGINT"),)
    tables = [AdoptedTable(CLICK.key.model_key, "redshift", f"atomic.{name}", columns, {}) for name in ("own", "central")]
    own, central = (
        replace(registry_of(one), adopted={("redshift", CLICK.key.model_key): table})
        for one, table in zip((CLICK, VIEW), tables, strict=True)
    )
    runs = pipeline(fake := FakeRegistry(own, lists), FakeRegistry(central))
    assert list(runs.run().adopted.values()) == tables[:1]
    fake.error = down()
    assert list(runs.run().adopted.values()) == tables[:1]
