"""Events with wide columns: which columns a schema has, what is in the row of an event, and that the views read them."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from support.existing_tables import schema
from support.shred_events import parsed, registry_of
from support.shred_scene import CLICK, ID, PAGE, START, TEXT, contexts, enriched, entity, unstruct

from onefold.batches.shred_arguments import ShredArguments
from onefold.core.errors import InvalidInput
from onefold.core.shred_options import Unknown
from onefold.events.registry.column_mapping import TableColumn
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.legacy_table import LegacyTable
from onefold.events.shred.adopted_events import adopt_events
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.shredder import Shredder
from onefold.events.shred.unknown import UNKNOWN_TABLE
from onefold.events.shred.wide import WideRow, WideRows, plan_wide, target_of
from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable

MISFIT = parsed({"type": "object", "properties": {"id": TEXT}}, "1-0-1")
EMPTY = parsed({"type": "object", "properties": {}}, name="nothing")


def plan(*schemas: JsonSchema, unknown: Unknown = "bad_event") -> ShredPlan:
    return plan_wide(registry_of(*schemas), "enriched-tsv", START, unknown)


def columns(made: ShredPlan) -> dict[str, str]:
    return dict(table.column for table in made.tables if table.column)


def row(made: ShredPlan, **fields: object) -> WideRow:
    found = Shredder(made).shred(enriched("enriched-tsv", **fields))
    assert found.bad is None
    return WideRows(made.tables).row(found.rows)


def named(made: ShredPlan, found: WideRow) -> dict[str, object]:
    return {target_of(made.tables[place]): value for place, value in found[1].items()}


def test_each_model_has_a_column_for_self_describing_events_and_one_for_contexts() -> None:
    assert columns(plan(CLICK)) == {
        "unstruct_event_com_acme_ad_click_1": "STRUCT<id INT64, label STRING>",
        "contexts_com_acme_ad_click_1": "ARRAY<STRUCT<_schema_version STRING, id INT64, label STRING>>",
    }


def test_a_version_that_does_not_fit_has_recovery_columns_with_its_version_and_digest() -> None:
    made = plan(CLICK, MISFIT)
    (digest,) = {table.version.partition("r")[2] for table in made.tables if "r" in table.version}
    assert [*columns(made)][2:] == [
        f"unstruct_event_com_acme_ad_click_1_recovered_1_0_1_{digest}",
        f"contexts_com_acme_ad_click_1_recovered_1_0_1_{digest}",
    ]


def test_schemas_whose_names_differ_in_a_dot_have_columns_and_views_of_their_own() -> None:
    twin = {"vendor": "com.acme.ad", "name": "click"}
    made = plan(CLICK, *(parsed({"type": "object", "properties": {"id": TEXT}}, f"{model}-0-0", **twin) for model in (1, 2)))
    found = recognise(ExistingTable("events", schema({**dict(made.tables[0].columns), **columns(made)}))).parts
    digest = hashlib.sha256(b"com.acme.ad/click/jsonschema").hexdigest()[:8]
    assert {name: len(parts) for name, parts in found.items()} == {
        "com_acme_ad_click": 2, f"com_acme_ad_click_{digest}": 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "ad_click_2_0",
            "unstruct_event_com_acme_ad_click_2_0_1 would be read as a column of com_acme_ad_click, whose view",
        ),
        ("aB" * 64, "is longer than 300 characters, the most that BigQuery allows for a column"),
    ],
)
def test_a_schema_whose_columns_would_be_another_s_or_have_no_name_is_refused_by_name(name: str, told: str) -> None:
    vendor = "com.acme" if name.startswith("ad") else "c" * 128
    other = parsed({"type": "object", "properties": {"id": TEXT}}, name=name, vendor=vendor)
    made = plan(CLICK, other, PAGE)
    found = Shredder(made).shred(enriched("enriched-tsv", unstruct_event=unstruct(entity(other, id="x")))).bad
    assert found
    assert (found.kind, told in found.reasons[0]) == ("no_table", True)
    assert named(made, row(made, contexts=contexts(entity(PAGE, url="a")))).keys() == {"contexts_com_acme_page_1"}


def test_the_views_of_snowplow_s_tables_find_the_schemas_and_their_versions() -> None:
    made = plan(CLICK, MISFIT, PAGE)
    found = recognise(ExistingTable("events", schema({**dict(made.tables[0].columns), **columns(made)})))
    assert (found.tool, set(found.metadata)) == ("Snowplow", set(columns(made)))
    assert {name: len(parts) for name, parts in found.parts.items()} == {"com_acme_ad_click": 4, "com_acme_page": 2}


def test_entities_are_in_the_columns_of_the_row_of_their_event() -> None:
    made = plan(CLICK, MISFIT, PAGE)
    found = row(
        made,
        app_id="shop",
        unstruct_event=unstruct(entity(CLICK, id=1)),
        contexts=contexts(entity(PAGE, url="a"), entity(CLICK, id=2, label="x"), entity(MISFIT, id="y")),
        derived_contexts=contexts(entity(PAGE, url="b")),
    )
    assert (found[0][0], found[0][6], len(found[0])) == ("shop", ID, 128)
    values = named(made, found)
    recovered = [name for name in values if "recovered" in name]
    assert values == {
        "unstruct_event_com_acme_ad_click_1": {"id": 1, "label": None},
        "contexts_com_acme_ad_click_1": [{"_schema_version": "1-0-0", "id": 2, "label": "x"}],
        "contexts_com_acme_page_1": [{"_schema_version": "1-0-0", "url": "a"}, {"_schema_version": "1-0-0", "url": "b"}],
        **{name: [{"_schema_version": "1-0-1", "id": "y"}] for name in recovered},
    }
    assert len(recovered) == 1


def test_an_event_without_entities_has_no_wide_columns() -> None:
    assert row(plan(CLICK))[1] == {}


def test_a_schema_without_properties_has_its_version() -> None:
    made = plan(EMPTY)
    assert columns(made)["unstruct_event_com_acme_nothing_1"] == "STRUCT<_schema_version STRING>"
    values = named(made, row(made, unstruct_event=unstruct(entity(EMPTY)), contexts=contexts(entity(EMPTY))))
    assert list(values.values()) == [{"_schema_version": "1-0-0"}, [{"_schema_version": "1-0-0"}]]


def test_an_event_with_a_wrong_entity_is_bad_as_a_whole() -> None:
    found = Shredder(plan(CLICK)).shred(enriched("enriched-tsv", contexts=contexts(entity(CLICK, id="x"))))
    assert (found.rows, found.bad and found.bad.kind) == ((), "invalid")


def test_a_wide_table_of_another_loader_is_adopted_and_one_of_a_model_gets_no_rows() -> None:
    column = ("contexts_com_acme_ad_click_1", "ARRAY<STRUCT<_schema_version STRING, id INT64>>")
    names = [("event_id", "STRING"), ("collector_tstamp", "TIMESTAMP"), column]
    found = LegacyTable("atomic.events", tuple(TableColumn(*one) for one in names), {}, missing="leave_out")
    own = adopt_events("bigquery", found)
    of_model = replace(own.table, model=CLICK.key.model_key, table="atomic.clicks")
    adopted = {(one.warehouse, one.model): one for one in (own.table, of_model)}
    made = plan_wide(replace(registry_of(CLICK), adopted=adopted), "enriched-tsv")
    events = made.tables[0]
    assert (events.adopted, [name for name, _ in events.columns]) == (tuple(names), ["collector_tstamp", "event_id"])
    assert columns(made)[column[0]] == "ARRAY<STRUCT<_schema_version STRING, id INT64, label STRING>>"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("label STRING, mine DATE, _schema_version STRING", "label STRING, mine DATE, _schema_version STRING, id INT64"),
        (
            "id NUMERIC",
            "contexts_com_acme_ad_click_1 of the adopted table of events is ARRAY<STRUCT<id NUMERIC>> and cannot",
        ),
        (
            "ID INT64",
            "is ARRAY<STRUCT<ID INT64>> and cannot hold ARRAY<STRUCT<_schema_version STRING, id INT64, label STRING>>",
        ),
    ],
    ids=["another order", "another type", "another case"],
)
def test_fields_of_an_adopted_column_are_found_by_name_and_what_it_cannot_hold_stops_one_schema(
    fields: str, expected: str
) -> None:
    names = [("event_id", "STRING"), ("collector_tstamp", "TIMESTAMP")]
    column = ("contexts_com_acme_ad_click_1", f"ARRAY<STRUCT<{fields}>>")
    found = LegacyTable("events", tuple(TableColumn(*one) for one in (*names, column)), {}, missing="leave_out")
    own = adopt_events("bigquery", found).table
    made = plan_wide(replace(registry_of(CLICK, PAGE), adopted={(own.warehouse, None): own}), "enriched-tsv")
    assert made.schemas[PAGE.key.uri].problem == ""
    assert expected in (made.schemas[CLICK.key.uri].problem or columns(made)[column[0]])


def test_json_of_an_unknown_entity_is_a_row_of_its_own_table_as_ever() -> None:
    made = plan(CLICK, unknown="keep_json")
    found = Shredder(made).shred(enriched("enriched-tsv", contexts=contexts(entity(CLICK, id=1), entity(PAGE, url="a"))))
    assert [target_of(made.tables[place]) for place, _ in found.rows] == [
        "events", "contexts_com_acme_ad_click_1", UNKNOWN_TABLE,
    ]  # fmt: skip
    assert [*named(made, WideRows(made.tables).row(found.rows))] == ["contexts_com_acme_ad_click_1"]


def test_an_entity_that_an_earlier_run_has_set_apart_stays_so_with_the_reason() -> None:
    record = enriched("enriched-tsv", contexts=contexts(entity(PAGE, url="a")))
    apart = plan_shred(registry_of(CLICK), "parquet", "enriched-tsv", START, "bad_entity")
    (bad,) = Shredder(apart).shred(record).apart
    again = Shredder(plan(CLICK, PAGE)).shred(bad.to_json())
    assert (again.rows, again.bad, again.is_event, [one.kind for one in again.apart]) == ((), None, False, ["no_table"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"format": "csv"}, "expected --warehouse bigquery"),
        ({"warehouse": "redshift"}, "expected --warehouse bigquery"),
        ({"input": "self-describing"}, "expected enriched events"),
        ({"unknown": "bad_entity"}, "expected --unknown bad_event or keep_json"),
    ],
)
def test_what_wide_columns_do_not_go_with(words: dict[str, str], problem: str) -> None:
    usual = {"registry": "r", "output": "o", "format": "parquet", "input": "enriched-tsv", "layout": "wide"}
    given = ["--events=e", *(f"--{name}={value}" for name, value in {**usual, **words}.items())]
    with pytest.raises(InvalidInput, match=problem):
        ShredArguments.parse(given)
