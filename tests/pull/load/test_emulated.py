"""Loads into the embedded BigQuery, by the adapters and queries that run in a batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.load_scene import DAILY, NOON
from support.pulled_shop import PulledShop
from support.pulled_source import BASE, DATASET, ID, WIDER, Operation

from onefold.adapters.connect import connect
from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.ports.load_jobs import PULLED_LABEL, NotPulled
from onefold.pull.load.run_log import LOG_COLUMNS, LOG_TABLE
from onefold.pull.read.clock import micros
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.settings.sources import TableLoad
from onefold_lab.stand_ins.load_jobs import EmulatedLoadJobs
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

DAY = date(2026, 5, 3)


@pytest.fixture
def shop(dataset: EmulatedDataset, tmp_path: Path) -> PulledShop:
    return PulledShop(dataset, tmp_path)


def test_a_daily_load_replaces_its_day_with_deletions_in_all_versions(shop: PulledShop) -> None:
    shop.source.put(1, "older", NOON - timedelta(days=2))
    shop.source.put(2, "deleted", NOON - timedelta(days=2))
    shop.pull("15m", NOON - timedelta(days=2))
    shop.pull("day", DAILY - timedelta(days=1))
    shop.source.put(2, "deleted later", NOON)
    shop.source.put(3, "é'\\\n\"", NOON)
    shop.source.operations.append(Operation(4, "undated", NOON, NOON, no_watermark=True))
    shop.pull("15m", NOON)
    shop.source.structure = WIDER
    shop.pull("15m", NOON + timedelta(hours=1))
    shop.source.put(2, None, NOON + timedelta(hours=2))
    shop.source.put(5, "tomorrow", DAILY - timedelta(hours=1))
    for hours in range(2):
        shop.pull("day", DAILY + timedelta(hours=hours))
        assert shop.view == {1: "older", 3: "é'\\\n\"", 4: "undated", 5: "tomorrow"}
    old, new = (name for name in sorted(shop.tables, key=lambda name: len(shop.rows(name)[0])))
    assert {str(row["_day"]) for row in shop.rows(old)} == {"2026-05-01"}
    days = sorted((str(row["_day"]), row["id"], row["datastream_metadata"]["change_type"]) for row in shop.rows(new))
    assert ("2026-05-03", 2, "DELETE") in days
    assert [one for one in days if one[0] == "2026-05-03"] == [("2026-05-03", 2, "DELETE"), ("2026-05-03", 3, "INSERT")]
    assert len([one for one in days if one[0] == "0001-01-01"]) == 1
    assert not [table.table_id for table in shop.dataset.client.list_tables(DATASET) if "onefold_tmp" in table.table_id]


@pytest.mark.long
def test_rows_whose_watermark_falls_are_looked_up(shop: PulledShop) -> None:
    future = datetime(2099, 1, 1, tzinfo=UTC)
    for key, watermark in ((1, None), (2, future), (3, None), (4, future), (6, None)):
        shop.source.operations.append(Operation(key, "first", NOON - timedelta(days=3), NOON, watermark=watermark))
    shop.source.put(5, "deleted", NOON)
    shop.pull("15m", NOON)
    later = NOON + timedelta(hours=1)
    for key, watermark, is_missing in (
        (1, None, True),  # of an older day
        (2, later, False),  # read again, at an earlier day
        (3, NOON - timedelta(days=30), False),  # of a day that is not loaded again, so this change is not seen
        (4, NOON - timedelta(days=30), False),  # not read again
    ):
        shop.source.operations.append(Operation(key, "second", later, later, watermark=watermark, no_watermark=is_missing))
    shop.source.put(5, None, later)
    for hours in (0, 1):
        shop.pull("day", DAILY + timedelta(hours=hours))
        assert shop.view == {1: "second", 2: "second", 3: "first", 4: "second", 6: "first"}
    assert [row["rows_deleted"] for row in sorted(shop.rows("_loads"), key=lambda row: row["logged_at"])][-3:] == [
        1,
        None,
        0,
    ]
    shop.source.put(1, None, DAILY)
    shop.source.put(4, None, DAILY)
    shop.pull("day", DAILY + timedelta(days=1))
    # Of a day to come nobody asks again what was looked up once: there the deletion is not seen.
    assert shop.view == {2: "second", 3: "first", 4: "second", 6: "first"}


def test_the_log_tells_the_next_pull_its_watermark(shop: PulledShop) -> None:
    shop.source.put(1, "Ada", NOON)
    assert shop.loads().state_of(BASE, "15m").version is None
    shop.pull("15m", NOON + timedelta(minutes=5))
    state = shop.loads().state_of(BASE, "15m")
    assert (state.watermark, state.watermark_column) == (micros(NOON), "changed_at")
    assert state.started == NOON + timedelta(minutes=5)
    assert shop.loads().state_of(BASE, "day").started is None
    begun, row = sorted(shop.rows("_loads"), key=lambda row: row["logged_at"])
    assert (begun["state"], begun["load_id"], begun["replaces"]) == ("begun", row["load_id"], False)
    assert (row["state"], row["rows_loaded"], row["pull_window"], len(row["files"])) == ("loaded", 1, "15m", 1)
    assert json.loads(shop.publisher.topics["table-created"][0].data)["dataset"] == DATASET


def test_a_log_of_an_older_release_gets_the_columns_that_it_lacks(shop: PulledShop) -> None:
    warehouse = connect(DEFAULT_PROJECT)
    older = [column for column in LOG_COLUMNS if column.name not in ("source_table", "columns_read", "rows_at_source")]
    warehouse.create_table(TableId(DEFAULT_PROJECT, DATASET, LOG_TABLE), older, partition="logged_at")
    shop.source.put(1, "Ada", NOON)
    for minutes in (5, 10):
        shop.pull("15m", NOON + timedelta(minutes=minutes))
    state = shop.loads().state_of(BASE, "15m")
    assert (state.source_table, state.columns, state.watermark) == ("score", ("id", "name", "changed_at"), micros(NOON))


def test_a_key_watermark_is_replaced_by_the_keys_that_the_log_knows(shop: PulledShop) -> None:
    shop.puller.watermark, shop.puller.load = ID, TableLoad("incremental", pull_overlap=2)
    for key in range(1, 6):
        shop.source.put(key, f"n{key}", NOON)
    shop.pull("15m", NOON)
    shop.source.put(2, None, NOON)
    shop.source.put(6, "n6", DAILY - timedelta(hours=1))
    state = shop.loads().state_of(BASE, "day")
    assert state.keys_of_days == ((DAY, 1, 5),)
    shop.pull("day", DAILY)
    assert shop.view.keys() == {1, 3, 4, 5, 6}


def test_a_full_load_replaces_every_version(shop: PulledShop) -> None:
    shop.puller.watermark = None
    shop.source.put(1, "Ada", NOON)
    shop.source.put(2, "Grace", NOON)
    shop.pull("full", NOON)
    shop.source.put(1, None, NOON)
    shop.source.structure = WIDER
    shop.pull("full", DAILY)
    assert sorted(len(rows) for rows in shop.tables.values()) == [0, 1]
    assert shop.view == {2: "Grace"}
    shop.source.put(2, None, DAILY)
    shop.pull("full", DAILY + timedelta(days=1))
    assert shop.view == {}


class File:
    checksum = "x"

    def __init__(self, path: Path, rows: Sequence[dict[str, Any]]) -> None:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        self.name, self.rows = path.as_uri(), len(rows)


TYPES = {
    "id": "INT64", "b": "BYTES", "i": "INTERVAL", "j": "JSON", "n": "BIGNUMERIC", "t": "TIMESTAMP", "d": "DATETIME",
    "f": "FLOAT64", "s": "STRING", "_day": "DATE",
}  # fmt: skip
VALUES = {
    "id": 1, "b": "AP8=", "i": "0-0 0 -838:59:59.000001", "j": {"a": [1, None, "é"]}, "n": "1.5",
    "t": "2026-05-03 00:00:00.000001+00:00",
    "d": "2026-05-03 00:00:00.1", "f": 0.1, "s": "é\n", "_day": "2026-05-03",
}  # fmt: skip


def test_values_of_all_types_are_loaded_by_the_emulator_as_by_bigquery(dataset: EmulatedDataset, tmp_path: Path) -> None:
    warehouse = connect(DEFAULT_PROJECT)
    table = TableId(DEFAULT_PROJECT, dataset.name, "t_v_1")
    columns = [Column(name, parse_type(type_)) for name, type_ in TYPES.items()]
    warehouse.create_table(table, columns, partition="_day", labels={PULLED_LABEL: "true"})
    jobs = EmulatedLoadJobs(warehouse)
    jobs.append(table, [File(tmp_path / "a", [VALUES, {"id": 2, "_day": "2026-05-04"}])])
    jobs.replace(table, [File(tmp_path / "b", [{**VALUES, "id": 3}])], DAY)
    rows = sorted(warehouse.fetch(f"SELECT * FROM {table.quoted}"), key=lambda row: row["id"])
    assert [row["id"] for row in rows] == [2, 3]
    row = rows[1]
    assert (row["b"], row["j"], row["f"], row["s"]) == (b"\x00\xff", {"a": [1, None, "é"]}, 0.1, "é\n")
    assert (row["t"], row["d"]) == (
        datetime(2026, 5, 3, microsecond=1, tzinfo=UTC), datetime(2026, 5, 3, microsecond=100_000)
    )  # fmt: skip


def test_a_row_that_does_not_fit_leaves_the_partition_as_it_was(dataset: EmulatedDataset, tmp_path: Path) -> None:
    warehouse = connect(DEFAULT_PROJECT)
    table = TableId(DEFAULT_PROJECT, dataset.name, "t_v_1")
    columns = [Column("id", parse_type("INT64")), Column("_day", parse_type("DATE"))]
    warehouse.create_table(table, columns, partition="_day", labels={PULLED_LABEL: "true"})
    jobs = EmulatedLoadJobs(warehouse)
    jobs.append(table, [File(tmp_path / "a", [{"id": 1, "_day": "2026-05-03"}])])
    wrong = File(tmp_path / "b", [{"id": 2, "_day": "2026-05-03"}, {"id": "x", "_day": "2026-05-03"}])
    with pytest.raises(Rejected, match="row 1"):
        jobs.replace(table, [wrong], DAY)
    assert warehouse.fetch(f"SELECT id FROM {table.quoted}") == [{"id": 1}]
    plain = table.sibling("plain")
    warehouse.create_table(plain, columns, partition="_day")
    with pytest.raises(NotPulled):
        jobs.replace(plain, [], DAY)
