"""The plain change tables of a dataset, and where the base and the current view of each are."""

from __future__ import annotations

import pytest
from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import METADATA, METADATA_FIELDS, metadata_type
from onefold.core.errors import InvalidInput, NoOwnDataset, NotFound
from onefold.core.names import TableId
from onefold.core.versioned_names import VersionedNames
from onefold.merge.base_table import base_of
from onefold.merge.plain import check_own_dataset
from onefold.refresh.labels import TABLE_LABEL, owner_digest
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings, load_settings
from onefold.views.plain import found_view, knowing_plain, with_plain_table, with_plain_tables

CHANGES = {"id": "INT64", METADATA: str(metadata_type(METADATA_FIELDS))}
MERGED = {"id": "INT64", METADATA: "STRUCT<uuid STRING, source_timestamp INT64>"}
ORDERS = TableId(PROJECT, "shop", "orders")
OWN = "shop__onefold"


@pytest.fixture
def cloud() -> FakeBigQuery:
    cloud = FakeBigQuery()
    cloud.land("orders", CHANGES)
    cloud.land("stock", MERGED)
    cloud.land("notes", {"id": "INT64"})
    return cloud


def found(cloud: FakeBigQuery, settings: Settings = Settings()) -> dict[str, PlainTable]:  # noqa: B008 frozen
    """What a list of the dataset tells; for each table the same as what is known of it alone."""
    warehouse = BigQueryWarehouse(cloud.client())
    known = with_plain_tables(warehouse, "shop", settings)
    for name in cloud.names("TABLE"):
        table = TableId(PROJECT, "shop", name)
        assert with_plain_table(warehouse, table, settings).plain_table(table) == known.plain_table(table)
    return {name.removeprefix("shop."): table for name, table in known.plain.items()}


def test_bases_and_views_lie_in_a_dataset_of_their_own(cloud: FakeBigQuery) -> None:
    assert found(cloud) == {"orders": PlainTable("changes", OWN), "stock": PlainTable("current", OWN)}


def test_a_setting_names_the_dataset(cloud: FakeBigQuery) -> None:
    for template, dataset in {"bases_of_{dataset}": "bases_of_shop", "{dataset}": "shop"}.items():
        settings = load_settings({"ONEFOLD_PLAIN_DATASET": template})
        assert {table.dataset for table in found(cloud, settings).values()} == {dataset}


def test_a_table_that_onefold_yaml_declares_is_one_in_its_dataset_only(cloud: FakeBigQuery) -> None:
    declared = TableRules(keys=("id",))
    for name in ("notes", "shop.notes"):
        assert found(cloud, Settings(tables={name: declared}))["notes"] == PlainTable("direct", OWN)
    for tables in ({"crm.notes": declared}, {"notes": TableRules(current=False)}):
        assert "notes" not in found(cloud, Settings(tables=tables))


def test_a_base_that_lies_beside_its_table_stays_there(cloud: FakeBigQuery) -> None:
    cloud.land("orders_base", {"id": "INT64", "_position": "STRING", "_deleted": "BOOL"})
    assert found(cloud)["orders"] == PlainTable("changes", "shop")


def test_a_table_of_others_that_is_named_like_a_base_changes_nothing(cloud: FakeBigQuery) -> None:
    cloud.land("orders_base", {"id": "INT64"})
    assert found(cloud)["orders"] == PlainTable("changes", OWN)


@pytest.mark.parametrize(("owner", "dataset"), [(f"{ORDERS} current", "shop"), (f"{ORDERS}", OWN)])
def test_a_current_view_that_lies_beside_its_table_stays_there(cloud: FakeBigQuery, owner: str, dataset: str) -> None:
    cloud.create_table("orders_current", "id INT64", kind="VIEW")
    cloud.change("orders_current", lambda view: view.update(labels={TABLE_LABEL: owner_digest(owner)}))
    assert found(cloud)["orders"] == PlainTable("changes", dataset)


def test_the_base_and_the_current_view_follow_the_place(cloud: FakeBigQuery) -> None:
    settings = with_plain_table(BigQueryWarehouse(cloud.client()), ORDERS, Settings())
    rules = settings.rules_for(ORDERS)
    assert str(settings.current_view_of(ORDERS)) == f"{PROJECT}.{OWN}.orders_current"
    assert str(rules.base_place(ORDERS)) == f"{PROJECT}.{OWN}.orders"
    columns = BigQueryWarehouse(cloud.client()).read_columns(ORDERS)
    assert columns
    base = base_of(ORDERS, columns, ["id"], rules.base_dataset)
    assert (str(base.id), str(base.log)) == (f"{PROJECT}.{OWN}.orders_base", f"{PROJECT}.{OWN}.orders_merges")


def test_a_dataset_of_views_holds_the_current_view_as_it_does_for_versioned_tables(cloud: FakeBigQuery) -> None:
    settings = with_plain_table(BigQueryWarehouse(cloud.client()), ORDERS, Settings(view_dataset="{dataset}_views"))
    assert settings.current_view_of(ORDERS).dataset == "shop_views"
    assert settings.rules_for(ORDERS).base_dataset == OWN


