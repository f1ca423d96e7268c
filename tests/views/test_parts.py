"""The views of a wide table of events: the events, and one for each schema over the columns of all of its versions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.fake_bigquery import FakeBigQuery
from support.fake_tenants import configured, text_of
from support.rest import PROJECT
from support.rest_fields import rest_field
from support.wide_events import EVENT, EVENTS
from support.zetasql_judge import Judge

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.names import TableId
from onefold.refresh.kind import ViewKind
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import plan_refresh, refresh
from onefold.views.plain import with_plain_table
from onefold.views.table_views import TableViews, ViewResult

GOLDEN = Path(__file__).parents[1] / "golden" / "parts"
TABLE = TableId(PROJECT, "atomic", "events")
YAML = "tables: {atomic.events: {tool: Snowplow, rows: current}}\n"
VIEWS = ["com_acme_ad_click_unified", "com_acme_cart_unified", "events_current"]


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBigQuery:
    monkeypatch.chdir(tmp_path)
    cloud = FakeBigQuery()
    cloud.datasets = {"atomic": {}, "atomic__onefold": {}}
    cloud.land("events", EVENTS, dataset="atomic")
    return cloud


def brought_up(cloud: FakeBigQuery, yaml: str = YAML) -> list[ViewResult]:
    """What becomes of each view, in a warehouse that knows the types of a view's columns."""

    def work(kind: ViewKind, version: str | None) -> ViewPlan:
        view = plan_refresh(kind).view
        columns = view.columns if view else ()
        cloud.schema_of = lambda _: [rest_field(column.name, column.type) for column in columns]
        return refresh(kind, version=version)

    warehouse = BigQueryWarehouse(cloud.client())
    settings = with_plain_table(warehouse, TABLE, configured(yaml))
    return list(TableViews(warehouse, settings, work).bring_up_to_date(TABLE))


@pytest.mark.parametrize("name", VIEWS)
def test_the_texts_are_as_they_were(cloud: FakeBigQuery, name: str) -> None:
    brought_up(cloud)
    path, text = GOLDEN / f"{name}.sql", text_of(cloud, name, "atomic__onefold") + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_the_views_are_beside_each_other_and_nothing_is_written_to_the_dataset_of_the_loader(cloud: FakeBigQuery) -> None:
    assert [result.error for result in brought_up(cloud)] == [None] * 4
    assert (cloud.names("VIEW", "atomic__onefold"), cloud.names("VIEW", "atomic")) == (VIEWS, [])


def test_a_second_time_nothing_is_to_be_done(cloud: FakeBigQuery) -> None:
    brought_up(cloud)
    assert {result.plan.action for result in brought_up(cloud) if result.plan} == {"none"}


def test_a_column_that_the_loader_adds_is_in_the_view_of_its_schema(cloud: FakeBigQuery) -> None:
    brought_up(cloud)
    cloud.land("events", {**EVENTS, "contexts_com_acme_cart_2": "ARRAY<STRUCT<code BYTES>>"}, dataset="atomic")
    plans = {result.base.table: result.plan for result in brought_up(cloud) if result.kind == "unified"}
    assert plans["com_acme_ad_click"]
    assert plans["com_acme_ad_click"].action == "none"
    assert plans["com_acme_cart"]
    assert [change.path for change in plans["com_acme_cart"].changes] == ["code"]


def test_settings_of_a_schema_are_those_of_its_base_name_and_a_column_can_be_left_out(cloud: FakeBigQuery) -> None:
    retired = "contexts_com_acme_cart_1_recovered_1_1_0_37fd804e"
    brought_up(cloud, f"{YAML[:-2]}, atomic.com_acme_cart: {{retire: [{retired}]}}}}\n")
    assert f"`{retired}`" not in text_of(cloud, "com_acme_cart_unified", "atomic__onefold")


