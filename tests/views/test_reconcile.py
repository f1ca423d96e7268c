"""What a merge reads from the warehouse: each value once, and again only where it may have changed in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, Shop, another_shop

from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.merge.merge_log import TIME_QUERY
from onefold.ports.warehouse import StoredTable, StoredView, WriteResult
from onefold.schema.versions import Version
from onefold.views.reconcile import MergeResult, reconcile
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

TABLE_KINDS = ("_base", "_merges", "_current", "_unified")


class RecordingWarehouse(EmulatedWarehouse):
    """An emulated warehouse that notes its reads in order, as `method of table`."""

    def __init__(self, shop: Shop) -> None:
        super().__init__(shop.warehouse._client)
        self.reads: list[str] = []
        self._name = shop.name

    def read_table(self, id_: TableId) -> StoredTable | None:
        self._note("table", id_.table)
        return super().read_table(id_)

    def get_view(self, id_: TableId) -> StoredView | None:
        self._note("view", id_.table)
        return super().get_view(id_)

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        self._note("versions", base.table)
        return super().read_versions(base, names)

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        self.reads.append("declared keys")
        return super().declared_keys(tables)

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        marks = {"finished_as, m.keys": "log's rows", "AS changes": "counts", "AS `then`": "landed", TIME_QUERY: "time"}
        marks["AS nulls_0"] = "ranges"
        self.reads.append(next((kind for mark, kind in marks.items() if mark in sql), "query"))
        return super().fetch(sql)

    def execute(self, sql: str) -> WriteResult:
        if sql.startswith("MERGE"):
            self.reads.append("MERGE")
        return super().execute(sql)

    def _note(self, kind: str, table: str) -> None:
        self.reads.append(f"{kind} {table.replace(self._name, '') or 'itself'}")


def reads_of_merge(shop: Shop, **options: Any) -> tuple[list[str], MergeResult]:
    warehouse = RecordingWarehouse(shop)
    result = reconcile(warehouse, shop.table, shop.settings, shop.keys, **options)
    return warehouse.reads, result


PLAN = [
    "table _base",
    "table _merges",  # its columns: an earlier release may have made it without some
    "log's rows",  # and the warehouse's time, before the change tables are listed
    "table itself",  # a change table without versions
    "versions itself",
    "landed",  # did rows come to those that the last merge has read?
]
FIRST_MERGE = ["MERGE", "counts"]
MERGE = ["ranges", *FIRST_MERGE]  # between which values are the keys that landed?
ASIDE = ["view _current"]  # is there one that reads a base whose types are about to change, or that is gone?
FOLLOW = [
    "view _current",  # is there one that does not read a new column yet?
    "table onefold_tmp_copy__base",  # did a merge that was killed leave a copy?
]
CURRENT_VIEW = [
    "view _current",  # is there one to keep?
    "view _current",  # its etag, before everything from which the view is computed
    "table itself",
    "versions itself",  # a version that came since has to be in the view
    "table _base",  # another merge may have replaced the base meanwhile
    "table _merges",
    "log's rows",  # this merge was logged: the view reads what landed since
    "landed",
    "view itself",  # is there a clean view, which has to hide first what the current view is about to show?
]
AFTER_WRITE = ["view itself"]  # and which has to be written again after it?


def test_a_merge_reads_each_value_once_and_the_view_only_what_was_written_since(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("a", CUSTOMER)
    shop.merge()
    shop.current()
    shop.land("a", change("INSERT", "1", id=1, name="a"))
    reads, result = reads_of_merge(shop)
    assert result.view is not None
    assert result.view.base is not None
    # The text names the day of the last merge: it changes only where this test runs past midnight.
    after = AFTER_WRITE if result.view.action == "update" else []
    assert reads == [*PLAN, *ASIDE, *FOLLOW, *MERGE, *CURRENT_VIEW, *after]
    assert shop.current() == shop.expected("id", "name")


def test_the_first_merge_lists_change_tables_once_and_reads_what_it_wrote(
    dataset: EmulatedDataset,
) -> None:
    shop = another_shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="a"))
    reads, result = reads_of_merge(shop)
    assert reads == [
        "table _base",
        "view _base",  # no view may have the name of the base
        "table _merges",  # there is none, so the time comes from a query of its own
        "time",
        "table itself",
        "versions itself",
        "landed",
        # The log was made. Another merge that found none either may have made the base.
        "table _base",
        "view _base",
        "table _merges",
        "log's rows",
        *ASIDE,
        # The base was made, and logged: the time of its creation, and the present time, by which a purge is later than it.
        "table _base",
        "table _merges",
        "log's rows",
        *FOLLOW,
        *FIRST_MERGE,
        "view _current",
    ]
    assert result.brought_up == "created"
    assert shop.people_see() == shop.expected("id", "name")


def test_a_base_that_gets_a_column_is_read_again_and_the_change_tables_are_not(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("a", CUSTOMER)
    shop.merge()
    shop.create("b", {**CUSTOMER, "age": "INT64"})
    reads, result = reads_of_merge(shop)
    assert reads == [*PLAN, *ASIDE, "table _base", "table _merges", "log's rows", *FOLLOW, *MERGE, "view _current"]
    assert result.brought_up == "extended"


def test_a_copy_of_the_source_is_merged_by_the_plan_of_the_merge_that_follows(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("a", CUSTOMER)
    shop.merge()
    dataset.land("copy", {"id": "INT64", "name": "STRING"}, "7, 'copied'")
    reads, result = reads_of_merge(shop, snapshot=shop.table.sibling("copy"))
    copied = ["table copy", "query", "MERGE", "counts", "table _base"]  # columns, repeated keys; is it still the same base?
    assert reads == [*PLAN, *ASIDE, *FOLLOW, *copied, *MERGE, "view _current"]
    assert result.snapshot is not None
    assert shop.people_see() == [{"id": 7, "name": "copied"}]


def test_a_purge_right_after_the_base_was_made_leaves_a_floor_that_counts(dataset: EmulatedDataset) -> None:
    """The floor of a purge counts only if the purge is later than the creation of the base in the log."""
    shop = another_shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", timestamp=1, id=1, name="a"), change("DELETE", "2", timestamp=2, id=1, name="a"))
    assert reconcile(shop.warehouse, shop.table, shop.settings, shop.keys, purge_after_days=1).purged == 1
    shop.land("a", change("UPDATE-INSERT", "1", timestamp=1, id=1, name="late"))
    assert shop.merge().below_floor == 1
    assert shop.base() == []


def test_a_purge_right_after_a_rebuild_deletes_what_the_rebuild_brought_back(dataset: EmulatedDataset) -> None:
    """A purge stops where a rebuild began at its own start or later: so it starts after the rebuild of the same merge."""
    shop = another_shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("DELETE", "2", timestamp=2, id=1, name="a"))
    shop.merge()
    assert reconcile(shop.warehouse, shop.table, shop.settings, shop.keys, rebuild=True, purge_after_days=1).purged == 1
    assert shop.base() == []
