"""A registry in a folder or a bucket: the order of addition, crashes, and what is never changed."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from support.fake_gcs import ObjectStore
from support.registries import BUCKET, Killed, KilledAt, bucket_store, folder_store, history, schema, store_of

from onefold.adapters.folder_objects import FolderObjects
from onefold.adapters.gcs import GcsObjects
from onefold.core.errors import InvalidInput, Rejected, SchemaInvalid, TryAgain
from onefold.events.registry.adopted import AdoptedTable, record_adopted
from onefold.events.registry.column_mapping import TableColumn
from onefold.events.registry.folder import read_folder
from onefold.events.registry.index import INDEX_PATH, Index, parse_index
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.schema_key import ModelKey
from onefold.events.registry.store import AdditionOutcome, RegistryStore, SchemaExists
from onefold.ports.objects import ObjectWriter

Place = tuple[str, Callable[[], ObjectWriter]]
MODEL = ModelKey.parse("com.acme/ad_click/jsonschema/1")


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path, object_store: ObjectStore) -> Place:  # noqa: ARG001
    """The address of a registry, and a function that connects another process to it."""
    if request.param == "folder":
        return str(tmp_path), lambda: FolderObjects(tmp_path)
    objects = GcsObjects()  # it keeps nothing but a connection
    return BUCKET, lambda: objects


def opened(place: Place, patches: bool = False) -> RegistryStore:
    return store_of(place[0], place[1](), patches)


def contents(place: Place) -> dict[str, JsonSchema | None]:
    """What another process reads: the schemas in the order of addition."""
    store = opened(place)
    return {key.path: store.find(key) for key in store.list_keys()}


def objects_of(place: Place, schemas: list[JsonSchema]) -> list[object]:
    """The objects of schemas as they are stored, without the index."""
    found = [place[1]().find(f"{place[0]}/schemas/{one.key.path}") for one in schemas]
    return [json.loads(one.data) if one else None for one in found]


def test_schemas_keep_the_order_of_addition_and_not_that_of_their_numbers(place: Place) -> None:
    numbers = ["1-0-0", "1-1-0", "1-2-0", "1-0-1", "1-2-1", "2-0-0"]
    for number in numbers:
        assert opened(place).add(schema(number)) is AdditionOutcome.ADDED
    store = opened(place)
    assert [str(key.version) for key in store.list_keys()] == numbers
    assert [str(key.version) for key in store.versions(MODEL)] == numbers[:-1]


def test_an_addition_that_is_repeated_changes_nothing(place: Place) -> None:
    first, second = history(additions=2)
    opened(place).add(first)
    opened(place).add(second)
    assert opened(place).add(first) is AdditionOutcome.UNCHANGED
    assert list(contents(place).values()) == [first, second]


def test_another_schema_under_a_key_is_refused_and_replaces_it_only_where_patches_are_allowed(place: Place) -> None:
    first, second = history(additions=2)
    for one in (first, second):
        opened(place).add(one)
    other = schema("1-0-0", added={"type": "boolean"})
    with pytest.raises(SchemaExists, match="another schema under this key"):
        opened(place).add(other)
    assert opened(place, patches=True).add(other) is AdditionOutcome.PATCHED
    assert list(contents(place).values()) == [other, second]
    assert objects_of(place, [other, second]) == [other.json, second.json]


def test_a_schema_whose_table_was_adopted_for_another_one_is_refused_and_more_versions_are_not(tmp_path: Path) -> None:
    first, later = history("ad", additions=2)
    store = folder_store(tmp_path)
    store.add(schema(name="other"))
    columns = (TableColumn("root_id", "CHAR(36)"),)
    for name in ("com_acme_ad_click_1", "com_acme_ad_1"):
        model = schema(name="other").key.model_key if name != "com_acme_ad_1" else first.key.model_key
        table = AdoptedTable(model, "redshift", f"atomic.{name.upper()}", columns, {})
        record_adopted(str(tmp_path), FolderObjects(tmp_path), table)
    with pytest.raises(SchemaInvalid) as refused:
        store.add(schema(name="ad_click"))
    assert str(refused.value) == (
        "/self/name: its table, com_acme_ad_click_1, was adopted in redshift for com.acme/other/jsonschema/1, "
        "whose rows it has: use another vendor or name"
    )
    assert [store.add(one) for one in (first, later)] == [AdditionOutcome.ADDED] * 2


def test_a_check_adds_nothing(place: Place) -> None:
    assert opened(place).check(schema()) is AdditionOutcome.ADDED
    assert opened(place).list_keys() == ()


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, 9))
def test_after_a_crash_at_any_write_every_schema_is_there_once_and_in_order(place: Place, number: int, before: bool) -> None:
    schemas = [*history(additions=3), schema(name="other")]
    killed = KilledAt(place[1](), number, before)
    with contextlib.suppress(Killed):
        for one in schemas:
            store_of(place[0], killed).add(one)
    assert killed.writes == number  # two writes for each of the four additions
    read = contents(place)
    assert list(read.values()) == schemas[: len(read)]
    for one in schemas:
        opened(place).add(one)
    assert list(contents(place).values()) == schemas
    assert objects_of(place, schemas) == [one.json for one in schemas]


@pytest.mark.parametrize("number", [1, 2])
def test_after_a_crash_of_a_patch_the_old_or_the_new_schema_is_there_and_another_addition_finishes_it(
    place: Place, number: int
) -> None:
    old, new, other = schema(), schema(added={"type": "boolean"}), schema(name="other")
    opened(place).add(old)
    with pytest.raises(Killed):
        store_of(place[0], KilledAt(place[1](), number, before=True), patches=True).add(new)
    assert list(contents(place).values()) == [old if number == 1 else new]
    opened(place).add(other)
    assert objects_of(place, [old]) == [old.json if number == 1 else new.json]


def test_a_folder_is_read_alike_by_all_commands_after_a_crash(tmp_path: Path) -> None:
    first, second = history(additions=2)
    folder_store(tmp_path).add(first)
    with pytest.raises(Killed):
        store_of(tmp_path, KilledAt(FolderObjects(tmp_path), 2, before=True)).add(second)
    assert not (tmp_path / "schemas" / second.key.path).exists()
    assert read_folder(tmp_path).versions(MODEL) == (first, second)


def in_threads(work: list[Callable[[], object]]) -> list[object]:
    """Run work at the same moment, one thread for each; return the results, or the errors."""
    barrier = threading.Barrier(len(work))

    def run(one: Callable[[], object]) -> object:
        barrier.wait()
        try:
            return one()
        except Rejected as error:
            return type(error)

    with ThreadPoolExecutor(len(work)) as pool:
        return list(pool.map(run, work))


def add_all(place: Place, schemas: list[JsonSchema]) -> Callable[[], object]:
    return lambda: [opened(place).add(one) for one in schemas]


@pytest.mark.slow
def test_of_fifty_additions_at_once_none_is_lost_and_each_order_is_kept(place: Place) -> None:
    names = [f"event{number}" for number in range(25)]
    results = in_threads([add_all(place, list(history(name, additions=2))) for name in names])
    assert results == [[AdditionOutcome.ADDED, AdditionOutcome.ADDED]] * 25
    paths = list(contents(place))
    assert len(paths) == 50
    for name in names:
        assert [path[-5:] for path in paths if f"/{name}/" in path] == ["1-0-0", "1-0-1"]


def test_of_fifty_different_schemas_at_once_under_one_key_one_is_added_and_all_others_are_told(place: Place) -> None:
    schemas = [schema("1-0-0", "ad_click", "com.acme", **{f"p{number}": {"type": "null"}}) for number in range(50)]
    results = in_threads([add_all(place, [one]) for one in schemas])
    assert Counter(map(str, results)) == {str([AdditionOutcome.ADDED]): 1, str(SchemaExists): 49}
    (added,) = [one for one, result in zip(schemas, results, strict=True) if result == [AdditionOutcome.ADDED]]
    assert list(contents(place).values()) == [added]
    assert objects_of(place, [added]) == [added.json]


def test_patches_at_once_leave_one_whole_schema(place: Place) -> None:
    schemas = [schema("1-0-0", "ad_click", "com.acme", **{f"p{number}": {"type": "null"}}) for number in range(20)]
    opened(place).add(schemas[0])
    in_threads([partial(opened(place, patches=True).add, one) for one in schemas])
    (last,) = contents(place).values()
    assert last
    assert last in schemas
    assert objects_of(place, schemas[:1]) == [last.json]


def test_a_lost_answer_loses_no_schema(object_store: ObjectStore) -> None:
    for number, one in enumerate(history(additions=2)):
        object_store.lose_answers = 1
        with pytest.raises(TryAgain):
            bucket_store().add(one)
        assert bucket_store().add(one) is AdditionOutcome.UNCHANGED
        assert len(bucket_store().list_keys()) == number + 1


def test_an_object_that_is_not_the_schema_that_was_added_is_an_error_that_names_it(tmp_path: Path) -> None:
    first, second = history(additions=2)
    for one in (first, second):
        folder_store(tmp_path).add(one)
    path = tmp_path / "schemas" / first.key.path
    path.write_text(json.dumps(first.json, indent=7, sort_keys=True))
    assert folder_store(tmp_path).find(first.key) == first
    path.write_text(json.dumps({**first.json, "description": "changed"}))
    with pytest.raises(Rejected, match=r"1-0-0 is not the schema that was added: restore it"):
        folder_store(tmp_path).find(first.key)
    path.write_text("{")
    with pytest.raises(Rejected, match=r"1-0-0 is not the schema that was added: .*not JSON"):
        folder_store(tmp_path).find(first.key)
    path.unlink()
    with pytest.raises(Rejected, match=r"1-0-0 is missing, and the index has it"):
        folder_store(tmp_path).find(first.key)
    assert folder_store(tmp_path).find(second.key) == second


def test_a_file_that_somebody_put_there_without_the_index_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "schemas" / schema().key.path
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(SchemaExists, match="holds another schema, which the index does not have"):
        folder_store(tmp_path).add(schema())
    assert path.read_text() == "mine"
    path.write_text(json.dumps(schema().json))
    assert folder_store(tmp_path).add(schema()) is AdditionOutcome.ADDED


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        (b"{", ["is not the index of a registry"]),
        (b"[]", ["expected an object with form 1 and schemas"]),
        (b'{"form": 2, "schemas": []}', ["expected an object with form 1 and schemas"]),
        (
            b'{"form": 1, "schemas": [{"key": "../x"}, 7, {"key": "a/b/jsonschema/1-0-0", "sha256": "0"}], "pending": 1}',
            ["schema 1: '../x' is not", "schema 2: 'None' is not", "schema 3: expected sha256", "pending: 'None' is not"],
        ),
    ],
)
def test_a_broken_index_is_refused_with_all_problems(tmp_path: Path, data: bytes, problems: list[str]) -> None:
    path = tmp_path / INDEX_PATH
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(InvalidInput) as caught:
        folder_store(tmp_path).add(schema())
    assert len(caught.value.problems) == len(problems)
    for told, problem in zip(caught.value.problems, problems, strict=True):
        assert problem in told
    assert path.read_bytes() == data


def test_an_index_is_read_as_it_was_written() -> None:
    index = Index()
    for one in history(additions=3):
        index = index.with_schema(one, "2026-11-22T14:00:00Z")
        assert parse_index(index.to_json(), "here") == index
    twice = index.to_json().replace(b"1-0-1", b"1-0-2")
    with pytest.raises(InvalidInput, match=r"here: iglu:com.acme/ad_click/jsonschema/1-0-2 is there twice"):
        parse_index(twice, "here")
