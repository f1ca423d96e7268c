"""A table of events as Snowplow's loaders write it to BigQuery, with columns of both of its releases."""

from __future__ import annotations

EVENT = {
    "app_id": "STRING", "collector_tstamp": "TIMESTAMP", "event_id": "STRING", "v_collector": "STRING",
    "event_vendor": "STRING", "event_name": "STRING", "event_format": "STRING", "event_version": "STRING",
    "load_tstamp": "TIMESTAMP",
}  # fmt: skip
WIDE = {
    "contexts_com_acme_cart_1_0_1": "ARRAY<STRUCT<id INT64, lines ARRAY<STRUCT<sku STRING, price INT64>>, note STRING>>",
    "contexts_com_acme_cart_1_0_0": "ARRAY<STRUCT<id INT64, lines ARRAY<STRUCT<sku STRING>>>>",
    "contexts_com_acme_cart_1": (
        "ARRAY<STRUCT<_schema_version STRING, id NUMERIC, lines ARRAY<STRUCT<price NUMERIC, sku STRING>>, root_id STRING>>"
    ),
    "contexts_com_acme_cart_1_recovered_1_1_0_37fd804e": "ARRAY<STRUCT<_schema_version STRING, id STRING>>",
    "unstruct_event_com_acme_ad_click_1_0_0": "STRUCT<clicks INT64>",
    "unstruct_event_com_acme_ad_click_2": "STRUCT<clicks STRING, place STRUCT<x INT64>>",
}
"""The columns of two schemas, in the order in which a loader may have added them."""
EVENTS = {**EVENT, **WIDE}
