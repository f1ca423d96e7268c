"""What a table needs before rows of a run are loaded."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from onefold.core.errors import SchemaConflict
from onefold.events.load.plan import EventTablePlan, Facts, TableAltered, Wanted, plan_table
from onefold.ports.event_tables import Columns, EventTable, FoundTable, KnownColumns
from onefold.schema.growth import grown
from onefold.schema.redshift_catalog import grown_type as redshift_grown

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
ID, ZIP, GEO = ("id", "INT64"), ("zip", "STRING"), ("geo", "STRUCT<lat FLOAT64>")
WIDER = ("geo", "STRUCT<lat FLOAT64, alt FLOAT64>")
LABELS = ("com_acme_click", "1")


def table(*columns: tuple[str, str], version: str = "1-0-0") -> EventTable:
    return EventTable("t_1", columns, f"iglu:com.acme/click/jsonschema/{version}", "com_acme_click", "1")


def wanted(*columns: tuple[str, str], version: str = "1-0-0", minute: int = 0) -> Wanted:
    return Wanted(table(*columns, version=version), NOON + timedelta(minutes=minute))


def found(*columns: tuple[str, str], version: str = "1-0-0", labels: tuple[str, str] | None = LABELS) -> FoundTable:
    return FoundTable(columns, f"iglu:com.acme/click/jsonschema/{version}", labels)


def listed(*columns: tuple[str, str], version: str = "1-0-0", minute: int = 0, loaded: bool = True) -> KnownColumns:
    uri = f"iglu:com.acme/click/jsonschema/{version}"
    return KnownColumns(columns, uri, NOON + timedelta(minutes=minute), loaded)


def plan(run: Wanted, is_: FoundTable | None, *known: KnownColumns) -> EventTablePlan:
    return plan_table(run, Facts(known, is_, known), grown)


def columns(made: EventTablePlan) -> Columns:
    return made.table.columns


def test_an_absent_table_is_created_with_the_columns_of_the_run() -> None:
    made = plan(wanted(ID, ZIP), None)
    assert (made.action, columns(made), made.is_listed, made.is_news) == ("create", (ID, ZIP), False, True)


def test_a_table_with_these_columns_needs_nothing() -> None:
    made = plan(wanted(ID), found(ID), listed(ID))
    assert (made.action, made.is_listed, made.is_news) == ("none", True, False)


OF_RECOVERY = EventTable("t_1_0_0_recovered_1a", (ID,), "iglu:com.acme/click/jsonschema/1-0-0", "com_acme_click", "1r1a")


@pytest.mark.parametrize("uri", ["", "iglu:com.acme/click/jsonschema/1-0-1", "Clicks of the shop"])
def test_a_table_with_the_name_of_a_recovery_table_and_of_another_description_is_left_alone(uri: str) -> None:
    with pytest.raises(SchemaConflict, match="t_1_0_0_recovered_1a exists, and is not the recovery table of iglu:"):
        plan(Wanted(OF_RECOVERY, NOON), FoundTable((ID,), uri))


def test_a_recovery_table_that_another_loader_made_or_that_a_run_is_listed_for_gets_rows() -> None:
    assert plan(Wanted(OF_RECOVERY, NOON), FoundTable((ID,), OF_RECOVERY.uri)).action == "none"
    assert plan(Wanted(OF_RECOVERY, NOON), FoundTable((ID,), ""), listed(ID)).action == "change"


def test_a_table_with_rows_of_another_schema_gets_none_by_its_description_or_by_the_runs_that_were_loaded() -> None:
    twin = "iglu:com/acme_click/jsonschema/1-0-0"
    known = KnownColumns((ID,), twin, NOON, True)
    for is_, others in ((FoundTable((ID,), twin), []), (FoundTable((ID,)), [known]), (None, [known])):
        with pytest.raises(SchemaConflict, match=f"t_1 has rows of {twin}, and the run has those of iglu:com.acme/click/"):
            plan(wanted(ID), is_, *others)
    # A name that a person gave, another version, and a run that was never loaded are no other schema.
    assert plan(wanted(ID), FoundTable((ID,), "Clicks"), listed(ID, version="1-0-1")).found is not None
    assert plan(wanted(ID), None, replace(known, is_loaded=False)).action == "create"


def test_columns_of_the_run_are_added_and_nothing_further() -> None:
    # A run with geo is under way: its loader has listed geo, and not added it yet.
    made = plan(wanted(ID, ZIP, version="1-0-1"), found(ID), listed(ID), listed(ID, ZIP, GEO, minute=9, loaded=False))
    assert (made.action, columns(made), made.added) == ("change", (ID, ZIP), ("zip",))
    assert made.table.uri.endswith("1-0-1")


def test_an_older_run_changes_nothing() -> None:
    made = plan(wanted(ID), found(ID, ZIP, version="1-0-1"), listed(ID, ZIP, version="1-0-1", minute=5))
    assert (made.action, columns(made), made.added) == ("none", (ID, ZIP), ())
    assert made.table.uri.endswith("1-0-1")


def test_fields_of_a_struct_grow() -> None:
    made = plan(wanted(ID, WIDER), found(ID, GEO), listed(ID, GEO))
    assert (columns(made), made.added) == ((ID, WIDER), ("geo",))


def test_a_table_that_was_dropped_gets_all_columns_of_rows_that_were_loaded() -> None:
    made = plan(wanted(ID), None, listed(ID, ZIP, minute=5), listed(ID, ZIP, GEO, minute=9, loaded=False))
    assert (made.action, columns(made)) == ("create", (ID, ZIP))


def test_a_loader_that_was_killed_between_the_list_and_the_change_leaves_nothing_wrong() -> None:
    made = plan(wanted(ID, ZIP, minute=5), found(ID), listed(ID), listed(ID, ZIP, minute=5, loaded=False))
    assert (made.action, columns(made), made.is_listed) == ("change", (ID, ZIP), True)


def test_the_description_and_the_labels_are_brought_up() -> None:
    assert plan(wanted(ID, version="1-0-1", minute=1), found(ID), listed(ID)).action == "change"
    assert plan(wanted(ID), found(ID, labels=("", "")), listed(ID)).action == "change"
    assert plan(wanted(ID), found(ID, labels=None), listed(ID)).action == "none"


def test_the_description_and_the_labels_of_the_events_are_left_to_people() -> None:
    events = Wanted(EventTable("events", (ID,), base="events"), wanted(ID).registry_read_at)
    is_ = FoundTable((ID,), "All events of the shop", ("events", "1"))
    assert plan_table(events, Facts((), is_, ()), grown).action == "none"


def test_a_table_that_was_dropped_and_labels_that_were_removed_are_announced() -> None:
    assert plan(wanted(ID), None, listed(ID)).is_announced
    assert plan(wanted(ID), found(ID, labels=("", "")), listed(ID)).is_announced
    assert not plan(wanted(ID), found(ID), listed(ID)).is_announced


def test_a_version_that_changes_no_column_is_the_later_one_by_the_time_of_its_run() -> None:
    known = listed(ID, version="1-0-2", minute=7)
    made = plan(wanted(ID, version="1-0-1", minute=5), found(ID, version="1-0-2"), known)
    assert (made.action, made.table.uri[-5:]) == ("none", "1-0-2")


def test_a_table_that_no_run_is_listed_for_is_taken_over() -> None:
    made = plan(wanted(ID), found(ID, ZIP))
    assert (columns(made), made.is_listed) == ((ID, ZIP), False)
    assert columns(plan(wanted(ID, ZIP), found(ID))) == (ID, ZIP)


@pytest.mark.parametrize(
    ("is_", "difference"),
    [
        ((ID, ZIP, ("extra", "DATE")), "column extra DATE is in the table alone"),
        ((ID,), "column zip STRING is missing"),
        ((ZIP,), "column id INT64 is missing"),
        ((ID, ("zip", "BYTES")), "column zip: expected STRING, got BYTES"),
        ((ZIP, ID), "the order: expected id, zip, got zip, id"),
        ((ID, ("code", "STRING")), "column zip STRING is missing"),
        ((ID, ("code", "STRING")), "column code STRING is in the table alone"),
        ((), "column id INT64 is missing"),
    ],
)
def test_a_table_that_was_altered_by_hand_is_an_error_that_names_the_difference(is_: Columns, difference: str) -> None:
    with pytest.raises(TableAltered) as caught:
        plan(wanted(ID), found(*is_), listed(ID, ZIP))
    assert f"t_1: {difference}" in caught.value.problems
    assert "nobody but the loader may alter the table" in caught.value.problems[-1]


def test_all_differences_are_named_at_once() -> None:
    with pytest.raises(TableAltered) as caught:
        plan(wanted(ID), found(("a", "DATE"), ("geo", "STRING"), ID), listed(ID, ZIP, GEO))
    assert [problem.removeprefix("t_1: ") for problem in caught.value.problems[:-1]] == [
        "column zip STRING is missing",
        "column a DATE is in the table alone",
        "column geo: expected STRUCT<lat FLOAT64>, got STRING",
        "the order: expected id, geo, got geo, id",
    ]


def test_a_field_that_was_added_to_a_struct_by_hand_is_a_difference() -> None:
    with pytest.raises(TableAltered, match="column geo: expected STRUCT<lat FLOAT64>, got STRUCT<lat FLOAT64, alt"):
        plan(wanted(GEO), found(WIDER), listed(GEO))
    with pytest.raises(TableAltered, match="column geo: expected STRUCT<lat FLOAT64, alt FLOAT64>, got STRUCT<lat FLOAT64>"):
        plan(wanted(GEO), found(GEO), listed(WIDER))


def test_columns_that_another_loader_adds_meanwhile_are_no_difference() -> None:
    before, after = (listed(ID),), (listed(ID), listed(ID, ZIP, minute=5, loaded=False))
    made = plan_table(wanted(ID), Facts(before, found(ID, ZIP), after), grown)
    assert columns(made) == (ID, ZIP)
    # That loader has loaded after the look at the table: zip was not there yet, and is not missed.
    made = plan_table(wanted(ID), Facts(before, found(ID), (*after, listed(ID, ZIP, minute=5))), grown)
    assert columns(made) == (ID,)


@pytest.mark.parametrize("other", [("zip", "DATE"), ("code", "STRING")])
def test_a_run_of_another_registry_is_refused_before_anything_is_listed(other: tuple[str, str]) -> None:
    with pytest.raises(SchemaConflict, match="t_1: the run has columns that the table cannot hold"):
        plan(wanted(ID, other), found(ID, ZIP), listed(ID, ZIP))
    with pytest.raises(SchemaConflict, match="t_1: the run has columns that the table cannot hold"):
        plan(wanted(ID, other), found(ID), listed(ID), listed(ID, ZIP, minute=5, loaded=False))


def test_a_run_with_the_versions_in_another_order_is_refused_with_the_schema_the_cause_and_the_remedy() -> None:
    with pytest.raises(SchemaConflict) as caught:
        plan(wanted(ID, ZIP, GEO), found(ID, GEO), listed(ID, GEO))
    problem, cause = caught.value.problems
    assert problem.startswith("t_1: the run has columns that the table cannot hold: column zip: STRING is missing")
    assert "iglu:com.acme/click/jsonschema/1-0-0 in another order than earlier runs" in cause
    assert "`onefold schema import`, and shred the inputs of the run again" in cause


def in_redshift(*is_: tuple[str, str]) -> EventTablePlan:
    run = wanted(("id", "BIGINT"), ("zip", "VARCHAR(10)"))
    return plan_table(run, Facts((), FoundTable(is_), ()), redshift_grown)


@pytest.mark.parametrize(
    ("is_", "after"),
    [
        ([("id", "BIGINT")], ("BIGINT", "VARCHAR(10)")),
        ([("id", "BIGINT"), ("zip", "VARCHAR(5)")], ("BIGINT", "VARCHAR(10)")),
        ([("id", "VARCHAR(19)"), ("zip", "VARCHAR(5000)")], ("VARCHAR(19)", "VARCHAR(5000)")),
    ],
)
def test_a_table_that_was_not_adopted_is_taken_where_redshift_can_bring_it_to_the_run(
    is_: list[tuple[str, str]], after: tuple[str, str]
) -> None:
    assert tuple(type_ for _, type_ in columns(in_redshift(*is_))) == after


@pytest.mark.parametrize(
    ("is_", "named"),
    [
        ([("id", "INT")], "column id: it is INT and cannot hold BIGINT"),
        ([("zip", "CHAR(5)")], "column zip: it is CHAR(5) and cannot hold VARCHAR(10)"),
        ([("zip", "VARCHAR(10)"), ("id", "BIGINT")], "column id: it is not at its place"),
        ([("zip", "VARCHAR(10)")], "column id: BIGINT is missing, and a column can only be added behind all others"),
        ([("old", "DATE"), ("id", "BIGINT"), ("zip", "VARCHAR(10)")], "column old: DATE is where another column belongs"),
    ],
)
def test_a_table_that_was_not_adopted_is_refused_where_redshift_cannot_bring_it_to_the_run(
    is_: list[tuple[str, str]], named: str
) -> None:
    with pytest.raises(SchemaConflict) as caught:
        in_redshift(*is_)
    assert f"t_1: the run has columns that the table cannot hold: {named}" in str(caught.value)
    assert "`onefold schema adopt` maps columns by their names" in caught.value.problems[-1]
