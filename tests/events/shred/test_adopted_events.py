"""A table of events that another loader made: what is said of it, and the rows of events for its columns."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Literal

import pytest
from support.atomic_events import GENERATIONS, REQUIRED, Columns
from support.shred_events import registry_of
from support.shred_scene import CLICK, cells, enriched, shred

from onefold.core.errors import InvalidInput, SchemaConflict
from onefold.core.shred_options import FileFormat, InputForm
from onefold.events.registry.adopted import AdoptedTable, adopted_text, parse_adopted
from onefold.events.registry.column_mapping import TableColumn
from onefold.events.registry.legacy_table import Adoption, LegacyTable
from onefold.events.shred.adopted_events import adopt_events
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.schema.diff import Severity

EVENT = {"v_collector": "ssc", "v_etl": "enrich", "dvce_created_tstamp": "2026-11-23 07:00:00", "tr_total": "10.99"}
MISSING = {"0.4.0": 22, "0.6.0": 6}
"""The columns that a table of an earlier release lacks, of the 128 of today."""
Missing = Literal["add", "leave_out"]


def adopted(columns: Columns, missing: Missing = "add", **more: Any) -> Adoption:
    found = tuple(
        TableColumn(name, type_.partition(" DEFAULT")[0], name not in REQUIRED, " DEFAULT" in type_)
        for name, type_ in columns
    )
    return adopt_events("redshift", LegacyTable("atomic.events", found, {}, missing=missing, **more))


def plan(table: AdoptedTable, form: InputForm = "enriched-tsv", format_: FileFormat = "csv") -> ShredPlan:
    (read,) = parse_adopted(adopted_text([table]), "the registry")
    known = replace(registry_of(CLICK), adopted={(read.warehouse, read.model): read})
    return plan_shred(known, format_, form, warehouse=read.warehouse)


@pytest.mark.parametrize("name", GENERATIONS)
def test_each_published_table_can_be_adopted_and_lacks_what_later_releases_added(name: str) -> None:
    found = adopted(GENERATIONS[name])
    lacking = [one.column for one in found.differences if one.problem.startswith("missing")]
    assert (found.refused, len(lacking)) == ((), MISSING.get(name, 0))
    assert not {"dvce_created_tstamp", "refr_device_tstamp"} & set(lacking) - (
        {"refr_device_tstamp"} if name == "0.4.0" else set()
    )


def test_columns_that_no_field_has_get_no_value_or_their_default() -> None:
    said = {one.column: one.remedy for name in GENERATIONS for one in adopted(GENERATIONS[name]).differences}
    assert said["load_tstamp"] == "it gets its default in new rows"
    assert said["contexts"] == "it is NULL in new rows"


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
@pytest.mark.parametrize("name", GENERATIONS)
def test_a_row_has_the_names_of_the_table_whatever_the_order_of_its_columns(name: str, form: InputForm) -> None:
    columns = random.Random(1).sample(GENERATIONS[name], len(GENERATIONS[name]))
    made = plan(adopted(columns).table, form)
    event = cells(made, shred(made, enriched(form, **EVENT)))
    former = "dvce_tstamp" if name in MISSING else "dvce_created_tstamp"
    assert (event[former], event["tr_total"], event["v_etl"]) == ("2026-11-23 07:00:00", "10.99", "enrich")
    assert len(event) == 128
    assert made.tables[0].adopted == tuple((name, type_.partition(" DEFAULT")[0]) for name, type_ in columns)


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
def test_missing_columns_are_left_out_by_name_where_that_is_set(form: InputForm) -> None:
    made = plan(adopted(GENERATIONS["0.4.0"], "leave_out").table, form)
    event = cells(made, shred(made, enriched(form, **EVENT, tr_currency="EUR", true_tstamp="no time")))
    assert set(event) == {name for name, _ in GENERATIONS["0.4.0"]} - {"contexts", "unstruct_event"}


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"geo_region": "ABC"}, 'geo_region: "ABC" does not fit into CHAR(2)'),
        ({"txn_id": "3000000000"}, "txn_id: 3000000000 is beyond INT"),
        ({"tr_total": "1.999"}, "tr_total: 1.999 has more than 16 digits before or 2 after the point"),
        ({"v_collector": ""}, "v_collector: the column is NOT NULL, and there is no value"),
    ],
)
def test_a_value_that_a_column_does_not_hold_is_a_bad_row_with_its_field(
    form: InputForm, fields: dict[str, str], reason: str
) -> None:
    given = {name: value for name, value in {**EVENT, **fields}.items() if value}
    bad = shred(plan(adopted(GENERATIONS["0.8.0"]).table, form), enriched(form, **given)).bad
    assert bad is not None
    assert (bad.kind, bad.reasons[0].startswith(reason), len(bad.reasons)) == ("does_not_fit", True, 1), bad.reasons


TEXTS = tuple((name, "VARCHAR(26)") for name in ("br_cookies", "se_value", "txn_id", "true_tstamp"))
GIVEN = {"br_cookies": "1", "se_value": "1.10", "txn_id": "007", "true_tstamp": "2026-11-23 07:00:00"}


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json"])
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_column_of_texts_holds_the_json_text_of_a_value_and_of_nothing_else(form: InputForm, format_: FileFormat) -> None:
    made = plan(adopted([("event_id", "CHAR(36)"), ("collector_tstamp", "TIMESTAMP"), *TEXTS]).table, form, format_)
    event = cells(made, shred(made, enriched(form, **GIVEN)))
    assert [event[name] for name, _ in TEXTS] == ["true", "1.1", "7", "2026-11-23 07:00:00"]
    for name, value in {"br_cookies": "yes", "se_value": "NaN", "txn_id": "1.5", "true_tstamp": "noon"}.items():
        bad = shred(made, enriched(form, **{**GIVEN, name: value})).bad
        assert bad is not None, name
        assert bad.reasons[0].startswith(f"{name}: ")


def test_a_column_of_another_kind_and_a_missing_id_are_refused_by_name() -> None:
    columns = [("br_cookies", "TIMESTAMP"), ("COLLECTOR_TSTAMP", "TIMESTAMP")]
    found = adopted(columns)
    assert [one.column for one in found.refused] == ["event_id", "br_cookies"]
    with pytest.raises(SchemaConflict, match="br_cookies: it is TIMESTAMP and cannot hold BOOLEAN") as raised:
        plan(found.table)
    assert len(raised.value.problems) == 2


def test_a_required_column_that_no_field_has_is_refused() -> None:
    found = adopt_events(
        "redshift",
        LegacyTable("events", (*adopted(GENERATIONS["0.8.0"]).table.columns, TableColumn("own", "INT", False)), {}),
    )
    assert [one.column for one in found.refused] == ["own"]


def test_amounts_of_money_are_numeric_in_a_table_of_bigquery() -> None:
    columns = (
        TableColumn("event_id", "STRING"), TableColumn("collector_tstamp", "TIMESTAMP"), TableColumn("tr_total", "NUMERIC"),
        TableColumn("contexts_com_acme_page_1", "ARRAY<STRUCT<url STRING>>"),
    )  # fmt: skip
    found = adopt_events("bigquery", LegacyTable("atomic.events", columns, {}, missing="leave_out"))
    assert {one.column for one in found.differences if one.severity > Severity.INFO} == {"tr_total"}
    made = plan_shred(replace(registry_of(CLICK), adopted={("bigquery", None): found.table}), "parquet", "enriched-tsv")
    event = cells(made, shred(made, enriched("enriched-tsv", tr_total="10.99")))
    assert (list(event), str(event["tr_total"])) == (["collector_tstamp", "event_id", "tr_total"], "10.99")


@pytest.mark.parametrize(("name", "more"), [("atomic.page_views", {}), ("events", {"misfits": "recovery_table"})])
def test_events_have_one_name_and_no_recovery_table(name: str, more: dict[str, Any]) -> None:
    table = LegacyTable(name, adopted(GENERATIONS["0.8.0"]).table.columns, {}, **more)
    with pytest.raises(InvalidInput):
        adopt_events("redshift", table)
