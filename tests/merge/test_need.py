"""Which of many tables are merged now, why, and in which order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, LONG_AGO, Shop, another_shop, now
from support.told_merges import BASE, HOUR, NOW, TABLE, A, B, base, entry, log, port, told
from support.told_warehouse import CREATED, ToldWarehouse

from onefold.core.names import TableId
from onefold.merge.dataset import Candidate, find_candidates
from onefold.merge.merge_state import LandedRows, MergeState
from onefold.merge.need import MergeNeed, in_order, landed_bytes, read_need, weighed
from onefold.ports.listing import StoredSize
from onefold.ports.warehouse import StoredTable
from onefold.schema.table_rules import MergeWhen, TableRules
from onefold.settings.environment import Settings

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
WHEN = MergeWhen(landed_percent=5, max_age_hours=20)
ROW = change("INSERT", "1", id=1, name="a")


def table(name: str) -> Candidate:
    return Candidate(TableId("p", "shop", name), {})


def weigh(landed: int | None, base: int | None, hours: float, when: MergeWhen = WHEN) -> MergeNeed:
    age = timedelta(hours=hours)
    return weighed(table("customer"), when, NOON - age, age, landed, base)


@pytest.mark.parametrize(
    ("landed", "base", "hours", "state", "reason"),
    [
        (49, 1_000, 3, "waiting", "49 B landed, 4.9 % of the base: it waits for 5 %, or 20 hours after its last merge, "
         "which is 3.0 hours old"),
        (50, 1_000, 3, "due", "50 B landed, 5.0 % of the base"),
        (0, 1_000, 20, "due", "its last merge is 20.0 hours old"),
        (0, 1_000, 19.9, "waiting", "0 B landed, 0.0 % of the base: it waits for 5 %, or 20 hours after its last merge, "
         "which is 19.9 hours old"),
        (None, 1_000, 3, "due", "it is unknown how much landed since the last merge"),
        (0, None, 3, "due", "it is unknown how much landed since the last merge"),
        (0, 0, 3, "due", "it is unknown how much landed since the last merge"),
    ],
)  # fmt: skip
def test_a_table_is_due_by_what_landed_or_by_age_and_where_that_is_unknown(
    landed: int | None, base: int | None, hours: float, state: str, reason: str
) -> None:
    need = weigh(landed, base, hours)
    assert (need.state, need.reason) == (state, reason)


@pytest.mark.parametrize(
    ("sizes", "counted", "found"),
    [
        ({"a": StoredSize(100, 5_000)}, {"a": 90}, 500),
        ({"a": StoredSize(100, 5_000), "b": StoredSize(10, 10)}, {"a": 90, "b": 9}, 501),
        ({"a": StoredSize(90, 4_500)}, {"a": 90}, 0),
        ({"a": StoredSize(0, 0)}, {"a": 0}, 0),
        ({"a": StoredSize(89, 4_450)}, {"a": 90}, None),  # partitions have expired
        ({"a": StoredSize(100, 5_000)}, {}, None),  # it does not tell when rows landed, or an earlier release merged it
        ({"a": StoredSize(100, None)}, {"a": 90}, None),
        ({"a": StoredSize(100, 5_000, expires=True)}, {"a": 90}, None),  # as many old rows may be gone as new ones came
        ({"a": None}, {"a": 90}, None),
    ],
)
def test_what_landed_is_told_by_the_rows_that_came_to_those_that_the_last_merge_counted(
    sizes: Mapping[str, StoredSize | None], counted: Mapping[str, int], found: int | None
) -> None:
    state = MergeState(landed={version: LandedRows(NOON, rows) for version, rows in counted.items()})
    assert landed_bytes(sizes, state) == found


def test_the_oldest_merge_comes_first_and_after_all_of_them_the_cheapest_table_that_is_due_by_what_landed() -> None:
    def due(name: str, hours: float | None, base_bytes: int | None = None) -> MergeNeed:
        last = None if hours is None else NOON - timedelta(hours=hours)
        return MergeNeed(table(name), "due", "", last, base_bytes=base_bytes)

    needs = [due("large", 9, 9_000), due("young", 1), due("small", 9, 10), due("old", 30), due("never", None)]
    assert [one.table.table.table for one in in_order(needs)] == ["never", "old", "young", "small", "large"]


def look(shop: Shop, when: MergeWhen | None = WHEN, retired: frozenset[str] = frozenset()) -> MergeNeed:
    (candidate,) = find_candidates(shop.warehouse, shop.dataset.name, shop.settings, shop.name)
    settings = Settings(rules=TableRules(overlap_minutes=0, merge_when=when, retired=retired))
    return read_need(shop.warehouse, candidate, settings)


@pytest.mark.heavy
def test_a_table_with_few_new_rows_waits_until_enough_have_landed(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("1a", CUSTOMER)
    shop.land("1a", *(change("INSERT", "1", id=key, name="a") for key in range(40)), at=LONG_AGO)
    assert look(shop).reason == "it has no base yet"
    shop.merge()
    assert (look(shop).state, look(shop).reason) == ("up_to_date", "no row is newer than the last merge")
    shop.land("1a", ROW, at=now())
    waiting = look(shop)
    assert (waiting.state, waiting.reason.partition(":")[0]) == ("waiting", "100 B landed, 2.5 % of the base")
    assert waiting.age is not None
    assert look(shop, None).reason == "rows landed since the last merge"
    shop.land("1a", ROW, at=now())
    assert (look(shop).state, look(shop).base_bytes) == ("due", 4_000)
    shop.create("2b", CUSTOMER)
    assert look(shop).reason == "no merge has read one of its versions"
    assert look(shop, retired=frozenset({"2b"})).base_bytes == 4_000


@pytest.mark.heavy
def test_a_table_that_cannot_be_looked_at_is_due_so_that_its_merge_tells_the_error(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("1a", CUSTOMER)
    dataset.run(f"CREATE TABLE {dataset.quoted(f'{shop.name}_base')} (id INT64)")
    need = look(shop)
    assert need.state == "due"
    assert "was not written by `onefold merge`" in need.reason


MERGED = (entry("create", 9), entry("merge", 5, "a", landed=json.dumps({"a": [(NOW - 6 * HOUR).isoformat(), 30]})))
TABLES = {name: TABLE.sibling(f"customer_v_{name}") for name in ("a", "b")}
LAST = NOW - 5 * HOUR


def told_shop(*landed: str, **more: Any) -> ToldWarehouse:
    """Return a warehouse with a base into which `a` was merged five hours ago, and with versions that rows came to since."""
    found = told(A, B, stored=base(A), rows=log(*MERGED), **more)
    found.tables |= {TABLES[one.id]: StoredTable(one.columns, CREATED) for one in (A, B)}
    found.written_times = {id_: NOW - (HOUR if name in landed else 8 * HOUR) for name, id_ in TABLES.items()}
    found.sizes = {TABLES["a"]: StoredSize(40, 4_000), BASE: StoredSize(100, 50_000)}
    return found


def need(warehouse: ToldWarehouse, *versions: str, rules: TableRules | None = None) -> MergeNeed:
    candidate = Candidate(TABLE, {version: TABLES[version] for version in versions or ("a",)})
    return read_need(port(warehouse), candidate, Settings(rules=rules or TableRules()))


def expect(state: Literal["due", "waiting", "up_to_date"], reason: str, *told_: Any, versions: str = "a") -> MergeNeed:
    return MergeNeed(Candidate(TABLE, {version: TABLES[version] for version in versions}), state, reason, *told_)


def test_a_table_without_a_base_is_due() -> None:
    assert need(told(A)) == expect("due", "it has no base yet")


def test_a_table_to_which_no_row_came_since_its_last_merge_is_up_to_date() -> None:
    assert need(told_shop()) == expect("up_to_date", "no row is newer than the last merge", LAST)
    just_then = told_shop()
    just_then.written_times = {TABLES["a"]: LAST}
    assert need(just_then).state == "up_to_date"


def test_new_rows_make_a_table_due_and_so_does_a_time_that_is_unknown() -> None:
    due = expect("due", "rows landed since the last merge", LAST, 5 * HOUR)
    assert need(told_shop("a")) == due
    silent = told_shop()
    silent.written_times = {TABLES["a"]: None}
    assert need(silent) == due


def test_a_version_that_no_merge_has_read_makes_its_table_due_unless_it_is_retired_or_a_clone() -> None:
    reason = "no merge has read one of its versions"
    assert need(told_shop(), "a", "b") == expect("due", reason, LAST, 5 * HOUR, versions="ab")
    assert need(told_shop(), "a", "b", rules=TableRules(retired=frozenset({"b"}))).state == "up_to_date"
    clone = told_shop()
    del clone.tables[TABLES["b"]]
    assert need(clone, "a", "b").state == "up_to_date"


def test_a_table_without_any_merge_is_due_and_has_no_age() -> None:
    unmerged = told(A, stored=base(A), rows=log(entry("create", 9)))
    unmerged.tables[TABLES["a"]] = StoredTable(A.columns, CREATED)
    assert need(unmerged) == expect("due", "no merge has read one of its versions", None, None)


def test_what_landed_is_weighed_against_the_size_of_the_base() -> None:
    """10 of 40 rows came, of 4,000 bytes: 1,000 bytes, 2 % of the base."""
    waits = "1.0 kB landed, 2.0 % of the base: it waits for 5 %, or 20 hours after its last merge, which is 5.0 hours old"
    few, many = TableRules(merge_when=WHEN), TableRules(merge_when=MergeWhen(2, 20))
    assert need(told_shop("a"), rules=few) == expect("waiting", waits, LAST, 5 * HOUR)
    assert need(told_shop("a"), rules=many) == expect("due", "1.0 kB landed, 2.0 % of the base", LAST, 5 * HOUR, 50_000)
    unknown = told_shop("a")
    unknown.sizes = {TABLES["a"]: StoredSize(40, 4_000)}
    reason = "it is unknown how much landed since the last merge"
    assert need(unknown, rules=few) == expect("due", reason, LAST, 5 * HOUR)


def test_an_error_is_the_reason_why_a_table_is_due() -> None:
    taken = told(A, stored=StoredTable(A.columns, CREATED))
    assert need(taken) == expect("due", f"{BASE} was not written by `onefold merge`: rename it")
