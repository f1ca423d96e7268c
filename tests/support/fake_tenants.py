"""A table of three tenants in the fake BigQuery, which is united of those in their datasets."""

from __future__ import annotations

from pathlib import Path

from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import METADATA, METADATA_FIELDS, metadata_type
from onefold.core.names import TableId
from onefold.refresh.kind import ViewKind
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings, load_settings
from onefold.views.table_views import TableViews, ViewResult

ORDERS = TableId(PROJECT, "united", "orders")
CHANGES = str(metadata_type(METADATA_FIELDS))
TENANTS = {
    "tenant_a": {"id": "INT64", "total": "INT64", "address": "STRUCT<zip INT64>", METADATA: CHANGES},
    "tenant_b": {"id": "INT64", "address": "STRUCT<city STRING, zip STRING>", "mail": "STRING", METADATA: CHANGES},
    "tenant_c": {"id": "STRING", "total": "NUMERIC", METADATA: CHANGES},
}
UNITE = "unite: {datasets: 'tenant_*', table: orders}\n"
KEYED = f"{UNITE}tables: {{united.orders: {{keys: [id]}}}}\n"


def tenants() -> FakeBigQuery:
    """A project with three tenants, and datasets that are not read."""
    cloud = FakeBigQuery()
    cloud.datasets = {"united": {}, "united__views_clean": {}, "shop": {}, "tenant_a__onefold": {}}
    for tenant, columns in TENANTS.items():
        cloud.land("orders", columns, dataset=tenant)
    for dataset in ("shop", "tenant_a__onefold"):
        cloud.land("orders", {"id": "INT64"}, dataset=dataset)
    return cloud


def configured(text: str = KEYED, **environ: str) -> Settings:
    """The settings of a onefold.yaml in the working folder."""
    Path("onefold.yaml").write_text(text)
    return load_settings(environ)


def brought_up(cloud: FakeBigQuery, settings: Settings) -> dict[str, ViewResult]:
    """What becomes of each view."""

    def work(kind: ViewKind, version: str | None) -> ViewPlan:
        return refresh(kind, version=version)

    views = TableViews(BigQueryWarehouse(cloud.client()), settings, work)
    return {result.kind: result for result in views.bring_up_to_date(ORDERS)}


def text_of(cloud: FakeBigQuery, view: str, dataset: str = "united") -> str:
    """The text of a view, which has to exist."""
    return str(cloud.resource(view, dataset)["view"]["query"])
