"""Merging into a base that an earlier release wrote, in the emulator, and changes whose sequence is ordered as text."""

from __future__ import annotations

from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run
from support.merge_shop import CUSTOMER, LONG_AGO, Shop

from onefold.core.errors import SchemaConflict
from onefold.merge.apply import merge_rows, merge_snapshot
from onefold.merge.change_query import changes_query
from onefold.merge.merge_log import LOG_COLUMNS
from onefold.schema.types import render_type

pytestmark = pytest.mark.long

DIGEST = "d" * 32
# As an earlier release wrote them, to the letter: a row of a snapshot, and changes of sources with hexadecimal sections.
SNAPSHOT = f"0   1  {DIGEST}"
SHORT = f"2000000000000002D/0000000000000AC0/0000000000000015 10000000000000000005  1  {DIGEST}"
FOUR = f"20000000000000001/00000000000000FF/0000000000001000/0000000000000000 10000000000000000005  1  {DIGEST}"
# What capture wrote while it counted epochs from 1.
COUNTED = f"20000000000000007/0000000000FFFFFF/00000000FFFFFFFF/00000000000000FF 10000000000000000005  1  {DIGEST}"
LOG_FILE = (
    "1mysql-bin.0000000000000000000000000000000000000003/0000000000000000000000000000000000000009 10000000000000000005  1  "
    f"{DIGEST}"
)
# 0000002D00000AC00015, a position of SQL Server, which an earlier release split at its letters.
SPLIT = (
    "10000000000000000000000000000000000000002D0000000000000000000000000000000000000000AC"
    f"0000000000000000000000000000000000000015 10000000000000000005  1  {DIGEST}"
)
# ` 0x000a.00012345.0010 `, an rs_id of Oracle, among the sort keys of SCN 2A.
SPLIT_KEY = (
    "2000000000000002A 10000000000000000005 3!0000000000000000000000000000000000000000x"
    "0000000000000000000000000000000000000000a.0000000000000000000000000000000000012345."
    f"0000000000000000000000000000000000000010!  1  {DIGEST}"
)


def an_old_shop(dataset: EmulatedDataset, *positions: str, floor: str = "NULL", **options: Any) -> Shop:
    """A base and a log as an earlier release left them: without the columns that it did not know."""
    shop = Shop(dataset, **options)
    shop.create("a", CUSTOMER)
    rows = [f"{number}, 'base', '{position}', FALSE" for number, position in enumerate(positions, 1)]
    dataset.land("customer_base", {"id": "INT64", "name": "STRING", "_position": "STRING", "_deleted": "BOOL"}, *rows)
    stored = shop.warehouse.read_table(shop.table.sibling("customer_base"))
    assert stored is not None
    columns = {column.name: render_type(column.type) for column in LOG_COLUMNS[:-5]}
    log = [f"'{kind}', TIMESTAMP '2024-01-01 00:00:00+00', {{}}, '[\"id\"]', '[\"a\"]', {{}}" for kind in ("merge", "purge")]
    created = f"TIMESTAMP '{stored.created:%Y-%m-%d %H:%M:%S.%f}+00'"
    floors = ("NULL", floor)
    entries = [f"{row.format(created, floors[place])}, {', '.join(['NULL'] * 5)}" for place, row in enumerate(log)]
    dataset.land("customer_merges", columns, *entries)
    return shop


def names(shop: Shop) -> dict[int, str]:
    return {row["id"]: row["name"] for row in shop.people_see()}


def test_changes_are_compared_with_the_positions_of_an_earlier_release(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset, SNAPSHOT, SHORT, FOUR, LOG_FILE)
    older = {1: None, 2: "0000002d:00000ac0:0014", 3: "1/FE/FFFFFFFFFFFFFFFFFFFF", 4: "mysql-bin.000003/8"}
    shop.land("a", *(change("INSERT", sequence, timestamp=None, id=id_, name="older") for id_, sequence in older.items()))
    shop.merge()
    assert names(shop) == {**dict.fromkeys((2, 3, 4), "base"), 1: "older"}, "a digest decides between rows of a snapshot"
    newer = {1: "0", 2: "0000002d:00000ac0:0016", 3: "1/FF/10000000000000000", 4: "mysql-bin.000003/10"}
    shop.land("a", *(change("UPDATE-INSERT", sequence, id=id_, name="newer") for id_, sequence in newer.items()))
    shop.merge()
    assert names(shop) == dict.fromkeys((1, 2, 3, 4), "newer")
    assert {row["id"]: row["name"] for row in shop.current()} == names(shop)


