"""What BigQuery tells about what it bills for: the two queries, judged, and their rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.region import Region
from support.zetasql_judge import Columns, Judge

from onefold.adapters.bigquery.statements import dry_run_config, labelled_config
from onefold.adapters.bigquery.usage import jobs_query, stored_query
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.ports.usage import JOB_LABEL, LoggedJobs, StoredBytes

NAMED = "STRUCT<project_id STRING, dataset_id STRING, table_id STRING>"
TABLES: dict[str, Columns] = {
    "storage": [
        ("table_schema", "STRING"), ("table_name", "STRING"), ("total_rows", "INT64"), ("active_logical_bytes", "INT64"),
        ("long_term_logical_bytes", "INT64"), ("active_physical_bytes", "INT64"), ("long_term_physical_bytes", "INT64"),
        ("fail_safe_physical_bytes", "INT64"), ("creation_time", "TIMESTAMP"), ("deleted", "BOOL"),
    ],
    "jobs": [
        ("creation_time", "TIMESTAMP"), ("job_type", "STRING"), ("statement_type", "STRING"), ("destination_table", NAMED),
        ("referenced_tables", f"ARRAY<{NAMED}>"), ("labels", "ARRAY<STRUCT<key STRING, value STRING>>"),
        ("total_bytes_billed", "INT64"), ("reservation_id", "STRING"),
    ],
}  # fmt: skip


def job(
    kind: str,
    statement: str,
    written: str,
    read: str,
    label: str = "",
    billed: str = "10",
    age: int = 1,
    slots: str = "NULL",
) -> str:
    def named(table: str) -> str:
        dataset, _, name = table.partition(".")
        return f"STRUCT('p' AS project_id, '{dataset}' AS dataset_id, '{name}' AS table_id)"

    read_ = ", ".join(named(table) for table in read.split())
    labels = f"[STRUCT('{label}' AS key, 'job' AS value)]" if label else "ARRAY<STRUCT<key STRING, value STRING>>[]"
    return (
        f"SELECT TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL {age} DAY) AS creation_time, '{kind}' AS job_type, "
        f"'{statement}' AS statement_type, {named(written)} AS destination_table, "
        f"ARRAY<{NAMED}>[{read_}] AS referenced_tables, {labels} AS labels, {billed} AS total_bytes_billed, "
        f"CAST({slots} AS STRING) AS reservation_id"
    )


def logged(judge: Judge, *jobs: str) -> list[tuple[object, ...]]:
    query = jobs_query("p", "EU", ["shop", "shop__onefold"], 30).replace("`p`.`region-eu`.INFORMATION_SCHEMA.JOBS", "jobs")
    return sorted(judge.rows(query, TABLES, {"jobs": "\nUNION ALL\n".join(jobs)}), key=str)


def test_jobs_are_grouped_by_what_they_read_and_write_and_by_who_started_them(judge: Judge) -> None:
    read = "shop.a_base shop.a_v_1"
    found = logged(
        judge,
        job("QUERY", "SELECT", "_hidden.anon", read),
        job("QUERY", "SELECT", "_hidden.anon", "shop.a_v_1 shop.a_base crm.x"),
        job("QUERY", "SELECT", "_hidden.anon", read, JOB_LABEL),
        job("QUERY", "MERGE", "shop.a_base", read, JOB_LABEL, "500"),
    )
    assert found == [
        ("QUERY", "MERGE", "shop.a_base", "shop.a_base`shop.a_v_1", True, 1, 0, 500),
        ("QUERY", "SELECT", "", "shop.a_base`shop.a_v_1", False, 2, 0, 20),
        ("QUERY", "SELECT", "", "shop.a_base`shop.a_v_1", True, 1, 0, 10),
    ]


def test_scripts_old_jobs_and_those_of_other_datasets_are_left_out(judge: Judge) -> None:
    found = logged(
        judge,
        job("QUERY", "SCRIPT", "shop.a_base", "shop.a_v_1"),
        job("QUERY", "SELECT", "_hidden.anon", "shop.a_v_1", age=31),
        job("QUERY", "SELECT", "_hidden.anon", "crm.x"),
        job("LOAD", "", "shop__onefold.a_base", "", billed="NULL"),
    )
    assert found == [("LOAD", "", "shop__onefold.a_base", None, False, 1, 0, 0)]


def test_bytes_of_a_job_in_a_reservation_are_not_billed_and_the_job_is_counted(judge: Judge) -> None:
    jobs = [job("QUERY", "SELECT", "_hidden.anon", "shop.a_v_1", slots=slots) for slots in ("NULL", "'eu.etl'")]
    assert logged(judge, *jobs) == [("QUERY", "SELECT", "", "shop.a_v_1", False, 2, 1, 10)]


def test_what_a_dropped_table_stored_is_left_out(judge: Judge) -> None:
    query = stored_query("p", "EU", "shop").replace("`p`.`region-eu`.INFORMATION_SCHEMA.TABLE_STORAGE", "storage")
    row = (
        "SELECT 'shop' AS table_schema, '{}' AS table_name, 3 AS total_rows, 4 AS active_logical_bytes, "
        "5 AS long_term_logical_bytes, 6 AS active_physical_bytes, 7 AS long_term_physical_bytes, "
        "8 AS fail_safe_physical_bytes, TIMESTAMP '2026-01-01 00:00:00+00' AS creation_time, {} AS deleted"
    )
    content = {"storage": f"{row.format('a_v_1', 'FALSE')} UNION ALL {row.format('gone', 'TRUE')}"}
    assert [found[:6] for found in judge.rows(query, TABLES, content)] == [("a_v_1", 3, 4, 5, 14, 7)]


def test_only_jobs_that_run_have_the_label_of_the_library() -> None:
    assert labelled_config().labels == {JOB_LABEL: "job"}
    assert dry_run_config().labels == {}


@pytest.mark.parametrize("billing", ["LOGICAL", "PHYSICAL"])
def test_what_tables_store_is_asked_for_in_the_region_by_two_calls_with_the_bytes_that_the_dataset_bills(
    billing: str,
) -> None:
    numbers = {"rows": "3", "active": "4", "long_term": "5", "active_physical": "14", "long_term_physical": None}
    columns = {"table_name": "STRING", **dict.fromkeys(numbers, "INTEGER"), "created": "TIMESTAMP"}
    rows = [{"table_name": f"t{number}", **numbers, "created": "1767225600000000"} for number in range(50)]
    region = Region(rows, columns, billing=billing)
    warehouse = BigQueryWarehouse(region.client())
    stored = warehouse.list_stored("shop")
    made = datetime(2026, 1, 1, tzinfo=UTC)
    assert stored["t49"] == StoredBytes(3, 4, 5, 14, None, made, is_physical=billing == "PHYSICAL")
    assert (len(stored), region.places, warehouse.calls) == (50, ["EU"], 2)


def test_the_log_of_jobs_is_asked_for_in_the_region_by_two_calls() -> None:
    texts = {"kind": "QUERY", "statement": "SELECT", "written": "", "read": "shop.a_base`shop.a_v_1"}
    row = {**texts, "own": "true", "jobs": "2", "reserved": "1", "billed": "20"}
    columns = {
        **dict.fromkeys(texts, "STRING"),
        "own": "BOOLEAN",
        **dict.fromkeys(("jobs", "reserved", "billed"), "INTEGER"),
    }
    region = Region([row], columns)
    warehouse = BigQueryWarehouse(region.client())
    (found,) = warehouse.list_jobs(["shop", "shop__onefold"], 30)
    read = frozenset({"shop.a_base", "shop.a_v_1"})
    assert found == LoggedJobs("QUERY", "SELECT", "", read, True, 2, 20, reserved=1)
    assert (region.places, warehouse.calls) == (["EU"], 2)
