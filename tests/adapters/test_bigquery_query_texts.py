"""What BigQuery tells about the texts that read tables: the three queries, judged, and their rows."""

from __future__ import annotations

import re

import pytest
import requests
from support.region import Region
from support.rest import HttpRequest, error, serving
from support.zetasql_judge import Columns, Judge

from onefold.adapters.bigquery.query_texts import columns_query, job_texts_query, views_query
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.scheduled_queries import TransferConfigs
from onefold.core.errors import AccessDenied
from onefold.ports.query_texts import ScheduledText, ViewText

NAMED = "STRUCT<project_id STRING, dataset_id STRING, table_id STRING>"
JOBS: Columns = [
    ("creation_time", "TIMESTAMP"), ("project_id", "STRING"), ("user_email", "STRING"), ("job_type", "STRING"),
    ("statement_type", "STRING"), ("state", "STRING"), ("error_result", "STRUCT<reason STRING>"), ("query", "STRING"),
    ("cache_hit", "BOOL"), ("referenced_tables", f"ARRAY<{NAMED}>"), ("labels", "ARRAY<STRUCT<key STRING, value STRING>>"),
    ("query_info", "STRUCT<query_hashes STRUCT<normalized_literals STRING>>"),
]  # fmt: skip
REGION = "`p`.`region-eu`.INFORMATION_SCHEMA."
TEXT = "SELECT 'secret' FROM shop.t"


def job(
    who: str = "ada@example.org", read: str = "shop.t", text: str = TEXT, form: str = "'f'", labels: str = "", age: int = 1,
    statement: str = "SELECT", failed: str = "CAST(NULL AS STRUCT<reason STRING>)", cached: str = "FALSE",
) -> str:  # fmt: skip
    tables = ", ".join(f"STRUCT('p' AS project_id, '{d}' AS dataset_id, '{t}' AS table_id)"
                       for d, _, t in (one.partition(".") for one in read.split()))  # fmt: skip
    of = ", ".join(
        f"STRUCT('{key}' AS key, '{value}' AS value)" for key, value in (one.split("=") for one in labels.split())
    )
    return (
        f"SELECT TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL {age} DAY) AS creation_time, 'p' AS project_id, "
        f"'{who}' AS user_email, 'QUERY' AS job_type, '{statement}' AS statement_type, 'DONE' AS state, "
        f'{failed} AS error_result, "{text}" AS query, {cached} AS cache_hit, '
        f"ARRAY<{NAMED}>[{tables}] AS referenced_tables, "
        f"ARRAY<STRUCT<key STRING, value STRING>>[{of}] AS labels, "
        f"STRUCT(STRUCT(CAST({form} AS STRING) AS normalized_literals) AS query_hashes) AS query_info"
    )


def logged(judge: Judge, *jobs: str) -> list[tuple[object, ...]]:
    query = job_texts_query("p", "EU", 30).replace(f"{REGION}JOBS_BY_PROJECT", "jobs")
    query = query.replace("@salt", "'salt'").replace("@datasets", "['shop']")
    return sorted(judge.rows(query, {"jobs": JOBS}, {"jobs": "\nUNION ALL\n".join(jobs)}), key=str)


def test_texts_that_differ_in_literals_only_are_one_and_addresses_become_keyed_hashes(judge: Judge) -> None:
    ((kind, text, readers, jobs, incomplete, _, referenced),) = logged(
        judge, job(), job(text="SELECT 'other' FROM shop.t"), job("bob@example.org", "shop.u shop.t")
    )
    assert (kind, jobs, incomplete, referenced) == ("person", 3, 0, "shop.t`shop.u")
    digests = str(readers).split("`")
    assert (len(digests), all(re.fullmatch("[0-9a-f]{64}", one) for one in digests)) == (2, True)
    assert str(text).startswith("SELECT '")


def test_kinds_of_readers_are_told_by_address_and_labels(judge: Judge) -> None:
    found = logged(
        judge,
        job("etl@p.iam.gserviceaccount.com"),
        job(labels="looker_studio_report_id=r1 requestor=looker_studio"),
        job("bob@example.org", labels="looker_studio_report_id=r1"),
        job(labels="requestor=looker_studio"),
    )
    assert [(row[0], row[3], str(row[2]).count("`") + 1) for row in found] == [
        ("dashboard", 3, 2),
        ("service account", 1, 1),
    ]


def test_only_jobs_that_may_have_read_the_datasets_count(judge: Judge) -> None:
    many = " ".join(f"crm.t{number}" for number in range(50))
    found = logged(
        judge,
        job(read="crm.t", form="'other datasets'"),
        job(read="", cached="TRUE", form="'cached'"),
        job(read=many, form="'many'"),
        job(read=many.rpartition(" ")[0], form="'not so many'"),
        job(age=31, form="'old'"),
        job(labels="onefold=job", form="'own'"),
        job(labels="data_source_id=scheduled_query", form="'scheduled'"),
        job(statement="SCRIPT", form="'script'"),
        job(failed="STRUCT('invalidQuery' AS reason)", form="'failed'"),
        job(form="NULL", text="SELECT 7"),
    )
    counts = sorted((row[3], row[4], len(str(row[6] or "").split("`"))) for row in found)
    assert counts == [(1, 0, 1), (1, 0, 1), (1, 1, 50)]


