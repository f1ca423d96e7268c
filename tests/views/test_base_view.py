"""The current view while a merge writes its base: what it reads before and after, and which copies are made and dropped."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.merged_table import BASE, COPY, TABLE, VIEW, MergedTable

from onefold.refresh.labels import TABLE_LABEL
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.views.base_view import CurrentViewOverBase
from onefold.views.current_text import base_note, base_noted, left_out

GOLDEN = Path(__file__).parents[1] / "golden" / "base" / "current_above_a_floor.sql"
MADE = f"CREATE TABLE IF NOT EXISTS {TABLE.sibling(COPY).quoted} AS SELECT * FROM {TABLE.sibling(BASE).quoted}"
DROPPED = f"DROP TABLE IF EXISTS {TABLE.sibling(COPY).quoted}"


def over(table: MergedTable) -> CurrentViewOverBase:
    return CurrentViewOverBase(table.warehouse, table.settings)


def converted() -> MergedTable:
    """A table whose next merge converts a date to a time, and whose view reads the base of before."""
    table = MergedTable(seen="DATE")
    table.merge(seen="DATE")
    table.write()
    table.land("def", seen="DATETIME")
    assert table.plan().schema_plan.migration == "convert"
    return table


def test_a_base_that_is_converted_is_copied_and_the_view_reads_the_copy_until_the_new_base_is_there() -> None:
    table = converted()
    assert table.reads() == {BASE, "customer_v_abc"}
    over(table).before_base(table.plan())
    assert (table.ran, table.reads()) == ([MADE], {COPY, "customer_v_abc", "customer_v_def"})
    assert base_noted(table.text()) == "copy"
    table.merge(seen="DATETIME")
    plan = table.plan()
    over(table).after_base(plan)
    assert table.reads() == {BASE, "customer_v_abc", "customer_v_def"}
    assert plan.stored
    assert (table.ran, base_noted(table.text())) == ([MADE, DROPPED], base_note(plan.stored))


def test_a_copy_of_a_former_base_is_dropped_first_and_a_copy_of_this_one_is_used() -> None:
    table = converted()
    over(table).before_base(table.plan())
    over(table).before_base(table.plan())
    assert table.ran == [MADE, MADE]
    table.merge("abc", seen="DATE")
    over(table).before_base(table.plan())
    assert table.ran == [MADE, MADE, DROPPED, MADE]


def test_the_copy_of_a_merge_that_was_killed_is_dropped_by_the_next_one() -> None:
    table = converted()
    table.cloud.land(COPY, {"id": "INT64"})
    table.merge(seen="DATETIME")
    table.write()
    over(table).after_base(table.plan())
    assert (table.ran, COPY in table.cloud.names("TABLE")) == ([DROPPED], False)
    over(table).after_base(table.plan())
    assert table.ran == [DROPPED], "nothing is left to drop"


@pytest.mark.parametrize("has_view", [True, False])
def test_a_copy_that_is_younger_than_the_plan_belongs_to_another_merge(has_view: bool) -> None:
    table = MergedTable()
    table.merge(name="STRING")
    if has_view:
        table.write()
    table.cloud.land(COPY, {"id": "INT64"})
    created = table.warehouse.read_table(TABLE.sibling(COPY))
    assert created
    for plan, ran in ((replace(table.plan(), started_at=created.created), []), (table.plan(), [DROPPED])):
        over(table).after_base(plan)
        assert table.ran == ran


def test_a_base_that_only_gets_columns_is_not_copied_and_the_view_reads_them_from_it_afterwards() -> None:
    table = MergedTable()
    table.merge(name="STRING")
    before = table.write()
    table.land("def", name="STRING", born="DATE")
    over(table).before_base(table.plan())
    assert (table.ran, table.text()) == ([], before)
    table.merge(name="STRING", born="DATE")
    over(table).after_base(table.plan())
    assert (table.ran, "b.`born`" in table.text()) == ([], True)
    after = table.text()
    over(table).after_base(table.plan())
    assert table.text() == after


def test_a_base_that_is_rebuilt_is_left_out_of_the_view_and_not_copied() -> None:
    """BOOL was stored as INT64; as text it is `true` and not `1`, so that the base is written from the changes again."""
    table = MergedTable(flag="BOOL", on="BOOL")
    table.land("def", flag="INT64", on="INT64")
    table.merge(flag="INT64", on="INT64")
    table.write()
    table.land("fed", flag="STRING", on="STRING")
    table.cloud.statements.answer("AS found", {"found": "INT64"}, (0,))
    plan = table.plan()
    assert plan.schema_plan.migration == "rebuild"
    over(table).before_base(plan)
    assert table.reads() == {"customer_v_abc", "customer_v_def", "customer_v_fed"}
    assert (table.ran, base_noted(table.text())) == ([], "")
    assert left_out(table.text()) == "flag INT64 -> STRING, on INT64 -> STRING"


def test_after_a_purge_the_keys_of_a_base_that_is_rebuilt_are_read_from_a_copy() -> None:
    """A rebuild would show late changes of keys whose deletions were purged: only keys of the base, or newer, are shown."""
    table = MergedTable(flag="BOOL")
    table.land("def", flag="INT64")
    table.merge(flag="INT64", floor="z")
    table.write()
    table.land("fed", flag="STRING")
    table.cloud.statements.answer("AS found", {"found": "INT64"}, (0,))
    over(table).before_base(table.plan())
    assert (table.ran, table.reads()) == ([MADE], {COPY, "customer_v_abc", "customer_v_def", "customer_v_fed"})
    assert (left_out(table.text()), base_noted(table.text())) == ("flag INT64 -> STRING", "copy")
    text = table.text() + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_a_view_over_a_base_that_somebody_dropped_gets_the_whole_history_before_there_is_a_new_one() -> None:
    table = MergedTable()
    table.merge(name="STRING")
    assert "`_landed_at` >=" in table.write()
    table.cloud.drop(BASE)
    over(table).before_base(table.plan())
    assert (table.ran, table.reads()) == ([], {"customer_v_abc"})
    assert "`_landed_at` >=" not in table.text()
    before = table.text()
    over(table).before_base(table.plan())
    over(table).after_base(table.plan())
    assert (table.ran, table.text()) == ([], before)


@pytest.mark.parametrize("other", ["none", "of somebody else", "left out by onefold.yaml"])
def test_without_a_view_of_onefold_no_view_is_written_and_no_copy_made(other: str) -> None:
    table = converted()
    if other == "none":
        table.cloud.drop(VIEW)
    elif other == "of somebody else":
        table.cloud.change(VIEW, lambda view: view.update(labels={TABLE_LABEL: "theirs"}))
    else:
        table.settings = Settings(tables={"customer": TableRules(keys=("id",), current=False)})
    views = {name: table.cloud.resource(name)["view"] for name in table.cloud.names("VIEW")}
    over(table).before_base(table.plan())
    over(table).after_base(table.plan())
    assert over(table).after_merge(table.plan()) is None
    assert {name: table.cloud.resource(name)["view"] for name in table.cloud.names("VIEW")} == views
    assert table.ran == []


def test_after_a_merge_the_view_is_brought_up_to_date_and_told() -> None:
    table = MergedTable()
    table.merge(name="STRING")
    table.write()
    table.land("def", name="STRING", born="DATE")
    told = over(table).after_merge(table.plan())
    assert told
    assert (told.action, told.id, told.base) == ("update", TABLE.sibling(VIEW), TABLE.sibling(BASE))
    assert "`born`" in table.text()
