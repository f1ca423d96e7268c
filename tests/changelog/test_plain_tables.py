"""A plain change table is one that others write under its own name, and never a table of Onefold's."""

from __future__ import annotations

import pytest

from onefold.changelog.metadata import CAPTURE_FIELDS, METADATA, METADATA_FIELDS, metadata_type
from onefold.changelog.plain_tables import is_current_already, may_be_plain, plain_modes
from onefold.core.versioned_names import VersionedNames
from onefold.schema.columns import Column
from onefold.schema.plain_table import PlainMode
from onefold.schema.table_rules import TableRules
from onefold.schema.types import STRING, Scalar, Struct, Type
from onefold.settings.environment import Settings

APPEND_ONLY = metadata_type(METADATA_FIELDS)
MERGED = metadata_type({"uuid": STRING, "source_timestamp": Scalar("INT64")})
WITHOUT_KEY = metadata_type({"uuid": STRING, "source_timestamp": Scalar("INT64"), "is_deleted": Scalar("BOOL")})
CAPTURED = metadata_type(CAPTURE_FIELDS)
NAMES = VersionedNames()


@pytest.mark.parametrize(
    ("metadata", "mode"),
    [
        (APPEND_ONLY, "changes"),
        (MERGED, "current"),
        (WITHOUT_KEY, "current"),
        (metadata_type({"CHANGE_TYPE": STRING}), "changes"),
    ],
)
def test_the_metadata_tell_what_the_rows_are(metadata: Struct, mode: PlainMode) -> None:
    assert plain_modes(["orders"], {"orders": metadata}, NAMES) == {"orders": mode}


@pytest.mark.parametrize("metadata", [CAPTURED, STRING, metadata_type({"note": STRING}), Struct(())])
def test_other_columns_make_no_change_table(metadata: Type) -> None:
    assert plain_modes(["orders"], {"orders": metadata}, NAMES) == {}


@pytest.mark.parametrize(
    "name",
    ["orders_v_abc", "orders_v_backup_old", "onefold_tmp_copy_orders_base", "onefold_leaf_1_orders", "a`b", "a\nb"],
)
def test_a_version_what_looks_like_one_and_a_temporary_table_are_none(name: str) -> None:
    assert plain_modes([name, "orders_v_abc"], {name: APPEND_ONLY}, NAMES) == {}


def test_a_table_that_has_versions_is_none() -> None:
    assert plain_modes(["orders", "orders_v_abc"], {"orders": APPEND_ONLY}, NAMES) == {}


def test_a_base_and_a_log_of_merges_are_none_even_where_they_are_declared() -> None:
    tables = ["orders", "orders_base", "orders_merges"]
    assert plain_modes(tables, {"orders": APPEND_ONLY}, NAMES, tables) == {"orders": "changes"}


def test_a_table_of_the_source_may_be_named_like_a_base() -> None:
    metadata = {"orders": APPEND_ONLY, "orders_base": APPEND_ONLY}
    assert plain_modes([*metadata], metadata, NAMES) == {"orders": "changes", "orders_base": "changes"}


def test_exclude_and_include_leave_tables_out() -> None:
    metadata = {"orders": APPEND_ONLY, "tmp_orders": APPEND_ONLY}
    for names in (VersionedNames(exclude=("tmp_.*",)), VersionedNames(include=("orders",))):
        assert [*plain_modes([*metadata], metadata, names)] == ["orders"]


@pytest.mark.parametrize(("metadata", "mode"), [({}, "direct"), ({"orders": CAPTURED}, "changes")])
def test_onefold_yaml_declares_tables_that_nothing_else_tells(metadata: dict[str, Type], mode: PlainMode) -> None:
    assert plain_modes(["orders", "others"], metadata, NAMES, ["orders"]) == {"orders": mode}


def test_the_metadata_of_a_view_make_no_table() -> None:
    assert plain_modes(["orders"], {"orders_current": APPEND_ONLY}, NAMES) == {}


def test_one_table_is_judged_by_its_columns_first() -> None:
    columns = [Column("id", STRING), Column(METADATA, APPEND_ONLY)]
    assert may_be_plain(columns, declared=False)
    assert not may_be_plain(columns[:1], declared=False)
    assert may_be_plain(columns[:1], declared=True)


def test_a_table_of_the_merge_mode_is_current_already() -> None:
    assert [is_current_already([Column(METADATA, one)]) for one in (MERGED, WITHOUT_KEY, APPEND_ONLY)] == [True, True, False]


def test_a_declared_table_is_no_version_whatever_its_name_is() -> None:
    tables = {"shop.report_v_2": TableRules(tool="Fivetran"), "hand_v_3": TableRules(keys=("id",))}
    names = Settings(tables=tables).names_in("shop")
    assert [names.split(name) for name in ("report_v_2", "hand_v_3")] == [None, None]
    assert names.base_name_hint("report_v_2") is None
    assert names.skipped(["hand_v_3", "report_v_2"]) == ()
    assert names.split("customer_v_2") == ("customer", "2")
    assert Settings(tables=tables).names_in("other").split("report_v_2") == ("report", "2")
    found = plain_modes(["report_v_2", "hand_v_3"], {}, names, ["report_v_2", "hand_v_3"], ["report_v_2"])
    assert found == {"report_v_2": "tool", "hand_v_3": "direct"}


def test_a_tools_table_may_be_named_like_a_base() -> None:
    tables = ["sales", "sales_base"]
    assert plain_modes(tables, {}, NAMES, tables, tables) == {"sales": "tool", "sales_base": "tool"}
