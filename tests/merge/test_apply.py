"""Merging into a base, in the emulator: the result equals that of an oracle, a dict and a loop."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud.bigquery.retry import DEFAULT_RETRY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import PROBLEMS, change, position_of
from support.merge_shop import CUSTOMER, Shop, another_shop
from support.typed_shop import NOT_HELD, PARTS, create_any, create_version, held, held_types, people_see, texts, truth

from onefold.changelog.generator import WorkloadOptions, make_workload
from onefold.changelog.generator_values import TYPES, non_null_value
from onefold.schema.types import parse_type
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def bases_of_all_problems(emulator_host: str) -> Iterator[dict[str, list[tuple[Any, ...]]]]:
    """Merge the changes of all problems at once and change by change; a key of two columns separates the problems."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIGQUERY_EMULATOR_HOST", emulator_host)
        client = emulator_client(DEFAULT_PROJECT)
        client.create_dataset("problems")
        dataset = EmulatedDataset(emulator_host, client, "problems")
        found: dict[str, list[tuple[Any, ...]]] = {}
        longest = max(len(changes) for changes, _ in PROBLEMS.values())
        for batches in (1, longest):
            shop = another_shop(dataset, keys=("problem", "id"))
            shop.create("a", {"problem": "STRING", **CUSTOMER})
            for batch in range(batches):
                for problem, (changes, _) in PROBLEMS.items():
                    some = changes if batches == 1 else changes[batch : batch + 1]
                    shop.land("a", *({"name": None, **row, "problem": problem} for row in some))
                shop.merge()
            for row in shop.people_see():
                found.setdefault(f"{row['problem']}, {batches} batches", []).append((row["id"], row["name"]))
        yield found


@pytest.mark.parametrize("batches", [1, max(len(changes) for changes, _ in PROBLEMS.values())])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_changes_that_common_sql_merges_wrongly_are_merged_correctly(
    bases_of_all_problems: dict[str, list[tuple[Any, ...]]], problem: str, batches: int
) -> None:
    assert bases_of_all_problems.get(f"{problem}, {batches} batches", []) == PROBLEMS[problem][1]


def test_a_base_has_tombstones_and_positions_and_no_data_of_deleted_rows(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", {"id": "INT64", "name": "STRING", "tags": "ARRAY<STRING>"})
    upsert = change("INSERT", "1", uuid="u", id=1, name="é", tags=["x", ""])
    deletion = change("DELETE", "mysql-bin.2", timestamp=None, sort_keys=["7"], id=2, name="secret", tags=["secret"])
    land_changes_into(shop, "a", upsert, deletion)
    assert shop.merge().written == 2
    assert shop.base() == [
        {"id": 1, "name": "é", "tags": ["x", ""], "_position": position_of(upsert), "_deleted": False},
        {"id": 2, "name": None, "tags": [], "_position": position_of(deletion), "_deleted": True},
    ]


def test_an_experiment_of_1000_operations_ends_with_188_rows(dataset: EmulatedDataset) -> None:
    """The 1,000 operations have 382 insertions and 194 deletions and come in two batches."""
    kinds = ["INSERT"] * 382 + ["DELETE"] * 194 + ["UPDATE-INSERT"] * 424
    keys = [n + 1 if n < 382 else (n - 382) % 194 + 1 if n < 576 else 300 for n in range(1000)]
    changes = [change(kind, f"{n:X}", id=keys[n], name=kind) for n, kind in enumerate(kinds)]
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    for batch in (changes[:500], changes[500:]):
        shop.land("a", *batch)
        shop.merge()
    assert len(shop.people_see()) == 382 - 194 == 188
    assert shop.people_see() == shop.expected("id", "name")
    assert len(shop.base()) == 382


def test_a_workload_of_several_versions_merged_in_batches_gives_the_expected_rows(dataset: EmulatedDataset) -> None:
    """Each version lands after the one before was merged. Some changes are late, repeated or out of order."""
    options = WorkloadOptions(
        operations=300,
        shuffle=True,
        versions=3,
        key_changes=0.1,
        unpadded=True,
        backfill=True,
        same_second=True,
        duplicates=0.1,
        every_type=False,
    )
    workload = make_workload(options)
    shop = Shop(dataset)
    for version, rows in workload.changes.items():
        create_version(shop, version, rows[0], 0)
        half = len(rows) // 2
        shop.land(version, *rows[:half])
        shop.merge()
        shop.land(version, *rows[half:])
    shop.merge()
    assert shop.people_see() == workload.truth
    assert shop.current() == workload.truth


@pytest.mark.long
def test_columns_of_every_type_are_merged_with_deletions_and_changes_of_key(
    dataset: EmulatedDataset, chance: random.Random
) -> None:
    """A merge of a part of the columns takes the emulator ten seconds, so each run of the tests draws one part."""
    part = chance.choice(PARTS)
    workload = make_workload(WorkloadOptions(operations=60, shuffle=True, key_changes=0.2, duplicates=0.1))
    (rows,) = workload.changes.values()
    shop = Shop(dataset)
    create_version(shop, "a000", rows[0], part)
    for some in (rows[:40], rows[30:]):
        shop.land("a000", *(held(row, part) for row in some))
        shop.merge()
    types = held_types(workload, part)
    assert people_see(shop, types) == truth(workload, part), part


@pytest.mark.long
@pytest.mark.parametrize(
    "column", [pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=why)) for name, why in NOT_HELD.items()]
)
def test_the_emulator_cannot_store_a_column_that_is_left_out(dataset: EmulatedDataset, column: str) -> None:
    """The run prints the reason. This test fails as soon as the emulator can store such a column."""
    check_column(dataset, column)


