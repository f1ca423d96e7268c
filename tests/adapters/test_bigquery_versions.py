"""The versions of a table, read from INFORMATION_SCHEMA through Google's own client."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.bigquery_views import BASE, QUERY
from support.fake_bigquery import FakeBigQuery, Request
from support.rest import PROJECT
from support.zetasql_judge import Judge

import onefold.adapters.bigquery.warehouse
from onefold.adapters.bigquery.versions import columns_text, versions_from_rows, versions_query
from onefold.core.errors import InvalidColumns, SchemaConflict, TryAgain
from onefold.core.event_labels import LABEL_BASE, LABEL_VERSION
from onefold.core.version_labels import LabelledNames
from onefold.core.versioned_names import DEFAULT_NAMES
from onefold.ports.warehouse import ViewDraft, Warehouse

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


def test_an_error_on_a_later_page_is_translated(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_def", "id INT64")
    cloud.rows_per_page = 1
    cloud.fail("results", 503, "backendError", times=3)
    with pytest.raises(TryAgain):
        warehouse.read_versions(BASE)


@pytest.mark.parametrize(
    "name", ["customer_vip_v_1a2b", "customer_v_backup_old", "customer", "old_customer_v_1", "customer_v_"]
)
def test_tables_with_other_names_are_not_versions(cloud: FakeBigQuery, warehouse: Warehouse, name: str) -> None:
    cloud.create_table(name, "id INT64")
    assert [version.id for version in warehouse.read_versions(BASE)] == ["abc"]


def test_a_view_named_like_a_version_is_not_a_version(warehouse: Warehouse) -> None:
    warehouse.create_view(BASE.sibling("customer_v_def"), ViewDraft(QUERY))
    assert [version.id for version in warehouse.read_versions(BASE)] == ["abc"]


def test_a_column_of_an_unknown_type_keeps_its_type() -> None:
    columns = columns_text([("id", "UUID"), ("v", "VECTOR<FLOAT64>(3)"), ("s", "STRUCT<a ARRAY<UUID>>")])
    rows = [{"table_name": "t_v_a", "columns": columns, "creation_time": None}]
    (version,) = versions_from_rows(rows, BASE.sibling("t"))
    assert [str(column.type) for column in version.columns] == ["UUID", "VECTOR<FLOAT64>", "STRUCT<a ARRAY<UUID>>"]


def test_columns_whose_types_have_not_the_form_of_a_type_are_all_named() -> None:
    columns = columns_text([("id", "INT64"), ("c", "TENSOR<"), ("d", "a; DROP TABLE t")])
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


def test_the_query_of_the_versions_returns_one_row_each_with_its_columns_in_order(judge: Judge) -> None:
    """GoogleSQL gives the rows that the fake BigQuery answers for this query."""
    schema = f"`{PROJECT}.shop`.INFORMATION_SCHEMA"
    query = versions_query(BASE, DEFAULT_NAMES).replace(f"{schema}.TABLES", "tables").replace(f"{schema}.COLUMNS", "columns")
    ((name, _, columns),) = judge.rows(query, METADATA, METADATA_ROWS)
    (version,) = versions_from_rows([{"table_name": name, "creation_time": None, "columns": columns}], BASE)
    assert name == "customer_v_abc"
    found = [(column.name, str(column.type)) for column in version.columns]
    assert found == [("id", "INT64"), ('größe "cm"', "STRUCT<a INT64>")]


def label(cloud: FakeBigQuery, table: str, base: str, version: str) -> None:
    cloud.change(table, lambda resource: resource.update(labels={LABEL_BASE: base, LABEL_VERSION: version}))


def test_versions_by_labels_are_read_by_a_list_and_a_request_for_each(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_2_0_1_recovered_0f", "id INT64", "tags ARRAY<STRING>")
    label(cloud, "customer_2_0_1_recovered_0f", "customer", "1r0f")
    cloud.create_table("customer_vip_1", "id INT64")
    label(cloud, "customer_vip_1", "customer_vip", "1")
    with cloud.counted() as made:
        (version,) = warehouse.read_versions(BASE, LabelledNames())
    assert made == [Request("list"), Request("get", "customer_2_0_1_recovered_0f")]
    assert (version.id, version.table) == ("1r0f", "customer_2_0_1_recovered_0f")
    assert [str(column.type) for column in version.columns] == ["INT64", "ARRAY<STRING>"]
    assert version.created is not None
    assert version.created.tzinfo == UTC
    assert warehouse.list_bases("shop", LabelledNames()) == ("customer", "customer_vip")


def test_a_table_that_is_dropped_or_cloned_meanwhile_is_no_version(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    for number, table in enumerate(("gone", "clone", "kept")):
        cloud.create_table(table, "id INT64")
        label(cloud, table, "customer", str(number))
    cloud.change("clone", lambda table: table.update(cloneDefinition={"cloneTime": "2024-01-01T00:00:00.000Z"}))
    cloud.after = lambda request: cloud.drop("gone") if request.kind == "list" else None
    assert [version.table for version in warehouse.read_versions(BASE, LabelledNames())] == ["kept"]


def test_two_tables_with_the_labels_of_one_version_are_an_error(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    for table in ("one", "other"):
        cloud.create_table(table, "id INT64")
        label(cloud, table, "customer", "1")
    with pytest.raises(SchemaConflict, match="one and other are version 1 by their labels"):
        warehouse.read_versions(BASE, LabelledNames())
