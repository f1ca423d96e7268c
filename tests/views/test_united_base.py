"""The base of a united table: the current view where there are too many tables, and tenants that are gone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.fake_bigquery import FakeBigQuery
from support.fake_tenants import KEYED, ORDERS, UNITE, brought_up, configured, tenants, text_of
from support.merged_table import logged
from support.rest_fields import rest_field

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import LimitExceeded
from onefold.refresh import limits
from onefold.schema.types import STRING
from onefold.views.current_text import remembered_keys
from onefold.views.policy_check import check_policies

GOLDEN = Path(__file__).parents[1] / "golden" / "united" / "over_base.sql"
STORED = {"dataset": "STRING", "id": "STRING", "total": "NUMERIC", "_packed_position": "BYTES", "_deleted": "BOOL"}
EVERYTHING = "policies: {'*': {'*': clear}, tenant_z.orders: {total: mask}}\n"


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBigQuery:
    """Three tenants, whose rows were merged into a base with those of a fourth one, which is gone."""
    monkeypatch.chdir(tmp_path)
    cloud = tenants()
    cloud.land("orders_base", STORED, dataset="united")
    logged(cloud, ORDERS, ["dataset", "id"], ["tenant_a", "tenant_b", "tenant_c", "tenant_z"])
    return cloud


def crowded(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch, text: str = KEYED) -> LimitExceeded | str:
    """Bring the views up to date where a query reads three tables at most; return the current view, or its error."""
    monkeypatch.setattr(limits, "MAX_TABLES", 3)
    cloud.schema_of = lambda _: [rest_field(name, STRING) for name in ("dataset", "id", "total")]
    error = brought_up(cloud, configured(text))["current"].error
    assert error is None or isinstance(error, LimitExceeded)
    return error or text_of(cloud, "orders_current")


def test_where_no_query_can_read_all_tables_the_view_reads_the_base_alone(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{crowded(cloud, monkeypatch)}\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_such_a_view_reads_no_version(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    crowded(cloud, monkeypatch)
    plan = brought_up(cloud, configured())["current"].plan
    assert plan
    assert plan.view
    assert (plan.action, plan.view.versions, plan.view.casts) == ("none", (), ())


def test_the_key_is_that_of_the_base_where_onefold_yaml_names_none(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = crowded(cloud, monkeypatch, UNITE)
    assert isinstance(text, str)
    assert remembered_keys(text) == ("dataset", "id")


def test_a_table_of_the_name_of_a_base_is_none(cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.land("orders_base", {"id": "STRING"}, dataset="united")
    assert "merge them in groups" in str(crowded(cloud, monkeypatch))


def test_what_a_tenant_that_is_gone_has_hidden_stays_hidden_while_the_base_has_its_rows(cloud: FakeBigQuery) -> None:
    warehouse, settings = BigQueryWarehouse(cloud.client()), configured(f"{KEYED}{EVERYTHING}")

    def actions() -> dict[str, str]:
        return {one.path: str(one.action) for one in check_policies(warehouse, ORDERS, settings).treatments}

    assert (actions()["total"], actions()["id"]) == ("mask", "clear")
    logged(cloud, ORDERS, ["dataset", "id"], ["tenant_a", "tenant_b", "tenant_c"])
    assert actions()["total"] == "clear"
    logged(cloud, ORDERS, ["dataset", "id"], ["tenant_z"])
    assert actions()["total"] == "mask"
    cloud.drop("orders_base", "united")
    assert actions()["total"] == "clear", "without a base there is no row of it"


def test_a_tenant_that_is_gone_counts_as_having_each_column_but_that_of_the_dataset(cloud: FakeBigQuery) -> None:
    """Nobody knows which columns its table had, so a column that only its policies leave open waits."""
    warehouse = BigQueryWarehouse(cloud.client())
    clear = "'*': clear"
    text = "".join(f"  tenant_{name}.orders: {{{clear}}}\n" for name in "abc")
    settings = configured(f"{KEYED}policies:\n  united.orders: {{dataset: clear}}\n{text}")
    assert check_policies(warehouse, ORDERS, settings).waiting == ("id", "total", "address.zip", "address.city", "mail")
