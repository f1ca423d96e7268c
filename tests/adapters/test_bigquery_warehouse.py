"""The adapter, through Google's own client, over the fake transport."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import google.auth.exceptions
import pytest
import requests.exceptions
from google.api_core.exceptions import BadRequest
from google.cloud.bigquery import SchemaField
from google.cloud.bigquery.retry import DEFAULT_RETRY
from support.fake_bigquery import PROJECT, Crash, FakeBigQuery, Request, Resource, rest_field
from support.zetasql_judge import Judge

import onefold.adapters.bigquery.annotations
import onefold.adapters.bigquery.client
import onefold.adapters.bigquery.schema
import onefold.adapters.bigquery.warehouse
from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.versions import columns_text, versions_from_rows, versions_query
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.connect import connect
from onefold.changelog.generator_values import TYPES
from onefold.core.errors import InvalidColumns, LimitExceeded, NotFound, OnefoldError, Rejected, TryAgain, ViewChanged
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES
from onefold.ports.warehouse import StoredView, ViewDraft, ViewExists, Warehouse
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

BASE = TableId(PROJECT, "shop", "customer")
VIEW = BASE.sibling("customer_unified")
QUERY = f"SELECT * FROM `{PROJECT}.shop.customer_v_abc`"
OTHER_QUERY = f"SELECT * FROM `{PROJECT}.shop.customer_v_abc` -- again"
METADATA = {
    "tables": [("table_name", "STRING"), ("creation_time", "TIMESTAMP"), ("table_type", "STRING")],
    "columns": [
        ("table_name", "STRING"), ("column_name", "STRING"), ("ordinal_position", "INT64"), ("data_type", "STRING"),
        ("is_hidden", "STRING"),
    ],
}  # fmt: skip
METADATA_ROWS = {
    "tables": "SELECT name AS table_name, TIMESTAMP '2024-01-01 00:00:00+00' AS creation_time, type AS table_type "
    "FROM UNNEST([STRUCT('customer_v_abc' AS name, 'BASE TABLE' AS type), ('customer_v_view', 'VIEW'), "
    "('customer', 'BASE TABLE')])",
    "columns": "SELECT name AS table_name, c AS column_name, n AS ordinal_position, type AS data_type, hidden AS is_hidden "
    "FROM UNNEST([STRUCT('customer_v_abc' AS name, 'größe \"cm\"' AS c, 2 AS n, 'STRUCT<a INT64>' AS type, 'NO' AS hidden), "
    "('customer_v_abc', '_PARTITIONTIME', NULL, 'TIMESTAMP', 'NO'), ('customer_v_abc', 'id', 1, 'INT64', 'NO'), "
    "('customer_v_abc', 'secret', 3, 'INT64', 'YES'), ('customer_v_view', 'id', 1, 'INT64', 'NO'), "
    "('customer', 'id', 1, 'INT64', 'NO')])",
}
TAGS = {"names": ["projects/p/locations/eu/taxonomies/1/policyTags/2"]}


@pytest.fixture
def cloud() -> FakeBigQuery:
    cloud = FakeBigQuery()
    cloud.create_table("customer_v_abc", "id INT64", "address STRUCT<street STRING, zip INT64>")
    return cloud


@pytest.fixture
def warehouse(cloud: FakeBigQuery) -> Warehouse:
    return BigQueryWarehouse(cloud.client())


def stored_view(warehouse: Warehouse) -> StoredView:
    stored = warehouse.get_view(VIEW)
    assert stored
    return stored


def annotate(resource: Resource) -> None:
    """What people put on columns: a description, a policy tag, and both on nested ones."""
    id_, address = resource["schema"]["fields"]
    id_["description"] = "The number on the card.\nNever `NULL`."
    id_["policyTags"] = TAGS
    address["fields"][1]["description"] = "Five digits."


def describe(resource: Resource) -> None:
    resource["schema"]["fields"][0]["description"] = "The number on the card."


def annotated(cloud: FakeBigQuery) -> bool:
    id_, address = cloud.resource("customer_unified")["schema"]["fields"]
    return (id_.get("description"), id_.get("policyTags"), address["fields"][1].get("description")) == (
        "The number on the card.\nNever `NULL`.",
        TAGS,
        "Five digits.",
    )


# Reading


def test_versions_are_read_in_one_request(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_def", "id INT64", "tags ARRAY<STRING>")
    with cloud.counted() as made:
        versions = warehouse.read_versions(BASE)
    assert made == [Request("query")]
    assert {version.id: [str(column.type) for column in version.columns] for version in versions} == {
        "abc": ["INT64", "STRUCT<street STRING, zip INT64>"],
        "def": ["INT64", "ARRAY<STRING>"],
    }
    assert all(isinstance(version.created, datetime) and version.created.tzinfo == UTC for version in versions)


def test_versions_are_read_to_the_last_page(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_def", *(f"c{number} INT64" for number in range(7)))
    cloud.create_table("customer_v_fed", "id INT64")
    cloud.rows_per_page = 1
    found = {version.id: len(version.columns) for version in warehouse.read_versions(BASE)}
    assert found == {"abc": 2, "def": 7, "fed": 1}


def test_many_versions_are_read_in_pages_whose_size_is_bounded(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.warehouse, "_VERSIONS_PAGE", 2)
    for number in range(4):
        cloud.create_table(f"customer_v_{number}", "id INT64")
    with cloud.counted() as made:
        assert len(warehouse.read_versions(BASE)) == 5
    # The client asks once for the job itself; five versions are three pages.
    assert made == [Request("query"), Request("job", "job"), Request("results", "job"), Request("results", "job")]


def test_an_error_on_a_later_page_is_one_of_ours(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_def", "id INT64")
    cloud.rows_per_page = 1
    cloud.fail("results", 503, "backendError", times=3)
    with pytest.raises(TryAgain):
        warehouse.read_versions(BASE)


@pytest.mark.parametrize(
    "name", ["customer_vip_v_1a2b", "customer_v_backup_old", "customer", "old_customer_v_1", "customer_v_"]
)
def test_other_tables_are_no_versions(cloud: FakeBigQuery, warehouse: Warehouse, name: str) -> None:
    cloud.create_table(name, "id INT64")
    assert [version.id for version in warehouse.read_versions(BASE)] == ["abc"]


def test_views_named_like_a_version_are_none(warehouse: Warehouse) -> None:
    warehouse.create_view(BASE.sibling("customer_v_def"), ViewDraft(QUERY))
    assert [version.id for version in warehouse.read_versions(BASE)] == ["abc"]


def test_columns_of_unknown_types_are_all_named() -> None:
    columns = columns_text([("id", "INT64"), ("c", "TENSOR<"), ("d", "VECTOR")])
    rows = [{"table_name": f"t_v_{n}", "columns": columns, "creation_time": None} for n in "ab"]
    with pytest.raises(InvalidColumns) as caught:
        versions_from_rows(rows, BASE.sibling("t"))
    named = [f"table t_v_{n}, column {column}" for n in "ab" for column in "cd"]
    assert [problem.split(":")[0] for problem in caught.value.problems] == named


def test_columns_of_one_name_and_type_are_one_object() -> None:
    texts = ([("id", "INT64"), ("a", "STRING")], [("a", "STRING"), ("id", "STRING")])
    first, second = versions_from_rows(
        (
            {"table_name": f"t_v_{n}", "columns": columns_text(columns), "creation_time": None}
            for n, columns in enumerate(texts)
        ),
        BASE.sibling("t"),
    )
    assert first.columns[1] is second.columns[0]
    assert first.columns[0] != second.columns[1]


@pytest.mark.parametrize("name", ['with "quotes"', "größe", "back\\slash", "comma, and ]", "line\nbreak", "\u2028"])
def test_columns_of_any_name_are_read(cloud: FakeBigQuery, warehouse: Warehouse, name: str) -> None:
    cloud.datasets["shop"].clear()
    cloud.create_table("customer_v_abc", "id INT64")
    cloud.change("customer_v_abc", lambda resource: resource.update(_types=[(name, "INT64"), ("id", "STRUCT<`a b` INT64>")]))
    (version,) = warehouse.read_versions(BASE)
    assert [column.name for column in version.columns] == [name, "id"]


def test_the_query_of_the_versions_gives_one_row_each_with_its_columns_in_order(judge: Judge) -> None:
    """What the fake answers in its place is what GoogleSQL would."""
    schema = f"`{PROJECT}.shop`.INFORMATION_SCHEMA"
    query = versions_query(BASE, DEFAULT_NAMES).replace(f"{schema}.TABLES", "tables").replace(f"{schema}.COLUMNS", "columns")
    ((name, _, columns),) = judge.rows(query, METADATA, METADATA_ROWS)
    (version,) = versions_from_rows([{"table_name": name, "creation_time": None, "columns": columns}], BASE)
    assert name == "customer_v_abc"
    found = [(column.name, str(column.type)) for column in version.columns]
    assert found == [("id", "INT64"), ('größe "cm"', "STRUCT<a INT64>")]


def test_a_view_is_read_with_its_columns_as_types(warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY, "Customers.", {"team": "crm"}))
    stored = stored_view(warehouse)
    assert (stored.is_view, stored.query, stored.description, stored.labels) == (True, QUERY, "Customers.", {"team": "crm"})
    assert stored.columns == (
        Column("id", parse_type("INT64")),
        Column("address", parse_type("STRUCT<street STRING, zip INT64>")),
    )


def test_the_rest_types_of_a_view_are_those_of_the_metadata(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    types = ("FLOAT64", "BOOL", "RANGE<DATE>", "ARRAY<STRUCT<`from` ARRAY<INT64>>>", "JSON", "BIGNUMERIC")
    cloud.schema_of = lambda _: [rest_field(f"c{n}", parse_type(type_)) for n, type_ in enumerate(types)]
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    assert [column.type for column in stored_view(warehouse).columns] == [parse_type(type_) for type_ in types]


def test_what_is_not_there_is_none(warehouse: Warehouse) -> None:
    assert warehouse.get_view(VIEW) is None
    assert warehouse.get_view(TableId(PROJECT, "nowhere", "customer_unified")) is None


def test_a_table_counts_once_it_has_columns(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_empty")
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    assert warehouse.has_table(BASE.sibling("customer_v_abc"))
    assert not warehouse.has_table(BASE.sibling("customer_v_empty"))
    assert not warehouse.has_table(BASE.sibling("customer_v_gone"))
    assert not warehouse.has_table(VIEW)


def test_tables_are_listed_to_the_last_page_and_every_page_is_counted(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    for base in ("order", "customer", "item"):
        cloud.create_table(f"{base}_v_1", "id INT64")
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.tables_per_page = 2
    before = warehouse.calls
    assert set(warehouse.list_bases("shop")) == {"order", "customer", "item"}
    assert warehouse.calls - before == 3
    assert warehouse.list_views("shop") == ("customer_unified",)


# Writing


def test_a_second_creation_is_told(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    with pytest.raises(ViewExists):
        warehouse.create_view(VIEW, ViewDraft(OTHER_QUERY))
    assert cloud.resource("customer_unified")["view"]["query"] == QUERY


def test_a_view_is_standard_sql(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    assert cloud.resource("customer_unified")["view"]["useLegacySql"] is False


def test_a_view_that_changed_since_it_was_read_is_not_written(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = stored_view(warehouse)
    cloud.change("customer_unified", lambda resource: resource.update(description="by hand"))
    with pytest.raises(ViewChanged):
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert cloud.resource("customer_unified")["view"]["query"] == QUERY


def test_an_update_is_one_request_where_people_put_nothing_on_columns(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = stored_view(warehouse)
    with cloud.counted() as made:
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert made == [Request("patch", "customer_unified")]
    assert cloud.resource("customer_unified")["view"]["query"] == OTHER_QUERY


def test_what_people_put_on_columns_survives_at_the_price_of_three_requests(
    cloud: FakeBigQuery, warehouse: Warehouse
) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    stored = stored_view(warehouse)
    with cloud.counted() as made:
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY, "Customers.", {"team": "crm"}))
    assert [request.kind for request in made] == ["permissions", "patch", "patch", "patch"]
    assert annotated(cloud)
    assert cloud.resource("customer_unified")["labels"] == {"team": "crm"}
    stored = stored_view(warehouse)
    assert (stored.query, stored.description, stored.unfinished) == (OTHER_QUERY, "Customers.", False)


def test_what_people_put_on_columns_is_not_touched_where_the_text_stays(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    stored = stored_view(warehouse)
    with cloud.counted() as made:
        warehouse.update_view(stored, ViewDraft(QUERY, "Customers."))
    assert len(made) == 1
    assert annotated(cloud)


def test_what_a_broken_off_write_dropped_from_columns_is_known_and_put_back(
    cloud: FakeBigQuery, warehouse: Warehouse
) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    die_after(cloud, "patch", before_that=1)
    with pytest.raises(Crash):
        warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    assert not annotated(cloud)

    stored = stored_view(warehouse)
    assert stored.unfinished
    assert stored.query == OTHER_QUERY
    warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert annotated(cloud)
    assert not stored_view(warehouse).unfinished


def test_a_broken_off_write_can_also_be_finished_with_another_text(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    die_after(cloud, "patch", before_that=1)
    with pytest.raises(Crash):
        warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    assert not annotated(cloud)
    warehouse.update_view(stored_view(warehouse), ViewDraft(QUERY))
    assert annotated(cloud)
    assert not stored_view(warehouse).unfinished


def test_what_people_took_off_a_column_stays_off(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    cloud.change("customer_unified", lambda resource: resource["schema"]["fields"][0].pop("policyTags"))
    warehouse.update_view(stored_view(warehouse), ViewDraft(QUERY))
    assert "policyTags" not in cloud.resource("customer_unified")["schema"]["fields"][0]
    assert cloud.resource("customer_unified")["schema"]["fields"][0]["description"]


def test_descriptions_that_cannot_be_noted_in_the_text_are_put_back_all_the_same(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 100)
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", describe)
    stored = stored_view(warehouse)
    with cloud.counted() as made:
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert [request.kind for request in made] == ["patch", "patch"], "descriptions take no right of their own"
    assert cloud.resource("customer_unified")["schema"]["fields"][0]["description"] == "The number on the card."
    assert cloud.resource("customer_unified")["view"]["query"] == OTHER_QUERY


def test_policy_tags_that_can_be_noted_without_the_descriptions_are(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 300)
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    assert annotated(cloud)
    text = cloud.resource("customer_unified")["view"]["query"]
    assert "policyTags" in text
    assert "description" not in text
    assert len(text) <= 300


def test_policy_tags_that_cannot_be_noted_in_the_text_keep_the_view_as_it_is(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.annotations, "MAX_TEXT", 100)
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    stored = stored_view(warehouse)
    with cloud.counted() as made, pytest.raises(LimitExceeded, match="no room for the policy tags of the columns id"):
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert made == []


def test_a_description_that_is_not_to_change_is_not_cleared(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY, "Customers."))
    warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY, "Customers."))
    assert cloud.resource("customer_unified")["description"] == "Customers."


def test_a_label_that_is_not_drafted_any_more_goes(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY, "", {"team": "crm", "old": "yes"}))
    warehouse.update_view(stored_view(warehouse), ViewDraft(QUERY, "", {"team": "crm"}))
    assert cloud.resource("customer_unified")["labels"] == {"team": "crm"}


def test_a_view_that_reads_what_is_gone_has_to_be_computed_again(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = stored_view(warehouse)
    gone = ViewDraft(f"SELECT * FROM `{PROJECT}.shop.customer_v_gone`")
    with pytest.raises(ViewChanged):
        warehouse.update_view(stored, gone)
    with pytest.raises(ViewChanged) as caught:
        warehouse.create_view(BASE.sibling("other"), gone)
    assert not isinstance(caught.value, ViewExists)
    cloud.drop("customer_unified")
    with pytest.raises(ViewChanged):
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))


def test_a_view_that_is_gone_already_is_removed(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    warehouse.delete_view(VIEW)
    warehouse.delete_view(VIEW)
    assert cloud.names("VIEW") == []


def test_a_write_whose_answer_was_lost_ends_as_a_conflict(
    cloud: FakeBigQuery, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sends it again, and what it finds is its own work."""
    monkeypatch.setattr(onefold.adapters.bigquery.client, "_RETRY", DEFAULT_RETRY.with_delay(initial=0, maximum=0))
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    stored = stored_view(warehouse)
    die_after(cloud, "patch", requests.exceptions.ConnectionError("reset by peer"))
    with pytest.raises(ViewChanged):
        warehouse.update_view(stored, ViewDraft(OTHER_QUERY))
    assert stored_view(warehouse).query == OTHER_QUERY


