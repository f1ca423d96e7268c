"""Views to export: each kind, with names that SQL reserves or dbt does not take, and texts that look like templates."""

from __future__ import annotations

from support.columns import columns

from onefold.core.names import TableId
from onefold.export.product import ExportedView, Product


def shop(name: str, dataset: str = "shop") -> TableId:
    return TableId("my-project", dataset, name)


VERSIONS = (shop("customer_v_abc"), shop("customer_v_def"))
TEMPLATE = 'The {{ number }} of {% raw %} {# nothing #}: it\'s 100 % of "all"'
UNIFIED = ExportedView(
    shop("customer_unified"), columns(order="STRING", _landed_at="TIMESTAMP"), "All rows.", {"order": TEMPLATE}, (), VERSIONS
)
CURRENT = ExportedView(
    shop("customer_current"), columns(order="STRING", on="STRUCT<a ARRAY<STRING>>"), keys=("order",),
    reads=(shop("customer_base"), *VERSIONS),
)  # fmt: skip
COMPOSITE = ExportedView(
    shop("order-line_current"), columns(id="INT64", line="INT64"), keys=("id", "line"), reads=(shop("order-line"),)
)
CLEAN = ExportedView(shop("customer", "shop__views_clean"), columns(on="STRING"), reads=(CURRENT.id,))
SHOP = Product(
    "shop",
    (CLEAN, CURRENT, UNIFIED, COMPOSITE),
    {UNIFIED.id: "_landed_at", shop("order-line"): "TIMESTAMP_MILLIS(datastream_metadata.source_timestamp)"},
)