def test_an_array_of_intervals_is_merged(dataset: EmulatedDataset) -> None:
    check_column(dataset, "a_interval")


def check_column(dataset: EmulatedDataset, column: str) -> None:
    """Check that random values of a column are in the base as they landed."""
    shop, chance = Shop(dataset), random.Random(7)
    values = [non_null_value(chance, parse_type(TYPES[column])) for _ in range(20)]
    rows = [{"id": number, column: value} for number, value in enumerate(values)]
    create_any(shop, "a", ["id", column])
    table = f"{DEFAULT_PROJECT}.{dataset.name}.customer_v_a"
    assert (
        dataset.client.insert_rows_json(
            table, [change("INSERT", "1", **row) for row in rows], retry=DEFAULT_RETRY.with_timeout(1)
        )
        == []
    )
    shop.merge()
    types = {"id": "INT64", column: TYPES[column]}
    assert people_see(shop, types) == texts(rows, types)


kinds = st.sampled_from(["INSERT", "UPDATE-INSERT", "DELETE", "UPDATE-DELETE"])
changes = st.builds(
    lambda kind, sequence, timestamp, key, name: change(kind, sequence, timestamp=timestamp, id=key, name=name),
    kinds,
    st.sampled_from([None, "9", "10", "A", "mysql-bin.9", "mysql-bin.10"]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from([None, "x", "y"]),
)
VERSIONS = (
    {"id": "INT64", "name": "STRING"},
    {"name": "STRING", "id": "INT64"},
    {"id": "INT64", "name": "STRING", "more": "DATE"},
)
logs = st.lists(st.tuples(st.sampled_from([0, 1, 2]), changes), min_size=4, max_size=14)


@pytest.mark.long
@settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(logs, st.data())
def test_a_log_in_any_order_split_and_replayed_gives_the_rows_of_the_oracle(
    dataset: EmulatedDataset, log_: Any, data: st.DataObject
) -> None:
    """Land batches in any order, one of them twice, with merges in between; create a version when a change needs it."""
    shop = another_shop(dataset)
    delivered = data.draw(st.permutations(log_))
    cut = data.draw(st.integers(0, len(delivered)))
    created: set[int] = set()
    for batch in (delivered[:cut], delivered[cut:], data.draw(st.permutations(delivered[:cut]))):
        for version in {0, *(version for version, _ in batch)} - created:
            shop.create(str(version), {**VERSIONS[version], "_landed_at": "TIMESTAMP"})
            created.add(version)
        for version, row in batch:
            shop.land(str(version), row)
        shop.merge()
    names = [name for name in ("id", "name", "more") if name != "more" or 2 in created]
    assert shop.people_see() == shop.expected(*names)


def land_changes_into(shop: Shop, version: str, *rows: Any) -> None:
    """Land changes in a table without the time at which a row landed."""
    table = f"{DEFAULT_PROJECT}.{shop.dataset.name}.{shop.name}_v_{version}"
    assert shop.dataset.client.insert_rows_json(table, list(rows)) == []