def die_after(cloud: FakeBigQuery, kind: str, error: Exception | None = None, before_that: int = 0) -> None:
    """Let a request of a kind be carried out, and its answer be lost: the next one, or the one after so many others."""
    pending: list[Exception | None] = [error or Crash(), *[None] * before_that]

    def after(request: Request) -> None:
        if request.kind == kind and pending and (lost := pending.pop()):
            raise lost

    cloud.after = after


# Errors

CALLS: dict[str, Callable[[Warehouse], object]] = {
    "get": lambda warehouse: warehouse.get_view(VIEW),
    "query": lambda warehouse: warehouse.read_versions(BASE),
    "list": lambda warehouse: warehouse.list_views("shop"),
    "insert": lambda warehouse: warehouse.create_view(VIEW, ViewDraft(QUERY)),
    "patch": lambda warehouse: warehouse.update_view(StoredView(VIEW, True, QUERY), ViewDraft(OTHER_QUERY)),
    "delete": lambda warehouse: warehouse.delete_view(VIEW),
}


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (500, "internalError"),
        (502, "badGateway"),
        (503, "backendError"),
        (504, ""),
        (408, ""),
        (429, ""),
        (429, "rateLimitExceeded"),
        (403, "rateLimitExceeded"),
        (403, "quotaExceeded"),
        (403, "accessDenied"),
        (400, "jobBackendError"),
    ],
)
def test_trouble_that_may_pass_is_tried_again(
    cloud: FakeBigQuery, warehouse: Warehouse, kind: str, status: int, reason: str
) -> None:
    cloud.fail(kind, status, reason)
    with pytest.raises(TryAgain):
        CALLS[kind](warehouse)


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.ConnectionError("reset"),
        requests.exceptions.ReadTimeout("slow"),
        requests.exceptions.ChunkedEncodingError("cut"),
        ConnectionResetError("reset"),
        TimeoutError("slow"),
        google.auth.exceptions.TransportError("no metadata server"),  # type: ignore[no-untyped-call]
        google.auth.exceptions.RefreshError("no token"),  # type: ignore[no-untyped-call]
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_broken_connection_is_tried_again(cloud: FakeBigQuery, warehouse: Warehouse, kind: str, error: Exception) -> None:
    cloud.break_off(kind, error)
    with pytest.raises(TryAgain):
        CALLS[kind](warehouse)


