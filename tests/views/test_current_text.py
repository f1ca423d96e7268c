"""The text of a current view over a base: what it reads, what it notes, and what it remembers where somebody edited it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from support.changelogs import METADATA_TYPE
from support.columns import columns

from onefold.changelog.metadata import LANDED_AT, METADATA
from onefold.core.names import TableId
from onefold.merge.base_table import base_of
from onefold.merge.change_tables import ChangeTable
from onefold.merge.merge_state import MergeState
from onefold.merge.plan import make_plan
from onefold.merge.stored_base import copy_of
from onefold.ports.warehouse import StoredTable
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version
from onefold.views.current_text import AlreadyCurrentText, CurrentText, base_note, base_noted, is_disputed, remembered_keys

TABLE = TableId("my-project", "shop", "customer")
TIME = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
LANDED = {"id": "INT64", "name": "STRING", METADATA: METADATA_TYPE, LANDED_AT: "TIMESTAMP"}
COLUMNS = columns(**LANDED)
BASE = StoredTable(base_of(TABLE, COLUMNS, ["id"]).stored, TIME)
RULES = TableRules(overlap_minutes=30)


def text(starts: Mapping[str, datetime], *, copied: bool = False) -> str:
    """Return the text over a change table without versions, whose last merge started at this time."""
    changes = [ChangeTable(TABLE, Version("", COLUMNS))]
    plan = make_plan(TABLE, RULES, ["id"], BASE, MergeState(TIME, starts), changes, TIME)
    return CurrentText(("id",), COLUMNS, plan, copied=copied).around(TABLE)


def test_a_view_over_one_table_reads_what_landed_since_the_day_of_the_last_merge() -> None:
    assert "WHERE r.`_landed_at` >= TIMESTAMP '2024-05-01 00:00:00.000000+00'" in text({"": TIME})


def test_a_view_reads_all_changes_while_its_table_was_never_merged() -> None:
    assert "`_landed_at` >=" not in text({})


def test_a_view_over_a_copy_reads_all_changes_and_never_the_base() -> None:
    """What was merged into the base after the copy was made is not in the copy."""
    over_base, over_copy = (text({"": TIME}, copied=copied) for copied in (False, True))
    base, copy = f"FROM {TABLE.sibling('customer_base').quoted}", f"FROM {copy_of(TABLE).quoted}"
    assert ((base in over_base), (copy in over_base)) == (True, False)
    assert ((base in over_copy), (copy in over_copy)) == (False, True)
    assert "`_landed_at` >=" not in over_copy


def test_a_view_notes_the_columns_of_its_base_or_that_it_reads_a_copy() -> None:
    assert base_noted(text({})) == base_note(BASE) != "copy"
    assert base_noted(text({}, copied=True)) == "copy"


@pytest.mark.parametrize(
    ("noted", "keys"),
    [('["id"]', ("id",)), ('["source_name", "größe"]', ("source_name", "größe")), ("[]", ())],
)
def test_a_key_is_remembered_with_its_columns_in_their_order(noted: str, keys: tuple[str, ...]) -> None:
    assert remembered_keys(f"-- keys: {noted}\nSELECT 1") == keys


@pytest.mark.parametrize("edited", ['"id"', '{"id": 1}', "[1]", '["id", null]', "id", "{", "1", "null"])
def test_a_key_that_somebody_edited_is_not_remembered(edited: str) -> None:
    assert remembered_keys(f"-- keys: {edited}\nSELECT 1") == ()


def test_a_text_leaves_out_the_columns_that_people_do_not_read() -> None:
    text = CurrentText(("id",), COLUMNS, without=("_day", "select")).around(TABLE)
    assert text.startswith('-- keys: ["id"]\nSELECT o.* EXCEPT (`_day`, `select`)\nFROM (\nSELECT w.* EXCEPT (')
    assert text.endswith("\n) AS o")
    assert "AS o" not in CurrentText(("id",), COLUMNS).around(TABLE)


@pytest.mark.parametrize(("left_out", "without", "items"), [((), (), ""), (("a",), ("b",), " EXCEPT (`a`, `b`)")])
def test_rows_that_are_current_already_are_shown_as_they_are(
    left_out: tuple[str, ...], without: tuple[str, ...], items: str
) -> None:
    text = AlreadyCurrentText(left_out, without)
    assert text.around(TABLE) == f"SELECT r.*{items}\nFROM {TABLE.quoted} AS r"
    assert text.around("SELECT 1 -- one") == f"SELECT r.*{items}\nFROM (\nSELECT 1 -- one\n) AS r"


def test_a_view_whose_key_a_version_disputes_notes_it() -> None:
    assert is_disputed(CurrentText(("id",), COLUMNS, disputed=True).around(TABLE))
    assert not is_disputed(CurrentText(("id",), COLUMNS).around(TABLE))


def test_a_text_over_versions_leaves_the_filter_to_the_branches_of_the_versions() -> None:
    changes = [ChangeTable(TABLE, Version("", COLUMNS))]
    plan = make_plan(TABLE, RULES, ["id"], BASE, MergeState(TIME, {"": TIME}), changes, TIME)
    text = CurrentText(("id",), COLUMNS, plan)
    assert "WHERE r.`_landed_at` >=" in text.around(TABLE)
    assert "`_landed_at` >=" not in text.around("SELECT 1")


def test_a_base_in_another_dataset_is_read_there_with_its_log() -> None:
    """Plain change tables have their bases in a dataset of their own."""
    rules, changes = replace(RULES, base_dataset="shop__onefold"), [ChangeTable(TABLE, Version("", COLUMNS))]
    plan = make_plan(TABLE, rules, ["id"], BASE, MergeState(TIME, {"": TIME}), changes, TIME)
    text = CurrentText(("id",), COLUMNS, plan).around(TABLE)
    assert "FROM `my-project.shop__onefold.customer_base` AS b" in text
    assert "FROM `my-project.shop__onefold.customer_merges` AS m" in text
    assert "`my-project.shop.customer_base`" not in text