def test_a_table_that_is_none_of_snowplow_s_is_one_error_and_keeps_its_views(cloud: FakeBigQuery) -> None:
    brought_up(cloud)
    cloud.land("events", EVENT, dataset="atomic")
    assert [str(result.error).partition(": ")[2][:46] for result in brought_up(cloud) if result.error] == [
        "its columns are not those of Snowplow: run `on"
    ]
    assert cloud.names("VIEW", "atomic__onefold") == VIEWS


@pytest.mark.parametrize("name", VIEWS)
def test_google_s_analyzer_takes_each_text(judge: Judge, name: str) -> None:
    text = (GOLDEN / f"{name}.sql").read_text().replace(f"`{TABLE}`", "events_table")
    judge.accept(text, {"events_table": [*EVENTS.items()]})


ROWS = (
    # Release 1, an event with contexts of two versions.
    "'web', TIMESTAMP '2026-11-01 10:00:00', 'e1', 'ssc', 'com.acme', 'ad_click', 'jsonschema', '1-0-0', NULL, "
    "[STRUCT(1 AS id, [STRUCT('b' AS sku, 7 AS price)] AS lines, 'gift' AS note)], "
    "[STRUCT(2 AS id, [STRUCT('a' AS sku), STRUCT('c' AS sku)] AS lines)], [], [], STRUCT(5 AS clicks), NULL",
    # Release 2, with a context that did not fit.
    "'web', TIMESTAMP '2026-11-02 10:00:00', 'e2', 'ssc', 'com.acme', 'ad_click', 'jsonschema', '2-0-0', "
    "TIMESTAMP '2026-11-02 10:05:00', [], [], "
    "[STRUCT('1-0-3' AS _schema_version, NUMERIC '3.5' AS id, [STRUCT(NUMERIC '0.5' AS price, 'd' AS sku)] AS lines, "
    "'r' AS root_id)], [STRUCT('1-1-0' AS _schema_version, 'x' AS id)], NULL, "
    "STRUCT('six' AS clicks, STRUCT(1 AS x) AS place)",
    # An event without either.
    "'web', TIMESTAMP '2026-11-03 10:00:00', 'e3', 'ssc', 'com.snowplow', 'page_view', 'jsonschema', '1-0-0', "
    "TIMESTAMP '2026-11-03 10:05:00', [], [], [], [], NULL, NULL",
)


@pytest.mark.emulator
def test_rows_of_all_columns_of_a_schema_are_read_back_with_their_event(dataset: EmulatedDataset, run: Run) -> None:
    dataset.land("events", EVENTS, *ROWS)
    Path("onefold.yaml").write_text(YAML.replace("atomic", dataset.name))
    assert run("refresh", f"{dataset.name}.events").code == 0
    cart = dataset.quoted("com_acme_cart_unified")
    lines = "ARRAY(SELECT RTRIM(CONCAT(l.sku, ' ', IFNULL(CAST(l.price AS STRING), ''))) FROM UNNEST(lines) AS l)"
    assert dataset.run(f"SELECT root_id, schema_version, id, {lines}, note FROM {cart} ORDER BY id") == [
        ("e1", "1-0-1", "1", ["b 7"], "gift"),
        ("e1", "1-0-0", "2", ["a", "c"], None),
        ("e2", "1-0-3", "3.5", ["d 0.5"], None),
        ("e2", "1-1-0", "x", [], None),
    ]
    clicks = dataset.quoted("com_acme_ad_click_unified")
    assert dataset.run(f"SELECT root_id, schema_version, ref_tree, clicks, place.x FROM {clicks} ORDER BY 1") == [
        ("e1", "1-0-0", '["events","ad_click"]', "5", None),
        ("e2", "2-0-0", '["events","ad_click"]', "six", 1),
    ]
    events = dataset.run(f"SELECT * FROM {dataset.quoted('events_current')} ORDER BY event_id")
    assert [(row[2], len(row)) for row in events] == [("e1", len(EVENT)), ("e2", len(EVENT)), ("e3", len(EVENT))]
