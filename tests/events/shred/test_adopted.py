"""Rows for tables that another loader made: the names and the types of their columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.shred_events import parsed, registry_of
from support.shred_scene import INTEGER, TEXT, cells, entity, shred

from onefold.core.shred_options import FileFormat
from onefold.events.registry.adopted import AdoptedTable, adopted_text, parse_adopted
from onefold.events.registry.column_mapping import TableColumn
from onefold.events.registry.legacy_table import LegacyTable, adopt
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.schema.redshift_ddl import ENVELOPE
from onefold.settings.registry import Warehouse

CLICK = parsed({"type": "object", "properties": {"id": INTEGER, "userName": TEXT}}, name="click")
OTHER = parsed({"type": "object", "properties": {"id": INTEGER}}, name="other")
OWN = tuple(TableColumn(name, type_, nullable=False) for name, type_, _ in ENVELOPE)
IN_BIGQUERY = tuple(TableColumn(name, "TIMESTAMP" if name == "root_tstamp" else "STRING") for name, *_ in ENVELOPE)


def planned(table: AdoptedTable, format_: FileFormat = "csv") -> ShredPlan:
    registry = replace(registry_of(CLICK, OTHER), adopted={(table.warehouse, table.model): table})
    return plan_shred(registry, format_, "self-describing")


def adopted(*columns: TableColumn, warehouse: Warehouse = "redshift", **more: Any) -> AdoptedTable:
    own = OWN if warehouse == "redshift" else IN_BIGQUERY
    return adopt([CLICK], warehouse, LegacyTable("atomic.click", (*columns, *own), {}, **more)).table


def click(**data: Any) -> dict[str, Any]:
    return {**entity(CLICK, **data), "event_id": "e", "collector_tstamp": "2026-11-23T08:00:00Z"}


def test_rows_have_the_names_and_the_types_of_the_table_and_added_columns_those_of_the_registry() -> None:
    made = planned(adopted(TableColumn("ID", "SMALLINT")))
    (table,) = [one for one in made.tables if one.name == "click"]
    assert table.columns[-2:] == (("ID", "SMALLINT"), ("user_name", "VARCHAR(4096)"))
    assert table.adopted[0] == ("ID", "SMALLINT")
    assert cells(made, shred(made, click(id=7, userName="a")))["ID"] == "7"


def test_a_value_that_does_not_fit_is_a_bad_row_that_names_the_column_of_the_table() -> None:
    found = shred(
        planned(adopted(TableColumn("ID", "SMALLINT"), TableColumn("username", "VARCHAR(3)"))),
        click(id=10**5, userName="abcd"),
    )
    assert found.bad is not None
    assert [reason.partition("1-0-0: ")[2].partition(":")[0] for reason in found.bad.reasons] == ["ID", "username"]


def test_data_that_does_not_fit_goes_to_the_recovery_table_of_its_version_where_that_is_set() -> None:
    made = planned(adopted(TableColumn("ID", "SMALLINT"), misfits="recovery_table"))
    rows = [shred(made, click(id=one)).rows for one in (1, 10**5)]
    names = [made.tables[place].name for ((place, _),) in rows]
    assert names[0] == "click"
    assert names[1].startswith("com_acme_click_1_0_0_recovered_")
    # What does not fit there either is a bad row.
    assert shred(made, click(id=10**30)).bad is not None


def test_a_recovery_table_is_named_after_the_registry_s_table_and_is_adopted_for_no_model() -> None:
    (name,) = [one.name for one in planned(adopted(misfits="recovery_table")).tables if "recovered" in one.name]
    assert name.startswith("com_acme_click_1_0_0_recovered_")
    taken = planned(replace(adopted(TableColumn("ID", "SMALLINT"), misfits="recovery_table"), table=name))
    assert [one.name for one in taken.tables] == ["events", name, "com_acme_other_1"]
    assert shred(taken, click(id=10**5)).bad is not None
    found = adopt([CLICK], "redshift", LegacyTable(f"atomic.{name}", OWN, {}))
    assert f"atomic.{name} is a recovery table by its name" in [one.problem for one in found.refused]


@pytest.mark.parametrize(("length", "refused"), [(93, []), (94, ["1-0-0"])])
def test_a_recovery_table_whose_name_redshift_does_not_take_is_refused_at_adoption(length: int, refused: list[str]) -> None:
    long = parsed({"type": "object", "properties": {"id": INTEGER}}, name="n" * length)
    found = adopt([long], "redshift", LegacyTable("atomic.short", OWN, {}, "recovery_table"))
    assert [one.problem.split(",")[0].rpartition(" ")[2] for one in found.refused] == refused
    assert not adopt([long], "redshift", LegacyTable("atomic.short", OWN, {}), [long.key.model_key]).refused


def test_a_not_null_column_refuses_data_without_a_value() -> None:
    made = planned(adopted(TableColumn("id", "BIGINT", nullable=False)))
    assert shred(made, click(id=1)).bad is None
    found = shred(made, click(userName="a")).bad
    assert found is not None
    assert "id: the column is NOT NULL, and there is no value" in found.reasons[0]


def test_a_table_of_bigquery_keeps_the_types_of_the_registry() -> None:
    table = adopted(TableColumn("ID", "INT64"), warehouse="bigquery")
    (made,) = [one for one in planned(table, "parquet").tables if one.name == "click"]
    assert made.columns[-2:] == (("ID", "INT64"), ("user_name", "STRING"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"table": "events"}, "is the table of another model"),
        ({"columns": (TableColumn("id", "DATE"), *OWN)}, "its column id is DATE and cannot hold BIGINT"),
        ({"columns": OWN[1:]}, "lacks schema_vendor"),
    ],
)
def test_events_of_a_table_that_cannot_be_used_are_bad_rows_that_say_why(change: dict[str, Any], told: str) -> None:
    made = planned(replace(adopted(TableColumn("id", "BIGINT")), **change))
    found = shred(made, click(id=1)).bad
    assert found is not None
    assert (found.kind, told in found.reasons[0]) == ("no_table", True)
    assert shred(made, {**click(), **entity(OTHER, id=1)}).bad is None


@pytest.mark.parametrize("is_adopted_first", [True, False])
def test_a_table_that_two_models_want_gets_no_rows_of_the_later_one_nor_of_one_that_did_not_make_it(
    is_adopted_first: bool,
) -> None:
    table = replace(adopted(TableColumn("id", "BIGINT")), table="atomic.Com_Acme_Other_1")
    models = [CLICK, OTHER] if is_adopted_first else [OTHER, CLICK]
    registry = replace(registry_of(*models), adopted={("redshift", table.model): table})
    made = plan_shred(registry, "csv", "self-describing")
    assert (shred(made, click(id=1)).bad is None) == is_adopted_first
    found = shred(made, {**click(), **entity(OTHER, id=1)}).bad
    assert found is not None
    assert found.kind == "no_table"
    assert "com_acme_other_1 was adopted, and is the table of another model" in found.reasons[0]


@pytest.mark.parametrize(
    ("column", "property_", "told"),
    [
        (TableColumn("mine", "DATE"), "mine", "its column mine is DATE and cannot hold VARCHAR(4096)"),
        (
            TableColumn("mine", "VARCHAR(9)", nullable=False, has_default=True),
            "mine",
            "its column mine is NOT NULL, and versions before 1-0-1 have no value for it",
        ),
        (TableColumn("USERNAME", "VARCHAR(9)"), "username", "its column username would hold user_name, username,"),
    ],
    ids=["of another kind", "NOT NULL", "of another property"],
)
def test_a_version_whose_column_has_a_name_that_the_table_uses_stops_no_earlier_version(
    column: TableColumn, property_: str, told: str
) -> None:
    more = {"id": INTEGER, "userName": TEXT, property_: TEXT}
    later = parsed({"type": "object", "properties": more}, "1-0-1", name="click")
    table = adopted(TableColumn("id", "BIGINT"), column)
    registry = replace(registry_of(CLICK, later), adopted={("redshift", table.model): table})
    made = plan_shred(registry, "csv", "self-describing")
    assert shred(made, click(id=1)).bad is None
    found = shred(made, {**click(), **entity(later, id=1)}).bad
    assert found is not None
    assert (found.kind, told in found.reasons[0]) == ("no_table", True), found.reasons


def test_adopted_tables_are_read_as_they_were_written() -> None:
    table = adopted(
        TableColumn("ID", "SMALLINT", nullable=False, has_default=True, encoding="lzo"), misfits="recovery_table"
    )
    assert parse_adopted(adopted_text([table]), "here") == (table,)