def test_a_dataset_that_is_missing_is_an_error_with_the_command_that_creates_it(cloud: FakeBigQuery) -> None:
    warehouse = BigQueryWarehouse(cloud.client())
    settings = with_plain_table(warehouse, ORDERS, Settings())
    with pytest.raises(NoOwnDataset, match=f"bq --location=LOCATION mk --dataset {PROJECT}:{OWN}"):
        check_own_dataset(warehouse, ORDERS, settings)
    cloud.datasets[OWN] = {}
    check_own_dataset(warehouse, ORDERS, settings)


def test_a_versioned_table_needs_no_dataset_of_its_own(cloud: FakeBigQuery) -> None:
    check_own_dataset(BigQueryWarehouse(cloud.client()), ORDERS, Settings())


def test_an_empty_dataset_costs_no_query_and_a_missing_one_is_an_error(cloud: FakeBigQuery) -> None:
    cloud.datasets["empty"] = {}
    warehouse = BigQueryWarehouse(cloud.client())
    assert not with_plain_tables(warehouse, "empty", Settings()).plain
    assert not cloud.queries
    with pytest.raises(NotFound):
        with_plain_tables(warehouse, "nowhere", Settings())


def test_a_table_without_change_metadata_costs_one_call(cloud: FakeBigQuery) -> None:
    with cloud.counted() as requests:
        with_plain_table(BigQueryWarehouse(cloud.client()), ORDERS.sibling("notes"), Settings())
    assert [request.kind for request in requests] == ["get"]


@pytest.mark.parametrize(
    ("settings", "dataset"), [(Settings(), OWN), (Settings(view_dataset="views_of_{dataset}"), "views_of_shop")]
)
def test_a_view_that_is_named_beside_its_table_is_found_where_it_is(
    cloud: FakeBigQuery, settings: Settings, dataset: str
) -> None:
    named, warehouse = ORDERS.sibling("orders_current"), BigQueryWarehouse(cloud.client())
    cloud.datasets[dataset] = {}
    assert found_view(warehouse, named, settings) == named
    cloud.create_table("orders_current", "id INT64", kind="VIEW", dataset=dataset)
    assert found_view(warehouse, named, settings) == TableId(PROJECT, dataset, "orders_current")
    cloud.create_table("orders_current", "id INT64", kind="VIEW")
    assert found_view(warehouse, named, settings) == named
    assert found_view(warehouse, ORDERS, settings) == ORDERS


# What a command knows of the table that it names


def knows(cloud: FakeBigQuery, table: str | None, settings: Settings = Settings(), *keys: str) -> Settings:  # noqa: B008 frozen
    return knowing_plain(BigQueryWarehouse(cloud.client()), "shop", table, settings, keys)


def test_a_command_knows_the_table_that_it_names_or_all_of_a_dataset(cloud: FakeBigQuery) -> None:
    orders, stock = PlainTable("changes", OWN), PlainTable("current", OWN)
    assert knows(cloud, "orders").plain == {"shop.orders": orders}
    assert knows(cloud, None).plain == {"shop.orders": orders, "shop.stock": stock}
    assert knows(cloud, "notes").plain == knows(cloud, "nobody").plain == {}


def test_a_key_that_a_command_names_makes_a_table_plain_as_one_of_onefold_yaml_does(cloud: FakeBigQuery) -> None:
    settings = Settings(tables={"shop.notes": TableRules(order_by=("id",))})
    known = knows(cloud, "notes", settings, "id")
    assert known.plain == {"shop.notes": PlainTable("direct", OWN)}
    assert known.tables == settings.tables, "the settings go on without the key: the command has it"


@pytest.mark.parametrize(
    ("exclude", "reason"),
    [((), "there are versions of it, or it is named as one or a base"), (("note.*",), "`exclude` has note.*")],
)
def test_a_key_for_a_table_that_gets_no_view_is_refused_with_the_reason(
    cloud: FakeBigQuery, exclude: tuple[str, ...], reason: str
) -> None:
    """Its view and its base would be in the dataset of somebody else."""
    cloud.land("notes_v_abc", {"id": "INT64"})
    settings = Settings(dataset_names={"shop": VersionedNames(exclude=exclude)})
    with pytest.raises(InvalidInput) as raised:
        knows(cloud, "notes", settings, "id")
    assert str(raised.value) == f"{ORDERS.sibling('notes')} gets no base and no current view by --keys: {reason}"
    assert knows(cloud, "notes", settings).plain == {}
    assert knows(cloud, "nobody", settings, "id").plain == {}, "a base name without a table of its own has versions"


def test_a_base_of_the_dataset_is_looked_for_only_where_the_list_has_its_name(cloud: FakeBigQuery) -> None:
    with cloud.counted() as made:
        with_plain_tables(BigQueryWarehouse(cloud.client()), "shop", Settings())
    assert [one for one in made if one.kind == "get"] == []
