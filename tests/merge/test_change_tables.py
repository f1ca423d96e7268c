"""Which change tables a merge reads, from when on, and which got rows among those that it has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from support.columns import columns
from support.told_merges import HOUR, NOW, TABLE, A, B, port, told
from support.told_warehouse import CREATED, ToldWarehouse

from onefold.changelog.metadata import DAY, METADATA
from onefold.core.names import TableId
from onefold.merge.change_query import MAX_TABLES
from onefold.merge.change_tables import (
    ChangeTable,
    are_direct,
    change_tables,
    is_single,
    tells_landing,
    with_arrivals,
    with_readings,
)
from onefold.merge.landed_rows import count_landed
from onefold.merge.merge_state import LandedRows, MergeState
from onefold.merge.reading import Reading
from onefold.ports.warehouse import StoredTable
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version

START = NOW - 5 * HOUR
STATE = MergeState(now=NOW, starts={"a": START, "": START}, whole_at=NOW - HOUR)
ID_A = TABLE.sibling("customer_v_a")
SILENT = Version("a", columns(id="INT64"), CREATED)


def windowed(version: Version, state: MergeState = STATE) -> ChangeTable:
    return ChangeTable(ID_A, version, until=NOW, way="whole").windowed(state, HOUR)


@pytest.mark.parametrize(
    ("version", "state", "since"),
    [
        (A, STATE, START - HOUR),
        (replace(A, created=START), STATE, START - HOUR),
        (replace(A, created=None), STATE, START - HOUR),
        (B, STATE, None),
        (replace(A, created=START + HOUR), STATE, None),
        (SILENT, STATE, None),
        (A, replace(STATE, reloaded=frozenset({"a"})), None),
    ],
    ids=[
        "it was merged",
        "it was made when the last merge began",
        "it does not tell when it was made",
        "it was never merged",
        "it was made since, so that restored rows landed before",
        "its rows do not tell when they landed",
        "it got rows among those that were read",
    ],
)
def test_a_version_is_read_from_its_last_merge_on_less_the_overlap_or_whole(
    version: Version, state: MergeState, since: datetime | None
) -> None:
    assert windowed(version, state) == ChangeTable(ID_A, version, since)


@pytest.mark.parametrize("created", [CREATED, START + HOUR])
def test_a_plain_table_is_read_the_way_that_its_reading_allows(created: datetime) -> None:
    plain = ChangeTable(TABLE, Version("", SILENT.columns, created), reading=Reading(NOW, appends_since=CREATED))
    way = ("whole", None) if created > START else ("appends", START - HOUR)
    found = plain.windowed(STATE, HOUR)
    assert (found.way, found.since, found.until) == (*way, None)


@pytest.mark.parametrize(
    ("types", "tells"),
    [
        ({"_landed_at": "TIMESTAMP"}, True),
        ({"_Landed_At": "TIMESTAMP"}, True),
        ({"_landed_at": "DATE"}, False),
        ({"id": "INT64"}, False),
        ({"_landed_at": "TIMESTAMP", METADATA: "STRING", DAY: "DATE"}, False),
    ],
)
def test_rows_tell_when_they_landed_by_a_timestamp_unless_they_were_pulled(types: Mapping[str, str], tells: bool) -> None:
    assert tells_landing(columns(**types)) is tells


def test_the_versions_of_a_united_table_get_the_column_of_the_dataset() -> None:
    united = TableRules(version_column="dataset", of_united=True)
    (one,) = change_tables(TABLE, [replace(A, id="eu", table="customer", dataset="tenant_eu")], united)
    assert (str(one.id), one.added) == ("my-project.tenant_eu.customer", "dataset")
    (version,) = change_tables(TABLE, [A], TableRules(version_column="_version"))
    assert (str(version.id), version.added) == ("my-project.shop.customer_v_a", None)


def test_a_change_table_without_versions_is_single_and_a_version_is_not() -> None:
    alone = replace(A, id="")
    assert [is_single(found) for found in ([alone], [A], [alone, B], [])] == [True, False, False, False]


def test_rows_are_those_of_services_where_no_version_in_use_has_metadata() -> None:
    direct = Version("d", columns(id="INT64"))
    without_a = TableRules(retired=frozenset({"a"}))
    assert are_direct([direct], TableRules())
    assert are_direct([direct, A], without_a)
    assert not are_direct([direct, A], TableRules())
    assert not are_direct([A], without_a)


def partitioned(*names: str) -> ToldWarehouse:
    tables = {TABLE.sibling(name): StoredTable(SILENT.columns, CREATED, ingestion_partition="DAY") for name in names}
    return ToldWarehouse({**tables, TABLE: StoredTable(SILENT.columns, CREATED)})


def test_each_plain_table_gets_what_tells_its_new_rows() -> None:
    by_day, by_source, new = (
        ChangeTable(TABLE.sibling(name) if name else TABLE, Version(version, SILENT.columns, CREATED))
        for name, version in (("orders", "a"), ("", ""), ("later", "z"))
    )
    state = replace(STATE, starts={"a": START, "": START})
    rules = TableRules()
    found = with_readings(port(partitioned("orders", "later")), iter([by_day, by_source, new]), state, rules, NOW)
    readings = (Reading(NOW, partition="DAY"), Reading(NOW, whole_at=NOW - HOUR), Reading(NOW))
    assert found == [replace(one, reading=reading) for one, reading in zip((by_day, by_source, new), readings, strict=True)]
    united = with_readings(port(partitioned()), [by_source], state, TableRules(of_united=True), NOW)
    assert united == [replace(by_source, reading=Reading(NOW))], "the log notes one way for all of its tables"


def test_a_view_asks_only_when_rows_came() -> None:
    one, other = (ChangeTable(TABLE.sibling(name), SILENT) for name in ("orders", "customer"))
    found = with_arrivals(port(partitioned("orders")), [one, other], TableRules(), NOW)
    assert found == [replace(one, reading=Reading(NOW, partition="DAY")), replace(other, reading=Reading(NOW))]
    stamped = TableId("my-project", "shop", "stamped")
    warehouse = ToldWarehouse({stamped: StoredTable(columns(came="DATE"), CREATED)})
    (dated,) = with_arrivals(port(warehouse), [ChangeTable(stamped, SILENT)], TableRules(landed_column="Came"), NOW)
    assert dated.reading == Reading(NOW, landed=Column("came", columns(came="DATE")[0].type))


BEFORE = NOW - HOUR


def landed(then: int | None, *, plain: bool = False) -> tuple[Mapping[str, LandedRows], frozenset[str]]:
    """Count the rows of `a`, of which the last merge has counted 30 before `START`."""
    state = replace(STATE, landed={"a": LandedRows(START, 30)} if then is not None else {})
    reading = Reading(NOW, partition="DAY") if plain else None
    warehouse = told(A)
    warehouse.answers.insert(0, ("AS `then`", [{"version": "a", "now": 40, "then": then}]))
    found, after = count_landed(port(warehouse), [ChangeTable(ID_A, A, reading=reading)], state, BEFORE)
    return found, after.reloaded


@pytest.mark.parametrize(
    ("then", "plain", "reloaded"),
    [(30, False, False), (29, False, False), (31, False, True), (30, True, False), (29, True, True), (31, True, True)],
)
def test_a_version_that_got_older_rows_is_read_whole_and_a_plain_table_also_where_rows_went(
    then: int, plain: bool, reloaded: bool
) -> None:
    counted = BEFORE.replace(hour=0, minute=0) if plain else BEFORE
    assert landed(then, plain=plain) == ({"a": LandedRows(counted, 40)}, frozenset({"a"} if reloaded else ()))


def test_the_first_count_tells_nothing_of_older_rows() -> None:
    assert landed(None) == ({"a": LandedRows(BEFORE, 40)}, frozenset())


def test_more_tables_than_a_query_may_have_are_counted_by_several_queries_and_silent_ones_by_none() -> None:
    many = [replace(A, id=f"v{number}") for number in range(MAX_TABLES + 1)]
    changes = [*(ChangeTable(TABLE.sibling(one.id), one) for one in many), ChangeTable(TABLE, SILENT)]
    warehouse = ToldWarehouse(answers=[(f"'{one}' AS version", rows(group)) for one, group in groups(many)])
    found, state = count_landed(port(warehouse), changes, MergeState(), BEFORE)
    assert [*found] == [one.id for one in many]
    assert [sql.count("AS version") for sql in warehouse.script] == [MAX_TABLES, 1]
    assert state == MergeState()


def groups(versions: list[Version]) -> list[tuple[str, list[Version]]]:
    return [("v0", versions[:MAX_TABLES]), (f"v{MAX_TABLES}", versions[MAX_TABLES:])]


def rows(versions: list[Version]) -> list[dict[str, Any]]:
    return [{"version": one.id, "now": 1, "then": None} for one in versions]