@pytest.mark.parametrize("split", [SPLIT, SPLIT_KEY])
def test_a_base_that_was_ordered_as_text_is_refused_until_it_is_rebuilt(dataset: EmulatedDataset, split: str) -> None:
    shop = an_old_shop(dataset, split, SHORT)
    sequences = ("0000002D00000AC00015", "0000002D00000AC0001A")
    shop.land("a", *(change("INSERT", sequence, id=1, name=sequence) for sequence in sequences), at=LONG_AGO)
    shop.land("a", change("INSERT", sequences[0], id=2, name="b"))
    before = shop.base()
    for attempt in (shop.merge, shop.current):
        with pytest.raises(SchemaConflict, match=r"customer_base: .* got 1 row .* '(0?2D0?AC15|0{14}2A)'.* --rebuild"):
            attempt()
    assert shop.base() == before
    shop.merge(rebuild=True)
    assert names(shop) == {1: sequences[1], 2: "b"}
    shop.merge()
    assert {row["id"]: row["name"] for row in shop.current()} == names(shop) == {1: sequences[1], 2: "b"}


def test_rows_from_elsewhere_are_refused_as_well(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset, SPLIT)
    dataset.land("copy", {"id": "INT64", "name": "STRING"}, "1, 'copy'")
    plan = shop.prepare()
    with pytest.raises(SchemaConflict, match="--rebuild"):
        merge_snapshot(shop.warehouse, plan, shop.table.sibling("copy"))
    with pytest.raises(SchemaConflict, match="--rebuild"):
        merge_rows(shop.warehouse, plan, changes_query(plan.changes, plan.base, plan.rules), plan.versions)
    assert names(shop) == {1: "base"}


def test_epochs_in_seconds_are_above_those_that_were_counted(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset, COUNTED, COUNTED, COUNTED)
    shop.merge()
    places = {1: "6553F100/1/4/0", 2: "6553F100/1/4", 3: "7/FFFFFF/FFFFFFFF/FE"}
    shop.land("a", *(change("INSERT", place, timestamp=None, id=id_, name="first") for id_, place in places.items()))
    check_view_and_merge(shop, {1: "first", 2: "first", 3: "base"})
    places = {1: "6553F101/1/4/0", 2: "8/FFFFFF/FFFFFFFF/FF", 3: "8/1/4/0"}
    shop.land("a", *(change("INSERT", place, timestamp=None, id=id_, name="second") for id_, place in places.items()))
    check_view_and_merge(shop, {1: "second", 2: "first", 3: "second"})


def check_view_and_merge(shop: Shop, expected: dict[int, str]) -> None:
    """The view folds what has landed, the MERGE writes it into the base, and the view reads it there."""
    assert {row["id"]: row["name"] for row in shop.current()} == expected
    shop.merge()
    assert names(shop) == expected
    assert {row["id"]: row["name"] for row in shop.current()} == expected


def test_a_floor_that_was_ordered_as_text_is_refused(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset, SHORT, floor=f"'{SPLIT}'")
    shop.land("a", change("INSERT", "0000002D00000AC00014", id=9, name="purged"))
    for rebuild in (False, True):
        with pytest.raises(SchemaConflict, match=r"customer_merges: expected a floor .* drop .*customer_base"):
            shop.merge(rebuild=rebuild)
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    shop.merge()
    assert names(shop) == {9: "purged"}


def test_the_positions_of_a_base_are_checked_once(dataset: EmulatedDataset) -> None:
    shop = an_old_shop(dataset, SHORT)
    first, second = (shop.prepare() for _ in range(2))
    assert (first.state.comparable, second.state.comparable) == (False, False)
    shop.merge()
    assert shop.prepare().state.comparable


def test_changes_ordered_as_text_are_counted_with_one_of_them(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "mysql-bin.000003/9", id=1, name="a"), change("INSERT", "2D:AC0:15", id=2, name="b"))
    assert (shop.merge().ordered_by_text, shop.merge().text_example) == (0, None)
    gtids = ("3e11fa47-71ca-11e1-9e33-c80aa9429562:0023", "3e11fa47-71ca-11e1-9e33-c80aa9429562:0024")
    shop.land("a", *(change("INSERT", gtid, id=3, name="c") for gtid in gtids), change("INSERT", None, id=4, name="d"))
    counts = shop.merge()
    assert (counts.changes, counts.ordered_by_text) == (3, 2)
    assert counts.text_example == "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"
    assert [row["ordered_by_text"] for row in shop.log()] == [None, 0, 0, 2]


def test_people_are_warned_of_a_sequence_that_is_ordered_as_text(run: Run, dataset: EmulatedDataset) -> None:
    columns = {"id": "INT64", "name": "STRING"}
    for table in ("customer", "supplier"):
        land_changes(dataset, table, columns, [change("INSERT", "0-1-100", id=1, name="a")])
    outcome = run("merge", f"{dataset.name}.customer", "--keys", "id")
    assert outcome.code == 0
    warning = " ".join(outcome.out.partition("\nWARNING: ")[2].split())
    assert "1 change ordered by text, since a sequence such as '0-1-100'" in warning
    assert warning.endswith("merge with --rebuild")
    counted = run("merge", f"{dataset.name}.supplier", "--keys", "id", "--json").result
    assert (counted["ordered_by_text"], counted["text_example"]) == (1, "0-1-100")
