"""What the current view of a table is made of: whose it is, its key, its columns, and the base that it reads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fake_bigquery import FakeBigQuery
from support.merged_table import BASE, LOG, TABLE, TAIL, VIEW, MergedTable
from support.pulled_source import CLUSTER, DATABASE, DATASET
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import DAY
from onefold.core.errors import InvalidInput, KeyUnknown, SchemaConflict, ViewNameTaken
from onefold.core.names import TableId
from onefold.core.versioned_names import VersionedNames
from onefold.refresh.labels import TABLE_LABEL
from onefold.refresh.write import plan_refresh
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad
from onefold.views.current_text import is_disputed, left_out, remembered_keys
from onefold.views.newest_load import kind_of

PULLED = TableId(PROJECT, DATASET, "score")
INCREMENTAL = Source(CLUSTER, "db", databases=(DATABASE,), tables={"score": TableLoad("incremental")})


@pytest.mark.parametrize("label", [None, "theirs"])
def test_a_view_of_somebody_else_is_an_error_that_names_both(label: str | None) -> None:
    table = MergedTable()
    table.cloud.create_table(VIEW, "id INT64", kind="VIEW")
    table.cloud.change(VIEW, lambda view: view.update(labels={TABLE_LABEL: label} if label else {}))
    told = rf"^{TABLE.sibling(VIEW)} was not written by `onefold current` or a message for {TABLE}: rename it$"
    with pytest.raises(ViewNameTaken, match=told):
        table.write()


def test_the_key_of_the_view_stays_where_no_base_and_nobody_names_another() -> None:
    """The log outlives a base that somebody dropped; its key is that of a base that is gone."""
    table = MergedTable()
    table.write()
    table.settings = Settings()
    table.merge(name="STRING", key="name")
    table.cloud.drop(BASE)
    table.cloud.statements.answer("datastream_metadata", {"keys": "STRING"})
    table.know()
    assert remembered_keys(table.write()) == ("id",)
    assert LOG in table.cloud.names("TABLE")


def test_a_base_with_another_key_than_the_named_one_is_an_error() -> None:
    table = MergedTable()
    table.merge(name="STRING", key="name")
    with pytest.raises(InvalidInput, match=BASE):
        table.write()


def test_a_table_of_somebody_else_that_is_named_like_a_base_is_not_read() -> None:
    table = MergedTable()
    table.cloud.land(BASE, {"id": "INT64"})
    table.write()
    assert table.reads() == {"customer_v_abc"}


def test_each_version_is_read_from_the_day_of_the_last_merge_on_and_one_that_was_never_merged_whole() -> None:
    table = MergedTable()
    table.merge(name="STRING")
    table.land("def", name="STRING")
    lines = table.write().splitlines()
    (merged,) = (line for line in lines if "customer_v_abc`" in line)
    (new,) = (line for line in lines if "customer_v_def`" in line)
    assert "WHERE v.`_landed_at` >= TIMESTAMP '2024-04-30 00:00:00.000000+00'" in merged
    assert "WHERE" not in new


def test_a_declared_key_is_not_disputed_by_versions() -> None:
    assert not is_disputed(MergedTable().write())


def test_a_view_over_versions_of_another_naming_tells_the_naming() -> None:
    table, pattern = MergedTable(), "(?P<base>.+)_(?P<version>[0-9]+)"
    table.cloud.land("customer_1", {"id": "INT64", **TAIL})
    table.settings = replace(table.settings, names=VersionedNames(pattern))
    view = plan_refresh(kind_of(table.warehouse, TABLE, table.settings)).view
    assert view
    assert (view.versions, view.names.pattern) == (("1",), pattern)


def pulled(*versions: str) -> FakeBigQuery:
    cloud = FakeBigQuery()
    for dataset in (DATASET, f"{DATASET}__views_full"):
        cloud.datasets[dataset] = {}
    for version in versions:
        cloud.land(f"score_v_{version}", {"id": "INT64", **TAIL, DAY: "DATE"}, dataset=DATASET)
    return cloud


def test_the_full_view_of_a_pulled_table_leaves_out_the_day_of_its_partitions() -> None:
    warehouse = BigQueryWarehouse(pulled("abc", "def").client())
    rules = {"score": TableRules(keys=("id",))}
    view = plan_refresh(kind_of(warehouse, PULLED, Settings(sources={CLUSTER: INCREMENTAL}, tables=rules))).view
    assert view
    assert [column.name for column in view.columns] == ["id"]
    assert f"SELECT o.* EXCEPT (`{DAY}`)\nFROM (" in view.query


def test_without_its_source_in_the_settings_no_view_of_a_pulled_table_is_made() -> None:
    warehouse, rules = BigQueryWarehouse(pulled("abc").client()), {"score": TableRules(keys=("id",))}
    with pytest.raises(KeyUnknown, match=rf"^{PULLED} is pulled from a source that no `sources` of onefold.yaml names"):
        plan_refresh(kind_of(warehouse, PULLED, Settings(tables=rules)))


@pytest.mark.parametrize(("by_itself", "error"), [(True, KeyUnknown), (False, SchemaConflict)])
def test_a_key_of_a_type_without_equality_is_no_view_for_messages_and_an_error_for_commands(
    by_itself: bool, error: type[Exception]
) -> None:
    table = MergedTable(data="JSON")
    settings = Settings(tables={"customer": TableRules(keys=("data",))})
    with pytest.raises(error, match="data"):
        plan_refresh(kind_of(table.warehouse, TABLE, settings, by_itself=by_itself))
    table.know()
    table.write()
    with pytest.raises(SchemaConflict, match="data"):
        plan_refresh(kind_of(table.warehouse, TABLE, settings, by_itself=by_itself))


# The base


def test_positions_that_an_earlier_release_ordered_as_text_are_an_error_until_the_base_is_rebuilt() -> None:
    table = MergedTable()
    table.merge(name="STRING", comparable=False)
    table.cloud.statements.answer("AS example", {"found": "INT64", "example": "STRING"}, (3, "2A"))
    with pytest.raises(SchemaConflict, match=r"3 rows that an earlier release ordered as text"):
        table.write()
    table.cloud.statements.answer("AS example", {"found": "INT64", "example": "STRING"}, (0, None))
    table.write()
    assert BASE in table.reads()


def test_a_floor_that_an_earlier_release_ordered_as_text_is_an_error() -> None:
    table = MergedTable()
    table.merge(name="STRING", floor="1A 0 x")
    with pytest.raises(SchemaConflict, match=f"{LOG}: expected a floor that orders hexadecimal sequences"):
        table.write()


def test_a_base_whose_rows_the_history_lacks_is_an_error_where_it_has_to_be_rebuilt() -> None:
    table = MergedTable(flag="BOOL")
    table.land("def", flag="INT64")
    table.merge(flag="INT64")
    table.land("fed", flag="STRING")
    table.cloud.statements.answer("AS found", {"found": "INT64"}, (2,))
    with pytest.raises(SchemaConflict, match=f"{BASE}.*2 rows that the change tables do not hold any more"):
        table.write()


def test_a_base_that_was_read_in_another_time_zone_is_left_out_with_the_reason_and_read_again_after_a_rebuild() -> None:
    table = MergedTable(seen="DATETIME")
    table.land("def", seen="TIMESTAMP")
    table.merge(seen="TIMESTAMP", zones={"seen": "UTC"})
    assert left_out(table.write()) == ""
    tables = {"customer": TableRules(keys=("id",), time_zone="Europe/Berlin")}
    table.settings = replace(table.settings, tables=tables)
    table.cloud.statements.answer("AS found", {"found": "INT64"}, (0,))
    planned = plan_refresh(kind_of(table.warehouse, TABLE, table.settings))
    assert planned.view
    assert left_out(planned.view.query) == "seen in time zone Europe/Berlin"
    assert [change.kind for change in planned.changes] == ["base left out"]
    table.write()
    table.merge(seen="TIMESTAMP", zones={"seen": "Europe/Berlin"})
    again = plan_refresh(kind_of(table.warehouse, TABLE, table.settings))
    assert [change.kind for change in again.changes] == ["base read again"]


def test_a_copy_that_a_merge_has_made_of_this_base_is_read_and_an_older_one_is_not() -> None:
    table = MergedTable(seen="DATE")
    table.merge("abc", seen="DATE", packed=False)
    table.cloud.land("onefold_tmp_copy_customer_base", {"id": "INT64"})
    table.write()
    assert table.reads() == {"onefold_tmp_copy_customer_base", "customer_v_abc"}
    table.merge("abc", seen="DATE", packed=False)
    table.write()
    assert table.reads() == {BASE, "customer_v_abc"}
    table.cloud.land("onefold_tmp_copy_customer_base", {"id": "INT64"})
    table.merge("abc", seen="DATE")
    table.cloud.land("onefold_tmp_copy_customer_base", {"id": "INT64"})
    table.write()
    assert table.reads() == {BASE, "customer_v_abc"}, "positions are packed, and no type is new: nothing is replaced"
