"""What an adopted table needs before rows of a run are loaded: columns are compared by their names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from onefold.core.errors import SchemaConflict
from onefold.events.load.adopted_plan import plan_adopted_table
from onefold.events.load.plan import EventTablePlan, Facts, Wanted
from onefold.ports.event_tables import Columns, EventTable, FoundTable, KnownColumns
from onefold.schema.redshift_catalog import grown_type

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
URI = "iglu:com.acme/click/jsonschema/1-0-0"
ID, ZIP, MINE = ("id", "BIGINT"), ("zip", "VARCHAR(10)"), ("mine", "DATE")


def plan(files: Columns, adopted: Columns, is_: Columns | None, *known: Columns) -> EventTablePlan:
    wanted = Wanted(EventTable("t_1", adopted, URI, "t", "1", is_adopted=True), NOON, files, adopted)
    found = None if is_ is None else FoundTable(is_, URI, ("t", "1"))
    listed = [KnownColumns(one, URI, NOON, is_loaded=True) for one in known]
    return plan_adopted_table(wanted, Facts(listed, found, listed), grown_type)


def test_it_gets_what_it_lacks_behind_its_own_columns() -> None:
    made = plan((ID, ZIP), (MINE, ID), (MINE, ID))
    assert (made.action, made.table.columns, made.added) == ("change", (MINE, ID, ZIP), ("zip",))
    assert (made.is_listed, made.is_news) == (False, True)


def test_it_is_never_created() -> None:
    with pytest.raises(SchemaConflict, match="t_1 was adopted, and does not exist: restore it"):
        plan((ID,), (MINE, ID), None)


@pytest.mark.parametrize(
    "is_",
    [(ID, MINE, ZIP), (ZIP, ID), (ZIP, ID, MINE, ("more", "INT")), (("zip", "VARCHAR(20)"), MINE, ID)],
    ids=["another order", "a column that no row has is gone", "one more", "one is longer"],
)
def test_it_needs_nothing_where_it_has_what_rows_need(is_: Columns) -> None:
    made = plan((ID, ZIP), (ZIP, MINE, ID), is_, (ZIP, MINE, ID), is_)
    assert (made.action, made.table.columns, made.is_listed, made.is_news) == ("none", is_, True, False)


def test_all_that_rows_need_and_it_does_not_have_is_named_with_the_remedy() -> None:
    with pytest.raises(SchemaConflict) as caught:
        plan((ID, ZIP, MINE), (ID, ZIP, MINE), (("zip", "VARCHAR(9)"), ("mine", "INT")))
    *named, remedy = caught.value.problems
    assert named == [
        "t_1 was adopted, and its column id BIGINT is missing",
        "t_1 was adopted, and its column zip is VARCHAR(9) and cannot hold VARCHAR(10)",
        "t_1 was adopted, and its column mine is INT and cannot hold DATE",
    ]
    assert "adopt it again by `onefold schema adopt --record` and shred the inputs of the run again" in remedy


def test_a_column_that_the_loader_added_grows() -> None:
    made = plan((ID, ("zip", "VARCHAR(20)")), (ID,), (ID, ZIP))
    assert (made.action, made.table.columns) == ("change", (ID, ("zip", "VARCHAR(20)")))
