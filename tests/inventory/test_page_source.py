"""What the page of a dataset shows of columns that policies hide, and of tables that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from support.contract_views import contracts
from support.views import version

from onefold.changes.ids import version_change_id
from onefold.changes.page.dataset import PageTable
from onefold.changes.page.index import row_of
from onefold.core.errors import AccessDenied, NotFound
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.inventory.page_source import read_page
from onefold.ports.listing import ListedTable, StoredSize
from onefold.ports.warehouse import StoredView
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar, Type
from onefold.schema.versions import Version
from onefold.settings.environment import Settings

T0 = datetime(2026, 1, 1, tzinfo=UTC)
CUSTOMER = Version("1", (Column("id", Scalar("INT64")), Column("ssn", STRING)), T0)


@dataclass
class ShopWarehouse:
    """The dataset `shop` with tables of one version each, and no view.

    denied: a dataset that may not be read.
    broken: a table that may not be read.
    versions: those of each table.
    view: the unified view of each table.
    """

    denied: str = ""
    broken: str = ""
    versions: Sequence[Version] = (CUSTOMER,)
    view: StoredView | None = None
    project: str = "p"
    calls: int = field(default=0, init=False)

    def list_dataset(self, dataset: str) -> tuple[ListedTable, ...]:
        if dataset == self.denied:
            raise AccessDenied(f"{dataset}: no right")
        if dataset != "shop":
            raise NotFound(f"dataset {dataset} does not exist")
        return tuple(ListedTable(f"{name}_v_1", False, T0) for name in ("customer", "orders"))

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:  # noqa: ARG002
        return {}

    def list_sizes(self, dataset: str) -> Mapping[str, StoredSize]:
        return {"customer_v_1": StoredSize(7, 70, T0)} if dataset == "shop" else {}

    def column_types(self, dataset: str, column: str) -> Mapping[str, Type]:  # noqa: ARG002
        return {}

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        raise AssertionError(f"no log is there, and no row is read: {sql}")

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:  # noqa: ARG002
        if base.table == self.broken:
            raise AccessDenied(f"{base}: no right")
        return tuple(self.versions)

    def read_table(self, id_: TableId) -> None:  # noqa: ARG002
        return None

    def get_view(self, id_: TableId) -> StoredView | None:
        return self.view if id_.table.endswith("_unified") else None


def tables(warehouse: ShopWarehouse, settings: Settings | None = None) -> dict[str, PageTable]:
    page = read_page(warehouse, "shop", settings or Settings(), now=T0)
    return {one.name: one for one in page.tables}


def types(table: PageTable) -> dict[str, str]:
    return {column.name: column.type for column in table.columns}


def test_without_policies_and_without_a_clean_view_all_columns_are_shown() -> None:
    found = tables(ShopWarehouse())
    assert types(found["customer"]) == {"id": "INT64", "ssn": "STRING"}
    assert found["customer"].versions[0].rows == 7
    assert found["orders"].versions[0].rows is None


def test_a_policy_hides_columns_of_the_tables_that_it_names_and_of_no_others() -> None:
    policies = ColumnPolicies((PolicyRule("customer", "id", Action.CLEAR), PolicyRule("customer", "ssn", Action.MASK)))
    found = tables(ShopWarehouse(), Settings(policies=policies))
    assert types(found["customer"]) == {"id": "INT64", "ssn": ""}
    assert types(found["orders"]) == {"id": "INT64", "ssn": "STRING"}


def test_where_nobody_may_look_whether_there_is_a_clean_view_a_column_without_a_policy_is_hidden() -> None:
    found = tables(ShopWarehouse(denied="shop__views_clean"))
    assert types(found["customer"]) == {"id": "", "ssn": ""}


def test_a_table_that_cannot_be_read_has_an_entry_that_says_why_and_stops_no_other() -> None:
    found = tables(ShopWarehouse(broken="orders"))
    assert types(found["customer"]) == {"id": "INT64", "ssn": "STRING"}
    assert (found["orders"].columns, found["orders"].problems[-1]) == ((), "it cannot be read: p.shop.orders: no right")


def test_a_field_that_waits_is_a_cell_that_waits_and_is_hidden_once_it_is_rejected() -> None:
    versions = [version("1", "s STRUCT<x INT64>"), version("2", "s STRUCT<x INT64, d STRUCT<y DATE>>")]
    view = StoredView(TableId("p", "shop__views", "customer_unified"), is_view=True, columns=versions[0].columns)
    change = version_change_id(TableId("p", "shop", "customer"), "1", "2")
    kinds, waiting = [], []
    for by in (contracts("review"), contracts("review", verdicts={(change, "s.d"): "reject"})):
        page = read_page(ShopWarehouse(versions=versions, view=view), "shop", Settings(contracts=by), now=T0)
        (column,) = page.tables[0].columns
        kinds.append(column.kind(1))
        waiting.append(row_of(replace(page, tables=page.tables[:1])).waiting)
        assert (change in column.forms[1].rule) is (column.kind(1) == "waiting")
    assert (kinds, waiting) == (["waiting", "hidden"], [1, 0])
