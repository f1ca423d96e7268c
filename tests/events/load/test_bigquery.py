"""Runs in real Parquet files, loaded into the embedded BigQuery."""

from __future__ import annotations

from dataclasses import replace

import pytest
from google.cloud.bigquery import SchemaField
from support.event_loads import EventScene, states
from support.shredded_runs import ENVELOPE, click_table, envelope, write_run

from onefold.events.shred.counts import EVENTS
from onefold.events.shred.manifest import MANIFEST, ShreddedTable, UsedSchema

ID = ("id", "INT64")
ZIP = ("zip", "STRING")
FIRST, SECOND, THIRD = (f"2026-11-23-08-00-0{number}" for number in range(3))


def test_a_run_creates_its_table_and_loads_its_rows_once(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1}, {"id": None}, {"id": 3})
    assert states(events.load()) == ["loaded"]
    assert events.rows("id") == [(1,), (None,), (3,)]
    assert events.load() == []
    assert events.rows("id") == [(1,), (None,), (3,)]


def test_a_run_of_an_earlier_release_whose_files_of_parquet_end_in_txt_is_loaded(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1}, {"id": 2})
    manifest = events.folder / f"run={FIRST}" / MANIFEST
    for path in events.folder.rglob("*.parquet"):
        path.rename(path.with_suffix(".txt"))
    manifest.write_text(manifest.read_text().replace(".parquet", ".txt"))
    assert states(events.load()) == ["loaded"]
    assert events.rows("id") == [(1,), (2,)]


def test_a_later_run_brings_its_columns_and_an_older_one_loads_after_it(events: EventScene) -> None:
    events.shred(SECOND, "1-0-1", [ID, ZIP], {"id": 2, "zip": "B"})
    events.load()
    events.shred(THIRD, "1-0-2", [ID, ZIP, ("s", "STRUCT<a INT64>")], {"id": 3, "zip": "C", "s": {"a": 5}})
    events.load()
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    assert states(events.load()) == ["loaded"]
    assert events.columns() == [ID, ZIP, ("s", "STRUCT<a INT64>")]
    assert events.rows("id", "zip", "s.a") == [(1, None, None), (2, "B", None), (3, "C", 5)]


def test_nested_fields_are_added_in_structs_and_in_arrays_of_them(events: EventScene) -> None:
    old = [("s", "STRUCT<a INT64>"), ("l", "ARRAY<STRUCT<x STRING>>")]
    new = [("s", "STRUCT<a INT64, b ARRAY<STRING>>"), ("l", "ARRAY<STRUCT<x STRING, y STRUCT<z BOOL>>>"), ID]
    events.shred(FIRST, "1-0-0", old, {"s": {"a": 1}, "l": [{"x": "p"}, {"x": None}]})
    events.load()
    row = {"s": {"a": 2, "b": ["q"]}, "l": [{"x": "r", "y": {"z": True}}], "id": 7}
    events.shred(SECOND, "1-0-1", new, row)
    events.shred(THIRD, "1-0-0", old, {"s": None, "l": []})
    assert states(events.load()) == ["loaded", "loaded"]
    assert events.columns() == new
    found = events.rows("s.a", "ARRAY_LENGTH(s.b)", "ARRAY_LENGTH(l)", "id")
    assert [found[0][0], found[0][2], found[0][3]] == [1, 2, None]
    assert found[1] == (2, 1, 1, 7)


@pytest.mark.parametrize("order", [(FIRST, SECOND), (SECOND, FIRST)])
def test_a_table_shows_the_schema_that_it_is_at_and_its_labels(
    events: EventScene,
    order: tuple[str, str],
) -> None:
    versions = {FIRST: ("1-0-0", [ID]), SECOND: ("1-0-1", [ID, ZIP])}
    for run in order:
        events.shred(run, *versions[run], {"id": 1})
        events.load()
    table = events.dataset.client.get_table(f"{events.dataset.name}.com_acme_click_1")
    assert table.description == "iglu:com.acme/click/jsonschema/1-0-1"
    assert table.labels == {"onefold_base": "com_acme_click", "onefold_version": "1"}
    assert table.time_partitioning.field == "root_tstamp"
    assert table.clustering_fields == ["root_id"]


def test_rows_go_to_the_columns_of_an_adopted_table_by_their_names(events: EventScene) -> None:
    events.dataset.land(
        "com_acme_click_1", {"mine": "DATE", "Id": "INT64", **dict(reversed(ENVELOPE)), "s": "STRUCT<a INT64>"}
    )
    found = events.warehouse.find("com_acme_click_1")
    assert found is not None
    columns = [("Id", "INT64"), ZIP, ("s", "STRUCT<a INT64, b STRING>")]
    table = replace(click_table("1-0-0", columns), adopted=found.columns)
    write_run(events.folder, FIRST, [(table, [{**envelope("a"), "Id": 1, "zip": "A", "s": {"a": 2, "b": "B"}}])])
    assert states(events.load()) == ["loaded"]
    assert events.rows("Id", "zip", "s.a", "s.b", "mine") == [(1, "A", 2, "B", None)]
    after = events.warehouse.find("com_acme_click_1")
    assert after is not None
    assert after.columns == (*found.columns[:-1], ("s", "STRUCT<a INT64, b STRING>"), ZIP)


def test_wide_columns_that_the_table_has_get_the_description_of_their_schema(events: EventScene) -> None:
    cart, older, user, page = (f"contexts_com_acme_{name}" for name in ("cart_1", "cart_1_0_0", "user_1", "page_1"))
    array = "ARRAY<STRUCT<id INT64>>"
    events.dataset.land(EVENTS, {"event_id": "STRING", **dict.fromkeys((cart, older, user, page), array)})
    found = events.dataset.client.get_table(f"{events.dataset.name}.{EVENTS}")
    own = {"description": "Pages of the shop"}
    found.schema = [*found.schema[:-1], SchemaField.from_api_repr({**found.schema[-1].to_api_repr(), **own})]
    events.dataset.client.update_table(found, ["schema"])
    columns = (("event_id", "STRING"), (cart, array), (page, array))
    table = ShreddedTable(EVENTS, EVENTS, "", "", columns, EVENTS, ())
    manifest = write_run(events.folder, FIRST, [(table, [{"event_id": "e1", cart: [{"id": 1}]}])])
    used = tuple(UsedSchema(f"iglu:com.acme/{name}/jsonschema/1-0-0") for name in ("cart", "page"))
    (events.folder / f"run={FIRST}" / MANIFEST).write_text(replace(manifest, schemas=used).to_json())
    (report,) = events.load()
    assert states([report]) == ["loaded"]
    assert (report.tables[0].described, report.tables[0].undescribed) == ((cart, older), (user,))
    schema = events.dataset.client.get_table(f"{events.dataset.name}.{EVENTS}").schema
    assert {field.name: field.description for field in schema[1:]} == {
        cart: "com.acme/cart/jsonschema/1",
        older: "com.acme/cart/jsonschema/1",
        user: None,
        page: "Pages of the shop",
    }
