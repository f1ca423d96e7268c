"""How a merge finds what is new of a plain change table, and from which time on it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.core.errors import AccessDenied, Rejected, SchemaConflict, TryAgain
from onefold.core.names import TableId
from onefold.merge.reading import (
    SOURCE_OVERLAP,
    WHOLE_EVERY,
    Reading,
    Way,
    condition_sql,
    described,
    item_sql,
    read_readings,
)
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Column
from onefold.schema.types import Scalar

NOW = datetime(2026, 11, 26, 4, 30, 15, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
AT, DATE, ID = (Column(name, Scalar(type_)) for name, type_ in (("at", "TIMESTAMP"), ("day", "DATE"), ("id", "INT64")))
ORDERS = TableId("my-project", "shop", "orders")


def test_the_first_merge_reads_the_whole_table() -> None:
    assert Reading(NOW, None, "DAY", NOW - DAY, NOW).since(None, HOUR) == ("whole", None)


@pytest.mark.parametrize(
    ("partition", "since"),
    [
        ("HOUR", datetime(2026, 11, 26, 2, tzinfo=UTC)),
        ("DAY", datetime(2026, 11, 26, tzinfo=UTC)),
        ("MONTH", datetime(2026, 11, 1, tzinfo=UTC)),
        ("YEAR", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_ingestion_partitions_are_read_from_the_one_on_in_which_the_last_window_begins(
    partition: str, since: datetime
) -> None:
    assert Reading(NOW, partition=partition).since(NOW - HOUR, HOUR) == ("partition", since)


def test_appended_rows_are_read_from_the_last_merge_on_less_the_overlap() -> None:
    assert Reading(NOW, appends_since=NOW - 7 * DAY).since(NOW - DAY, HOUR) == ("appends", NOW - DAY - HOUR)


def test_a_merge_that_comes_after_the_time_travel_window_reads_the_whole_table() -> None:
    assert Reading(NOW, appends_since=NOW - 2 * DAY).since(NOW - 2 * DAY, HOUR) == ("whole", None)


def test_the_time_of_the_source_is_read_with_a_day_of_overlap() -> None:
    found = Reading(NOW, whole_at=NOW - HOUR).since(NOW - HOUR, HOUR)
    assert found == ("source_timestamp", NOW - HOUR - SOURCE_OVERLAP)


@pytest.mark.parametrize("whole_at", [None, NOW - WHOLE_EVERY])
def test_a_table_that_tells_no_more_than_the_time_of_the_source_is_read_whole_once_a_day(whole_at: datetime | None) -> None:
    assert Reading(NOW, whole_at=whole_at).since(NOW - HOUR, HOUR) == ("whole", None)


times = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
partitions = st.sampled_from(["HOUR", "DAY", "MONTH", "YEAR"])


@given(start=times, overlap=st.timedeltas(timedelta(0), 3 * DAY), partition=partitions)
def test_no_window_begins_after_the_start_of_the_last_merge(start: datetime, overlap: timedelta, partition: str) -> None:
    readings = [Reading(NOW, partition=partition), Reading(NOW, appends_since=start - 9 * DAY), Reading(NOW, whole_at=NOW)]
    for since in (reading.since(start, overlap)[1] for reading in readings):
        assert since is not None
        assert since <= start
    assert all(one.since(start, overlap)[1] <= start - overlap for one in readings[:2])  # type: ignore[operator]


@pytest.mark.parametrize(
    ("way", "item", "condition"),
    [
        ("whole", "`my-project.shop.orders`", None),
        (
            "partition",
            "`my-project.shop.orders`",
            "v._PARTITIONTIME >= TIMESTAMP '2026-11-26 04:30:15.000000+00' OR v._PARTITIONTIME IS NULL",
        ),
        ("appends", "APPENDS(TABLE `my-project.shop.orders`, TIMESTAMP '2026-11-26 04:30:15.000000+00', NULL)", None),
        (
            "source_timestamp",
            "`my-project.shop.orders`",
            "v.`datastream_metadata`.source_timestamp >= 1795667415000 OR v.`datastream_metadata`.source_timestamp IS NULL",
        ),
    ],
)
def test_each_way_has_its_sql(way: Way, item: str, condition: str | None) -> None:
    assert (item_sql(ORDERS, way, NOW), condition_sql("v.", way, NOW)) == (item, condition)
    assert (item_sql(ORDERS, way, None), condition_sql("v.", way, None)) == ("`my-project.shop.orders`", None)


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("whole", "is read whole"),
        ("landed", "is read by landed_column from 2026-11-26 04:30:15 UTC on"),
        ("partition", "is read by _PARTITIONTIME from 2026-11-26 04:30:15 UTC on"),
        ("appends", "is read by APPENDS from 2026-11-26 04:30:15 UTC on"),
        ("source_timestamp", "is read by source_timestamp from 2026-11-26 04:30:15 UTC on"),
    ],
)
def test_people_read_which_way_was_chosen_and_the_time_in_utc(way: Way, text: str) -> None:
    in_berlin = NOW.astimezone(timezone(HOUR))
    assert described(ORDERS, way, None if way == "whole" else in_berlin) == f"my-project.shop.orders {text}"
    assert described(ORDERS, way, None if way == "whole" else NOW) == f"my-project.shop.orders {text}"


@dataclass
class Told:
    """A warehouse that tells of one table: its partitions, the time travel window, and whether APPENDS is answered."""

    partition: str | None = None
    travel: timedelta | None = 7 * DAY
    answer: Callable[[], None] = lambda: None
    asked: str = ""
    landed_column: str | None = None
    hidden: bool = False

    def read_table(self, _: TableId) -> StoredTable:
        return StoredTable((AT, DATE, ID), NOW, ingestion_partition=self.partition)

    def time_travel(self, _: str) -> timedelta | None:
        if self.hidden:
            raise AccessDenied("bigquery.datasets.get")
        return self.travel

    def check_query(self, sql: str) -> int | None:
        self.asked = sql
        self.answer()
        return None


def reading(told: Told, start: datetime | None = NOW - HOUR) -> Reading:
    return readings(told, {ORDERS: start})[ORDERS]


def readings(told: Told, starts: Mapping[TableId, datetime | None]) -> Mapping[TableId, Reading]:
    return read_readings(cast("BaseWarehouse", told), starts, told.landed_column, NOW, NOW - DAY)


def refuse(error: Exception) -> Any:
    def answer() -> None:
        raise error

    return answer


def test_partitions_come_before_appends_and_those_before_the_time_of_the_source() -> None:
    assert reading(Told(partition="HOUR")) == Reading(NOW, partition="HOUR")
    assert reading(Told()) == Reading(NOW, appends_since=NOW - 7 * DAY + HOUR)
    assert reading(Told(travel=None)) == Reading(NOW, whole_at=NOW - DAY)


@pytest.mark.parametrize("error", [Rejected("an external table"), AccessDenied("a row-level policy")])
def test_a_table_whose_history_is_refused_is_read_by_the_time_of_the_source(error: Exception) -> None:
    told = Told(answer=refuse(error))
    assert reading(told) == Reading(NOW, whole_at=NOW - DAY)
    assert told.asked.startswith("SELECT 1 AS found FROM APPENDS(TABLE `my-project.shop.orders`, TIMESTAMP")


def test_many_tables_are_asked_together_and_one_that_refuses_is_found() -> None:
    tables = [TableId("my-project", f"tenant_{number}", "orders") for number in range(8)]
    asked: list[str] = []

    class Asked(Told):
        def check_query(self, sql: str) -> int | None:
            asked.append(sql)
            if "tenant_5" in sql:
                raise AccessDenied("a row-level policy")
            return None

    starts = {**dict.fromkeys(tables, NOW - HOUR), tables[7]: None}
    found = readings(Asked(), starts)
    by_appends = {table for table, one in found.items() if one.appends_since}
    assert by_appends == {*tables} - {tables[5], tables[7]}
    assert (found[tables[5]], found[tables[7]]) == (Reading(NOW, whole_at=NOW - DAY), Reading(NOW))
    assert asked[0].count("APPENDS") == 7
    assert len(asked) == 7, "halves of halves"


def test_an_account_that_may_not_read_the_dataset_reads_by_the_time_of_the_source() -> None:
    assert reading(Told(hidden=True)) == Reading(NOW, whole_at=NOW - DAY)


def test_an_answer_that_does_not_come_is_an_error_and_no_other_way() -> None:
    with pytest.raises(TryAgain):
        reading(Told(answer=refuse(TryAgain("unavailable"))))


def test_nothing_is_asked_before_the_first_merge() -> None:
    told = Told(answer=refuse(AssertionError("asked")))
    assert reading(told, start=None) == Reading(NOW)


def test_a_column_that_onefold_yaml_names_comes_first() -> None:
    assert reading(Told(partition="DAY", landed_column="AT")) == Reading(NOW, landed=AT)
    assert reading(Told(landed_column="day")) == Reading(NOW, landed=DATE)


@pytest.mark.parametrize(("column", "found"), [("id", "INT64"), ("nothing", "no such column")])
def test_a_column_that_cannot_tell_a_time_is_an_error(column: str, found: str) -> None:
    with pytest.raises(SchemaConflict) as raised:
        reading(Told(landed_column=column))
    assert str(raised.value) == (
        f"my-project.shop.orders: expected a column {column} of type TIMESTAMP or DATE, got {found}: correct "
        "`landed_column` in onefold.yaml"
    )


def test_a_date_is_read_from_the_beginning_of_its_day_on() -> None:
    assert Reading(NOW, landed=AT).since(NOW - HOUR, HOUR) == ("landed", NOW - 2 * HOUR)
    assert Reading(NOW, landed=DATE).since(NOW - HOUR, HOUR) == ("landed", datetime(2026, 11, 26, tzinfo=UTC))
