"""The log of merges: what its rows say of the present base."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from onefold.core.names import TableId, time_literal
from onefold.merge.merge_log import append_statement, floor_statement, no_rebuild_since, state_query
from onefold.merge.merge_state import MergeCounts, MergeState, read_state
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

TIME = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
LOG = TableId("my-project", "shop", "customer_merges")


def entry(kind: str, started: int, versions: str, created: datetime = TIME) -> dict[str, Any]:
    start = TIME + timedelta(days=started)
    return {
        "now": None,
        "floor": None,
        "finished_as": kind,
        "keys": '["id"]',
        "versions": versions,
        "base_created": created,
        "started_at": start,
    }


NOW: dict[str, Any] = {
    "now": TIME + timedelta(days=9),
    "floor": "f",
    "finished_as": None,
    "keys": None,
    "versions": None,
    "base_created": None,
    "started_at": None,
}


def test_each_version_is_read_from_the_last_merge_that_read_it() -> None:
    state = read_state([entry("merge", 2, '["b"]'), NOW, entry("merge", 1, '["a", "b"]'), entry("merge", 0, '["a"]')], TIME)
    assert state.start_of("a") == TIME + timedelta(days=1)
    assert state.start_of("b") == TIME + timedelta(days=2)
    assert state.start_of("c") is None
    assert (state.now, state.floor, state.keys) == (NOW["now"], "f", ("id",))


def test_a_merge_into_a_base_that_was_replaced_since_is_not_counted() -> None:
    state = read_state([NOW, entry("merge", 1, '["a"]', created=TIME - timedelta(days=1))], TIME)
    assert state.start_of("a") is None
    assert state.keys == ("id",)


def test_without_a_base_no_version_was_merged_and_the_keys_are_still_known() -> None:
    state = read_state([NOW, entry("merge", 1, '["a"]')], None)
    assert (state.starts, state.keys) == ({}, ("id",))


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = [
        NOW,
        entry("create", 0, "[]"),
        entry("merge", 1, '["a"]'),
        entry("merge", 3, '["a", "b"]'),
        entry("merge", 2, '["b"]'),
    ]
    found = {repr(read_state(random.Random(seed).sample(rows, len(rows)), TIME)) for seed in range(20)}
    assert len(found) == 1


def test_a_row_that_comes_twice_says_the_same_as_once() -> None:
    rows = [NOW, entry("merge", 1, '["a"]')]
    assert read_state([*rows, rows[1]], TIME) == read_state(rows, TIME)


def test_what_read_a_plain_table_whole_is_known_for_the_very_base_only() -> None:
    rows = [
        entry("merge_whole", 1, '[""]'),
        entry("merge_appends", 2, '[""]'),
        entry("merge_whole", 3, "[]"),
        entry("rebuild", 4, '[""]', created=TIME - timedelta(days=1)),
    ]
    assert read_state([NOW, *rows], TIME).whole_at == TIME + timedelta(days=1)
    assert read_state([NOW, rows[1]], TIME).whole_at is None
    assert read_state([NOW, *rows], TIME).start_of("") == TIME + timedelta(days=2)


def test_only_a_snapshot_leaves_rows_that_no_change_table_has() -> None:
    kinds = ("create", "zones", "merge", "purge", "converting", "convert", "rebuilding", "rebuild", "snapshot")
    assert [kind for kind in kinds if read_state([NOW, entry(kind, 1, "[]")], TIME).unknown_rows] == ["snapshot"]


@pytest.mark.parametrize(("created", "comparable"), [(TIME, True), (TIME - timedelta(days=1), False)])
def test_positions_are_comparable_after_a_merge_of_this_release_into_this_very_base(
    created: datetime, comparable: bool
) -> None:
    row = {**entry("merge", 1, "[]", created=created), "comparable": True}
    assert read_state([NOW, row], TIME).comparable is comparable


def test_a_log_without_rows_tells_the_time_alone() -> None:
    assert read_state([{**NOW, "floor": None}], None) == MergeState(now=NOW["now"], starts={})


def test_the_columns_that_a_log_lacks_are_handed_on() -> None:
    lacks = [Column("ordered_by_text", Scalar("INT64"))]
    assert read_state([NOW], TIME, lacks).lacks == tuple(lacks)


def test_a_log_of_an_earlier_release_is_not_asked_for_a_column_that_it_lacks() -> None:
    lacks = [Column(name, Scalar("STRING")) for name in ("ordered_by_text", "time_zones")]
    assert all(column.name in state_query(LOG) for column in lacks)
    assert not any(column.name in state_query(LOG, lacks) for column in lacks)


UTC_ZONE, BERLIN, TOKYO = ([("seen", zone)] for zone in ("UTC", "Europe/Berlin", "Asia/Tokyo"))


def zoned(row: dict[str, Any], zones: list[tuple[str, str]]) -> dict[str, Any]:
    return {**row, "zones": json.dumps(zones)}


@pytest.mark.parametrize("begin", ["rebuilding", "converting"])
def test_a_base_of_a_write_that_was_killed_before_its_row_has_the_zones_of_that_write(begin: str) -> None:
    """Otherwise a `time_zone` that is set back afterwards would leave the reading of the killed write in the base."""
    second, third = TIME + timedelta(days=1), TIME + timedelta(days=2)
    finished = [zoned(entry(kind, day, "[]"), UTC_ZONE) for day, kind in enumerate(("create", "merge"))]
    rows = [NOW, zoned(entry(begin, 2, "[]"), BERLIN), *finished, zoned(entry(begin, 3, "[]", created=second), TOKYO)]
    assert read_state(rows, TIME).zones == {*UTC_ZONE}, "no statement that was begun has run"
    assert read_state(rows, second).zones == {*BERLIN}, "the second statement has not run"
    assert read_state(rows, third).zones == {*TOKYO}


def test_the_zones_of_a_base_are_those_of_what_was_written_into_it() -> None:
    rows = [
        zoned(entry("zones", 1, "[]"), UTC_ZONE),
        zoned(entry("merge", 1, "[]"), BERLIN),
        zoned(entry("rebuilding", 2, "[]"), TOKYO),
        zoned(entry("merge", 3, "[]", created=TIME - timedelta(days=1)), TOKYO),
        entry("merge", 4, "[]"),
    ]
    assert read_state([NOW, *rows], TIME).zones == {*UTC_ZONE, *BERLIN}


def test_counts_are_added_and_what_is_unknown_stays_unknown() -> None:
    one = MergeCounts(changes=1, keys=2, written=3, inserted=4, updated=5, below_floor=6, disputed=7, ordered_by_text=8)
    both = one + MergeCounts(10, 20, None, 40, None, 60, 70, 80, text_example="x")
    assert both == MergeCounts(11, 22, None, 44, None, 66, 77, 88, text_example="x")
    assert (both + MergeCounts(text_example="y")).text_example == "x"


def test_a_row_of_the_log_holds_keys_of_any_spelling_and_unknown_counts_as_null() -> None:
    keys = ["a'b", "größe", 'say "x"']
    sql = append_statement(LOG, "merge", TIME, None, keys, ["v1"], MergeCounts(3, 2, None, None, 5))
    names, values = (part.split(")")[0] for part in sql.split("(", 1)[1].split("VALUES (", 1))
    assert names.split(", ")[:5] == ["finished_as", "started_at", "`base_created`", "`keys`", "`versions`"]
    assert "NULL" in values
    assert all(name in sql for name in ("größe", "changes", "inserted", "updated", "disputed"))


def test_the_row_of_a_purge_is_appended_only_where_something_is_purged() -> None:
    sql = floor_statement(LOG, TIME, TIME, ["id"], LOG.sibling("customer_base"), "b._deleted")
    assert sql.startswith("INSERT INTO `my-project.shop.customer_merges`")
    assert sql.endswith("WHERE b._deleted\nHAVING MAX(b._position) IS NOT NULL")


@pytest.mark.parametrize("hours", [-5, 0, 14])
def test_a_time_of_any_zone_is_written_in_utc_with_microseconds(hours: int) -> None:
    time = datetime(2024, 5, 1, 12, 30, 0, 7, tzinfo=UTC).astimezone(timezone(timedelta(hours=hours)))
    assert time_literal(time) == "TIMESTAMP '2024-05-01 12:30:00.000007+00'"


def test_kinds_that_begin_a_rebuild_stop_a_purge_and_no_others_do() -> None:
    sql = no_rebuild_since(LOG, TIME)
    assert "'rebuilding', 'rebuild'" in sql
    assert not any(f"'{kind}'" in sql for kind in ("create", "merge", "purge", "convert", "snapshot"))


def test_the_log_has_the_names_of_columns_as_people_write_them() -> None:
    text = append_statement(LOG, "zones", TIME, TIME, ["schlüssel"], zones=frozenset({("größe", "UTC")}))
    assert "'[\"schlüssel\"]'" in text
    assert '\'[["größe", "UTC"]]\'' in text