def test_an_emulator_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        onefold.adapters.bigquery.client, "_RETRY", DEFAULT_RETRY.with_delay(initial=0, maximum=0).with_timeout(0.1)
    )
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", "http://127.0.0.1:9")
    told = r"no answer from http://127\.0\.0\.1:9 \(ConnectionError\): start .*, or unset BIGQUERY_EMULATOR_HOST$"
    with pytest.raises(TryAgain, match=told):
        connect("local").get_view(TableId("local", "shop", "customer_unified"))


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(("status", "reason"), [(400, "invalidQuery"), (400, "invalid"), (403, "billingNotEnabled")])
def test_a_refusal_is_final(cloud: FakeBigQuery, warehouse: Warehouse, kind: str, status: int, reason: str) -> None:
    cloud.fail(kind, status, reason, "that cannot be")
    with pytest.raises(Rejected, match="that cannot be"):
        CALLS[kind](warehouse)


def test_what_is_said_of_a_job_is_one_line() -> None:
    with pytest.raises(Rejected, match=r"^a query: no such column, Location: EU, Job ID: 1$"), translated("a query"):
        raise BadRequest("no such column\n\nLocation: EU\nJob ID: 1\n")  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "call",
    [
        lambda warehouse: warehouse.read_versions(TableId(PROJECT, "nowhere", "customer")),
        lambda warehouse: warehouse.list_views("nowhere"),
        lambda warehouse: warehouse.list_bases("nowhere"),
    ],
    ids=["query", "list", "list bases"],
)
def test_a_dataset_that_is_not_there_is_final(warehouse: Warehouse, call: Callable[[Warehouse], object]) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        call(warehouse)


