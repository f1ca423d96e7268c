"""The entries of tables, from what the metadata and the logs of a dataset tell, and by how many queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from onefold.changelog.metadata import METADATA_FIELDS, metadata_type
from onefold.check.log import CHECK_TABLE
from onefold.core.errors import AccessDenied, NotFound
from onefold.core.names import TableId
from onefold.inventory.contents import read_contents
from onefold.inventory.read import read_inventory
from onefold.inventory.summary import TableSummary, summaries
from onefold.ports.listing import ListedTable, StoredSize
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.load.run_log import LOG_TABLE
from onefold.refresh.creations import creations_label
from onefold.refresh.labels import CREATED_LABEL, LABEL, TABLE_LABEL, fingerprint_of, owner_digest
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Type
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.current_kind import CurrentKind

ORDERS = TableId("p", "shop", "orders")
T0 = datetime(2026, 1, 1, tzinfo=UTC)
NOW = T0 + timedelta(days=1)


@dataclass
class Listed:
    """Metadata as a warehouse gives them, and the calls for them."""

    datasets: Mapping[str, tuple[ListedTable, ...]]
    sizes: Mapping[str, StoredSize] = field(default_factory=dict)
    logs: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    denied: bool = False
    hidden: str = ""
    metadata: Mapping[str, Type] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    project: str = "p"

    def list_dataset(self, dataset: str) -> tuple[ListedTable, ...]:
        self.calls.append(f"list {dataset}")
        if dataset == self.hidden:
            raise AccessDenied(f"{dataset}: no right")
        if dataset not in self.datasets:
            raise NotFound(f"dataset {dataset} does not exist")
        return self.datasets[dataset]

    def list_sizes(self, dataset: str) -> Mapping[str, StoredSize]:
        self.calls.append(f"sizes {dataset}")
        if self.denied:
            raise AccessDenied(f"sizes of {dataset}: no right")
        names = {one.name for one in self.datasets[dataset]}
        return {name: size for name, size in self.sizes.items() if name in names}

    def column_types(self, dataset: str, column: str) -> Mapping[str, Type]:
        self.calls.append(f"{column} of {dataset}")
        return self.metadata

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        (log,) = [name for name in self.logs if f".{name}`" in sql]
        self.calls.append(f"log {log}")
        return self.logs[log]


def table(name: str, **labels: str) -> ListedTable:
    return ListedTable(name, False, T0, labels)


def unified(base: str, *versions: str, settings: Settings | None = None) -> ListedTable:
    """The unified view of a table as Onefold writes it."""
    id_ = TableId("p", "shop", base)
    created = creations_label([Version(one, (), T0) for one in versions], NOW)
    labels = {TABLE_LABEL: owner_digest(str(id_)), LABEL: fingerprint_of(settings or Settings(), id_)}
    reads = frozenset(f"{base}_v_{one}" for one in versions)
    return ListedTable(f"{base}_unified", True, NOW, {**labels, CREATED_LABEL: str(created)}, reads)


def found(listed: Listed, settings: Settings | None = None) -> dict[str, TableSummary]:
    chosen = settings or Settings()
    contents = read_contents(listed, "shop", chosen)
    return {one.table.table: one for one in summaries(listed, "shop", contents, chosen, now=NOW)}


def test_a_table_is_pulled_if_the_log_of_loads_has_it_and_of_events_if_its_labels_say_so() -> None:
    events = table("click_v_1", onefold_base="click", onefold_version="1")
    tables = (table("a_v_1"), table("a_v_2"), table("b_v_1"), table("c_v_1"), events, table("plain"), table(LOG_TABLE))
    listed = Listed(
        {"shop": tables},
        logs={LOG_TABLE: [{"table_name": "b", "loaded_at": NOW}]},
        metadata={"a_v_2": metadata_type(METADATA_FIELDS)},
    )
    kinds = {name: one.kind for name, one in found(listed).items()}
    assert kinds == {"a": "captured", "b": "pulled", "c": "direct", "click": "events", "plain": "plain"}
    assert found(listed)["b"].landed_at == NOW


def test_tables_that_onefold_keeps_for_itself_are_no_entries() -> None:
    own = ("a_base", "a_merges", LOG_TABLE, "onefold_tmp_x", "hash_key", "onefold_manifest")
    listed = Listed({"shop": (table("a_v_1"), *map(table, own), table("of_others_base"))}, logs={LOG_TABLE: []})
    assert set(found(listed)) == {"a", "of_others_base"}


def test_rows_and_bytes_are_those_of_all_versions_and_a_merge_is_the_last_write_of_its_log() -> None:
    tables = (table("a_v_1"), table("a_v_2"), table("a_base"), table("a_merges"))
    later = NOW + timedelta(hours=1)
    sizes = {"a_v_1": StoredSize(2, 20, T0), "a_v_2": StoredSize(3, 30, NOW), "a_merges": StoredSize(1, 1, later)}
    one = found(Listed({"shop": tables}, sizes))["a"]
    assert (one.rows, one.size, one.landed_at, one.merged_at) == (5, 50, NOW, later)


def test_sizes_that_may_not_be_read_are_not_known_and_a_warning_says_why() -> None:
    listed = Listed({"shop": (table("a_v_1"),)}, denied=True)
    assert (found(listed)["a"].rows, found(listed)["a"].size) == (None, None)
    assert read_contents(listed, "shop", Settings()).warnings == ("not known: sizes of shop: no right",)


def test_the_last_check_is_the_worst_of_the_newest_of_each_database() -> None:
    rows = [
        {"table_name": "a", "database_name": database, "outcome": outcome, "checked_at": T0 + timedelta(hours=hour)}
        for database, outcome, hour in (("x", "different", 1), ("x", "same", 2), ("y", "failed", 1))
    ]
    one = found(Listed({"shop": (table("a_v_1"), table(CHECK_TABLE))}, logs={CHECK_TABLE: rows}))["a"]
    assert one.check is not None
    assert (one.check.outcome, one.check.at) == ("failed", T0 + timedelta(hours=2))
    assert "the last check says: failed" in one.problems


@pytest.mark.parametrize(
    ("view", "state", "reason"),
    [
        (unified("a", "1", "2"), "up to date", ""),
        (unified("a", "1"), "out of date", "it lacks the version 2"),
        (unified("a", "1", "2", "3"), "out of date", "it reads the version 3, which is gone or retired"),
        (
            unified("a", "1", "2", settings=Settings(rules=TableRules(version_column="v"))),
            "out of date", "it was written with other settings, or by another release",
        ),
        (
            replace(unified("a", "1", "2"), labels={**unified("a", "1", "2").labels, CREATED_LABEL: "1"}),
            "out of date", "a version was created anew",
        ),
        (ListedTable("a_unified", False, T0), "not Onefold's", "p.shop.a_unified was not written by Onefold for this table"),
    ],
)  # fmt: skip
def test_a_view_is_up_to_date_if_its_labels_and_what_it_reads_say_so(view: ListedTable, state: str, reason: str) -> None:
    tables = (table("a_v_1"), table("a_v_2"), view)
    (shown,) = found(Listed({"shop": tables}))["a"].views
    assert (shown.kind, shown.state, shown.reason) == ("unified", state, reason)


def test_a_retired_version_is_not_missed_by_the_view() -> None:
    settings = Settings(tables={"a": TableRules(retired=frozenset({"2"}))})
    listed = Listed({"shop": (table("a_v_1"), table("a_v_2"), unified("a", "1", settings=settings))})
    one = found(listed, settings)["a"]
    assert (one.versions, one.retired, one.problems) == (("1",), ("2",), ())


def test_views_in_a_dataset_of_their_own_are_found_there() -> None:
    settings = Settings(view_dataset="{dataset}_views")
    listed = Listed({"shop": (table("a_v_1"),), "shop_views": (unified("a", "1", settings=settings),)})
    (shown,) = found(listed, settings)["a"].views
    assert (str(shown.id), shown.state) == ("p.shop_views.a_unified", "up to date")


def test_a_view_in_a_dataset_that_may_not_be_read_is_neither_missing_nor_up_to_date() -> None:
    settings = Settings(view_dataset="{dataset}_views")
    listed = Listed({"shop": (table("a_v_1"),)}, hidden="shop_views")
    (shown,) = found(listed, settings)["a"].views
    assert (shown.state, shown.reason) == ("not known", "dataset shop_views was not read")
    assert read_contents(listed, "shop", settings).warnings == ("not known: shop_views: no right",)
    (absent,) = found(Listed({"shop": (table("a_v_1"),)}), settings)["a"].views
    assert absent.state == "missing"
    (apart,) = found(listed, Settings(view_dataset="{dataset}_{table}"))["a"].views
    assert apart.state == "not known"


@pytest.mark.parametrize("count", [1, 100])
def test_the_number_of_calls_does_not_depend_on_the_number_of_tables(count: int) -> None:
    tables = [one for number in range(count) for one in (table(f"t{number}_v_1"), unified(f"t{number}", "1"))]
    logs: dict[str, list[dict[str, Any]]] = {LOG_TABLE: [], CHECK_TABLE: []}
    listed = Listed({"shop": (*tables, *map(table, logs)), "shop__views_clean": ()}, logs=logs)
    assert len(read_inventory(listed, {"shop": ["*", "t0*"]}, Settings()).tables) == count
    assert listed.calls == [
        "list shop", "datastream_metadata of shop", "list shop__views_full", "list shop__views_clean", "sizes shop",
        "log _loads", "log _checks",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a_v_1", "a_v_1 is the version 1 of the table a: write `onefold tables shop.a`"),
        ("a_unified", "a_unified is a view, and no table: `onefold tables 'shop.*'` shows all, with their views"),
        ("a_base", "a_base is a table that Onefold keeps for itself: `onefold tables 'shop.*'` shows all others"),
        ("a_v_2", "there is no table a_v_2: `onefold tables 'shop.*'` shows all"),
        ("ordrs", "there is no table ordrs (did you mean orders?): `onefold tables 'shop.*'` shows all"),
        ("x*", "no table matches x*: `onefold tables 'shop.*'` shows all"),
    ],
)
def test_a_name_that_is_no_table_is_an_error_that_says_what_has_it(name: str, reason: str) -> None:
    listed = Listed({"shop": (table("a_v_1"), unified("a", "1"), table("a_base"), table("orders"))})
    with pytest.raises(NotFound) as caught:
        read_inventory(listed, {"shop": [name]}, Settings())
    assert str(caught.value) == f"dataset p.shop: {reason}"


def plain_current(dataset: str, settings: Settings) -> ListedTable:
    """The current view of `orders`, as Onefold writes it where the settings say."""
    labels = {TABLE_LABEL: owner_digest("p.shop.orders current")}
    kind = CurrentKind(
        cast("BaseWarehouse", None), ORDERS, settings.with_plain("shop", {"orders": PlainTable("changes", dataset)})
    )
    return ListedTable("orders_current", True, NOW, {**labels, LABEL: kind.fingerprint})


def test_a_plain_change_table_has_its_current_view_in_a_dataset_of_its_own() -> None:
    view = plain_current("shop__onefold", Settings())
    listed = Listed(
        {"shop": (table("orders"),), "shop__onefold": (view,)}, metadata={"orders": metadata_type(METADATA_FIELDS)}
    )
    (entry,) = read_inventory(listed, {"shop": ["*"]}, Settings()).tables
    assert (entry.kind, [(str(one.id), one.state) for one in entry.views]) == (
        "plain",
        [("p.shop__onefold.orders_current", "up to date")],
    )


def test_the_last_check_of_a_plain_change_table_is_in_the_log_beside_its_view() -> None:
    rows = [{"table_name": "orders", "database_name": "shop", "outcome": "different", "checked_at": T0}]
    datasets = {"shop": (table("orders"),), "shop__onefold": (table(CHECK_TABLE),)}
    listed = Listed(datasets, logs={CHECK_TABLE: rows}, metadata={"orders": metadata_type(METADATA_FIELDS)})
    (entry,) = read_inventory(listed, {"shop": ["*"]}, Settings()).tables
    assert entry.check is not None
    assert entry.check.outcome == "different"


def test_a_current_view_beside_a_plain_change_table_is_found_there() -> None:
    listed = Listed(
        {"shop": (table("orders"), plain_current("shop", Settings()))}, metadata={"orders": metadata_type(METADATA_FIELDS)}
    )
    (entry,) = read_inventory(listed, {"shop": ["orders*"]}, Settings()).tables
    assert [(str(one.id), one.state) for one in entry.views] == [("p.shop.orders_current", "up to date")]


@pytest.mark.parametrize("view_dataset", ["{dataset}", "views_of_{dataset}"])
def test_the_last_merge_of_a_plain_change_table_is_that_of_its_log_in_another_dataset(view_dataset: str) -> None:
    own = (table("orders_base"), table("orders_merges"))
    listed = Listed(
        {"shop": (table("orders"),), "shop__onefold": own, "views_of_shop": ()},
        {"orders": StoredSize(5, 50, T0), "orders_merges": StoredSize(1, 1, NOW)},
        metadata={"orders": metadata_type(METADATA_FIELDS)},
    )
    (entry,) = read_inventory(listed, {"shop": ["*"]}, Settings(view_dataset=view_dataset)).tables
    assert (entry.rows, entry.landed_at, entry.merged_at) == (5, T0, NOW)
    assert listed.calls.count("sizes shop__onefold") == 1