def test_views_of_onefold_are_told_by_their_labels_and_leaves_by_their_name(judge: Judge) -> None:
    query = views_query("p", "EU").replace(f"{REGION}VIEWS", "views").replace(f"{REGION}TABLE_OPTIONS", "options")
    names = {"mine": "NULL", "labelled": '\'[STRUCT("team", "x")]\'', "ours": '\'[STRUCT("onefold_rules", "9")]\''}
    views = [*names, "onefold_leaf_x", "legacy"]
    content = {
        "views": " UNION ALL ".join(
            f"SELECT 'd' AS table_schema, '{name}' AS table_name, 'SELECT 1' AS view_definition, "
            f"'{'NO' if name == 'legacy' else 'YES'}' AS use_standard_sql" for name in views
        ),
        "options": " UNION ALL ".join(
            f"SELECT 'd' AS table_schema, '{name}' AS table_name, 'labels' AS option_name, {value} AS option_value"
            for name, value in names.items()
        ),
    }  # fmt: skip
    texts = ("table_schema", "table_name")
    tables: dict[str, Columns] = {
        "views": [(name, "STRING") for name in (*texts, "view_definition", "use_standard_sql")],
        "options": [(name, "STRING") for name in (*texts, "option_name", "option_value")],
    }
    found = {row[1]: row[3] for row in judge.rows(query, tables, content)}
    assert found == {"mine": False, "labelled": False, "ours": True, "onefold_leaf_x": True}


def test_columns_are_asked_for_by_name_and_by_the_beginning_of_a_name(judge: Judge) -> None:
    query = columns_query("p", "EU").replace(f"{REGION}COLUMNS", "cols")
    query = query.replace("@names", "['t']").replace("@prefixes", "['ev_']")
    rows = [("t", "b", 2, "NO"), ("t", "a", 1, "NO"), ("t", "_p", 3, "YES"), ("u", "x", 1, "NO"), ("ev_1", "y", 1, "NO")]
    content = " UNION ALL ".join(
        f"SELECT 'd' AS table_schema, '{table}' AS table_name, '{name}' AS column_name, {place} AS ordinal_position, "
        f"'{hidden}' AS is_hidden" for table, name, place, hidden in rows
    )  # fmt: skip
    columns: Columns = [
        ("table_schema", "STRING"), ("table_name", "STRING"), ("column_name", "STRING"), ("ordinal_position", "INT64"),
        ("is_hidden", "STRING"),
    ]  # fmt: skip
    assert sorted(judge.rows(query, {"cols": columns}, {"cols": content})) == [("d", "ev_1", "y"), ("d", "t", "a`b")]


def test_views_are_asked_for_in_the_region_by_two_calls() -> None:
    columns = {"dataset": "STRING", "name": "STRING", "text": "STRING", "own": "BOOLEAN"}
    region = Region([{"dataset": "d", "name": "v", "text": "SELECT 1", "own": "true"}], columns)
    warehouse = BigQueryWarehouse(region.client())
    assert list(warehouse.list_view_texts("shop")) == [ViewText(("d", "v"), "SELECT 1", own=True)]
    assert (region.places, warehouse.calls) == (["EU"], 2)


def test_jobs_and_columns_have_their_values_as_parameters_and_salts_differ() -> None:
    names = ("kind", "text", "readers", "referenced")
    row = {"kind": "person", "text": TEXT, "readers": "a`b", "referenced": "shop.t", "jobs": "3", "incomplete": "1",
           "last_at": "1767225600000000"}  # fmt: skip
    types = {**dict.fromkeys(names, "STRING"), "jobs": "INTEGER", "incomplete": "INTEGER", "last_at": "TIMESTAMP"}
    region = Region([row], types)
    warehouse = BigQueryWarehouse(region.client())
    (one,) = warehouse.list_job_texts("shop", ["shop"], 30)
    assert (sorted(one.readers), one.jobs, one.incomplete, sorted(one.referenced)) == (["a", "b"], 3, 1, [("shop", "t")])
    warehouse.list_job_texts("shop", ["shop"], 30)
    salts = [one["queryParameters"][0]["parameterValue"]["value"] for one in region.queries]
    assert len({*salts}) == 2
    assert all(salt not in one["query"] and len(salt) == 64 for salt, one in zip(salts, region.queries, strict=True))


def test_scheduled_queries_are_listed_page_by_page_without_those_that_are_paused() -> None:
    pages = [
        {"transferConfigs": [{"name": "c/1", "params": {"query": "SELECT 1"}}, {"name": "c/2", "disabled": True,
                              "params": {"query": "SELECT 2"}}], "nextPageToken": "2"},
        {"transferConfigs": [{"name": "c/3", "params": {"query": "SELECT 3"}}]},
    ]  # fmt: skip

    def answer(request: HttpRequest) -> tuple[int, object]:
        assert (request.path, request.query["dataSourceIds"]) == (
            "/v1/projects/p/locations/eu/transferConfigs", "scheduled_query",
        )  # fmt: skip
        return 200, pages[int(request.query.get("pageToken", 1)) - 1]

    with serving(answer) as address:
        found = TransferConfigs("p", requests.Session(), address).list_scheduled("EU")
    assert list(found) == [ScheduledText("c/1", "SELECT 1"), ScheduledText("c/3", "SELECT 3")]


def test_who_may_not_list_scheduled_queries_is_told_so() -> None:
    with serving(lambda _: error(403, "forbidden", "bigquery.transfers.get is missing")) as address:
        configs = TransferConfigs("p", requests.Session(), address)
        with pytest.raises(AccessDenied, match=r"the scheduled queries of p in EU: .*bigquery\.transfers\.get"):
            configs.list_scheduled("EU")
