"""A united table: its views as text, which datasets they read, and what clean views hide."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.fake_bigquery import FakeBigQuery
from support.fake_tenants import KEYED, ORDERS, TENANTS, UNITE, brought_up, configured, tenants, text_of
from support.rest import PROJECT
from support.rest_fields import rest_field

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import METADATA
from onefold.core.errors import LimitExceeded, NoVersions, SchemaConflict
from onefold.refresh import limits
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import plan_refresh
from onefold.schema.types import STRING
from onefold.settings.environment import Settings
from onefold.views.current_text import remembered_keys
from onefold.views.newest_load import kind_of
from onefold.views.unified_kind import UnifiedKind

GOLDEN = Path(__file__).parents[1] / "golden" / "united"


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBigQuery:
    monkeypatch.chdir(tmp_path)
    return tenants()


def unified(cloud: FakeBigQuery, settings: Settings) -> ViewPlan:
    return plan_refresh(UnifiedKind(BigQueryWarehouse(cloud.client()), ORDERS, settings))


# The texts


@pytest.mark.parametrize("name", ["unified", "current"])
def test_the_texts_are_as_they_were(cloud: FakeBigQuery, name: str) -> None:
    brought_up(cloud, configured())
    path, text = GOLDEN / f"{name}.sql", text_of(cloud, f"orders_{name}") + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_columns_of_all_tenants_have_the_type_that_holds_all_values(cloud: FakeBigQuery) -> None:
    view = unified(cloud, configured()).view
    assert view
    assert [f"{column.name} {column.type}" for column in view.columns if column.name != METADATA] == [
        "dataset STRING", "id STRING", "total NUMERIC", "address STRUCT<zip STRING, city STRING>", "mail STRING",
    ]  # fmt: skip
    assert view.versions == ("tenant_a", "tenant_b", "tenant_c")
    assert {f"{one}.{cast.column}: {cast.source} -> {cast.target}" for cast in view.casts for one in cast.versions} >= {
        "tenant_a.id: INT64 -> STRING",
        "tenant_a.total: INT64 -> NUMERIC",
    }


def test_a_column_of_a_tenant_with_the_name_of_the_dataset_column_is_an_error_that_says_what_to_set(
    cloud: FakeBigQuery,
) -> None:
    cloud.land("orders", {"id": "INT64", "Dataset": "STRING"}, dataset="tenant_d")
    with pytest.raises(
        SchemaConflict, match="dataset_column 'dataset' is also a column of version tenant_d; choose another"
    ):
        unified(cloud, configured())
    view = unified(cloud, configured("unite: {datasets: 'tenant_*', table: orders, dataset_column: tenant}")).view
    assert view
    assert view.columns[0].name == "tenant"


def test_the_key_that_all_tenants_declare_identifies_a_row_of_a_dataset(cloud: FakeBigQuery) -> None:
    for number, tenant in enumerate(TENANTS):
        skipped = brought_up(cloud, configured(UNITE))["current"].skipped
        assert "tables: {united.orders: {keys: [COLUMN]}}" in skipped, f"{number} tenants declare a key"
        cloud.datasets[tenant]["orders"]["tableConstraints"] = {"primaryKey": {"columns": ["ID" if number else "id"]}}
    brought_up(cloud, configured(UNITE))
    assert remembered_keys(text_of(cloud, "orders_current")) == ("dataset", "id")
    cloud.datasets["tenant_b"]["orders"]["tableConstraints"] = {"primaryKey": {"columns": ["mail"]}}
    assert brought_up(cloud, configured())["current"].error is None, "a key that is named counts, whatever is declared"


def test_a_tenant_that_is_retired_is_left_out(cloud: FakeBigQuery) -> None:
    view = unified(cloud, configured(f"{UNITE}tables: {{united.orders: {{retire: [tenant_b]}}}}")).view
    assert view
    assert view.versions == ("tenant_a", "tenant_c")


def test_a_pattern_that_matches_nothing_says_so(cloud: FakeBigQuery) -> None:
    with pytest.raises(NoVersions, match=r"expected tables orders in datasets nobody_\*, as `unite` of onefold.yaml says"):
        unified(cloud, configured("unite: {datasets: 'nobody_*', table: orders}"))


def test_a_dataset_that_is_missing_is_an_error_with_the_command_that_creates_it(cloud: FakeBigQuery) -> None:
    del cloud.datasets["united"]
    result = brought_up(cloud, configured())["unified"]
    assert f"bq --location=LOCATION mk --dataset {PROJECT}:united" in str(result.error)
    assert "in the location of the datasets tenant_*" in str(result.error)


def test_the_requests_do_not_grow_with_the_tenants(cloud: FakeBigQuery) -> None:
    settings = configured()
    with cloud.counted() as few:
        unified(cloud, settings)
    for number in range(97):
        cloud.land("orders", TENANTS["tenant_a"], dataset=f"tenant_{number:02}")
    with cloud.counted() as many:
        unified(cloud, settings)
    assert [one.kind for one in many] == [one.kind for one in few] == ["get", "datasets", "query"]


# The current view


def test_the_dataset_is_part_of_the_key(cloud: FakeBigQuery) -> None:
    brought_up(cloud, configured())
    assert "PARTITION BY c.`dataset`, c.`id` ORDER BY" in text_of(cloud, "orders_current")


def test_a_key_that_a_command_names_has_the_dataset_too(cloud: FakeBigQuery) -> None:
    kind = kind_of(BigQueryWarehouse(cloud.client()), ORDERS, configured(UNITE), ("id",))
    view = plan_refresh(kind).view
    assert view
    assert "PARTITION BY c.`dataset`, c.`id` ORDER BY" in view.query


def test_without_a_key_there_is_no_current_view_and_the_line_to_add(cloud: FakeBigQuery) -> None:
    current = brought_up(cloud, configured(UNITE))["current"]
    assert "tables: {united.orders: {keys: [COLUMN]}}" in current.skipped


def test_a_column_of_the_key_that_a_tenant_lacks_is_an_error(cloud: FakeBigQuery) -> None:
    current = brought_up(cloud, configured(f"{UNITE}tables: {{united.orders: {{keys: [total]}}}}"))["current"]
    assert f"{PROJECT}.tenant_b.orders has no column total for the key" in str(current.error)


@pytest.mark.parametrize("metadata", [{}, {METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"}])
def test_rows_that_are_current_already_are_shown_as_they_are(cloud: FakeBigQuery, metadata: dict[str, str]) -> None:
    for tenant in TENANTS:
        cloud.datasets[tenant] = {}
        cloud.land("orders", {"id": "INT64", **metadata}, dataset=tenant)
    assert brought_up(cloud, configured(UNITE))["current"].error is None
    text = text_of(cloud, "orders_current")
    assert "ROW_NUMBER" not in text
    assert (f"EXCEPT (`{METADATA}`)" in text) == bool(metadata)


def test_changes_and_other_rows_are_not_one_table(cloud: FakeBigQuery) -> None:
    cloud.land("orders", {"id": "INT64"}, dataset="tenant_d")
    current = brought_up(cloud, configured())["current"]
    assert "the rows are changes in tenant_a, tenant_b, tenant_c, and they are not in tenant_d" in str(current.error)


FIVETRAN = {"id": "INT64", "_fivetran_deleted": "BOOL", "_fivetran_synced": "TIMESTAMP"}
AIRBYTE = {"id": "INT64", "_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP", "_ab_cdc_deleted_at": "STRING"}


@pytest.mark.parametrize(("tool", "columns"), [("Fivetran", FIVETRAN), ("Airbyte", AIRBYTE)])
@pytest.mark.parametrize("declared", ["", "  tenant_a.orders: {{tool: {tool}, rows: current}}\n"])
def test_tables_of_other_tools_get_the_unified_view_and_no_current_one_that_would_show_deleted_rows(
    cloud: FakeBigQuery, tool: str, columns: dict[str, str], declared: str
) -> None:
    for tenant in TENANTS:
        cloud.datasets[tenant] = {}
        cloud.land("orders", columns, dataset=tenant)
    text = f"{UNITE}tables:\n  united.orders: {{keys: [id]}}\n{declared.format(tool=tool)}"
    results = brought_up(cloud, configured(text))
    assert results["unified"].error is None
    error = str(results["current"].error)
    assert f"{PROJECT}.tenant_a.orders ({tool}), {PROJECT}.tenant_b.orders ({tool})" in error
    assert error.endswith(
        ", so that deleted or old rows would be shown. Read the views that `onefold refresh` writes for each of these "
        "tables, and set `current: false` of tables.united.orders in onefold.yaml, or leave tables out with its `retire`"
    )
    assert "orders_current" not in cloud.datasets["united"]
    alone = brought_up(cloud, configured(f"{UNITE}tables: {{united.orders: {{current: false}}}}"))
    assert [one.error for one in alone.values()] == [None, None, None]


def test_a_declared_tool_counts_also_where_the_columns_tell_none(cloud: FakeBigQuery) -> None:
    text = f"{UNITE}tables: {{united.orders: {{keys: [id]}}, orders: {{tool: Stitch, rows: current}}}}"
    assert f"{PROJECT}.tenant_c.orders (Stitch)" in str(brought_up(cloud, configured(text))["current"].error)


def test_a_tenant_with_another_tool_may_be_retired(cloud: FakeBigQuery) -> None:
    cloud.land("orders", FIVETRAN, dataset="tenant_d")
    assert "tenant_d.orders (Fivetran)" in str(brought_up(cloud, configured())["current"].error)
    retired = configured(f"{UNITE}tables: {{united.orders: {{keys: [id], retire: [tenant_d]}}}}")
    assert brought_up(cloud, retired)["current"].error is None


def test_a_clean_view_over_a_current_view_of_before_that_shows_another_tool_is_closed(cloud: FakeBigQuery) -> None:
    cloud.schema_of = lambda _: [rest_field("id", STRING)]
    everything = configured(f"{KEYED}policies: {{'*': {{'*': clear}}}}")
    brought_up(cloud, everything)
    assert "v.`id`" in text_of(cloud, "orders", "united__views_clean")
    cloud.datasets["tenant_c"] = {}
    cloud.land("orders", FIVETRAN, dataset="tenant_c")
    assert brought_up(cloud, everything)["current"].error is not None
    assert "v.`id`" not in text_of(cloud, "orders", "united__views_clean")


def test_more_tables_than_a_query_may_read_are_refused_with_what_to_do(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_TABLES", 3)
    results = brought_up(cloud, configured())
    assert "BigQuery allows 3 in a query: at most 2 tables fit" in results["unified"].skipped
    error = results["current"].error
    assert isinstance(error, LimitExceeded)
    assert "merge them in groups with `onefold merge united.orders`" in str(error)
    assert "split the datasets over several entries of `unite`" in str(error)


def test_a_view_that_cannot_read_a_new_tenant_is_an_error_and_no_note(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought_up(cloud, configured())
    monkeypatch.setattr(limits, "MAX_TABLES", 3)
    assert isinstance(brought_up(cloud, configured())["unified"].error, LimitExceeded)


# The clean view


def shown(cloud: FakeBigQuery, policies: str) -> set[str]:
    """The columns whose values the clean view shows."""
    names = ("dataset", "id", "total", "mail")
    cloud.schema_of = lambda _: [rest_field(name, STRING) for name in names]
    results = brought_up(cloud, configured(f"{KEYED}policies: {policies}"))
    assert results["clean"].error is None, results["clean"]
    text = text_of(cloud, "orders", "united__views_clean")
    return {name for name in names if f"\n  v.`{name}`" in text}


def test_policies_of_the_tenants_are_those_of_the_clean_view(cloud: FakeBigQuery) -> None:
    assert shown(cloud, "{'tenant_*.orders': {id: clear, total: clear}}") == {"id", "total"}


def test_a_column_that_one_tenant_hides_is_hidden(cloud: FakeBigQuery) -> None:
    everywhere = "'*': {'*': clear}"
    assert shown(cloud, f"{{{everywhere}}}") == {"dataset", "id", "total", "mail"}
    assert shown(cloud, f"{{{everywhere}, tenant_c.orders: {{total: mask}}}}") == {"dataset", "id", "mail"}
    assert shown(cloud, f"{{{everywhere}, tenant_a.orders: {{mail: drop}}}}") == {"dataset", "id", "total"}
    assert shown(cloud, f"{{{everywhere}, united.orders: {{id: mask}}}}") == {"dataset", "total", "mail"}


def test_the_policies_of_the_united_table_decide_about_the_dataset_and_open_nothing_else(cloud: FakeBigQuery) -> None:
    assert shown(cloud, "{united.orders: {'*': clear}}") == {"dataset"}
    assert shown(cloud, "{tenant_b.orders: {mail: clear}, united.orders: {dataset: clear}}") == {"dataset", "mail"}