def test_a_dataset_for_views_that_is_not_there_is_a_wrong_setting(warehouse: Warehouse) -> None:
    with pytest.raises(Rejected, match=r"nowhere.*create the dataset for views"):
        warehouse.create_view(TableId(PROJECT, "nowhere", "customer_unified"), ViewDraft(QUERY))


def test_a_token_that_has_expired_is_tried_again(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.fail("get", 401, "", "no token")
    with pytest.raises(TryAgain):
        warehouse.get_view(VIEW)


def test_a_clone_is_no_table_to_wait_for(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_clone", "id INT64")
    clone = VIEW.sibling("customer_v_clone")
    assert warehouse.has_table(clone)
    cloud.change("customer_v_clone", lambda table: table.update(cloneDefinition={"cloneTime": "2024-01-01T00:00:00.000Z"}))
    assert not warehouse.has_table(clone)


@pytest.mark.parametrize("added", ["\nLIMIT 10", "\n-- mine", "x"])
def test_a_text_that_people_changed_behind_the_notes_is_read_as_it_is(
    cloud: FakeBigQuery, warehouse: Warehouse, added: str
) -> None:
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.change("customer_unified", annotate)
    warehouse.update_view(stored_view(warehouse), ViewDraft(OTHER_QUERY))
    cloud.change("customer_unified", lambda resource: resource["view"].update(query=resource["view"]["query"] + added))
    assert stored_view(warehouse).query.endswith(added)


def test_a_later_page_of_a_list_that_fails_is_tried_again(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_def", "id INT64")
    cloud.tables_per_page = 1

    def break_second_page(request: Request) -> None:
        if request.kind == "list" and cloud.log.count(request) == 1:
            cloud.after = lambda _: None
            cloud.fail("list", 503, "backendError")

    cloud.after = break_second_page
    with pytest.raises(TryAgain):
        warehouse.list_views("shop")


def test_every_error_is_one_of_ours_and_names_what_it_is_about(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.fail("get", 403, "accessDenied", "no permission")
    with pytest.raises(OnefoldError, match=r"my-project\.shop\.customer_unified.*no permission"):
        warehouse.get_view(VIEW)


def test_requests_of_several_threads_do_not_mix(cloud: FakeBigQuery) -> None:
    def create(number: int) -> None:
        BigQueryWarehouse(cloud.client()).create_view(BASE.sibling(f"view_{number}"), ViewDraft(QUERY))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cloud.names("VIEW") == [f"view_{number}" for number in range(8)]


@pytest.mark.parametrize("type_", TYPES.values(), ids=TYPES)
def test_a_column_of_every_type_is_described_to_the_api_as_what_it_is(type_: str) -> None:
    field = onefold.adapters.bigquery.schema.rest_field(Column("x", parse_type(type_)))
    described = onefold.adapters.bigquery.schema.type_string(SchemaField.from_api_repr(field.to_api_repr()))
    assert parse_type(described) == parse_type(type_)
