"""The 131 fields of an enriched event, in their order, and the 128 columns of the table `events`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from onefold.core.shred_options import Warehouse

FieldKind = Literal["text", "address", "id", "time", "int", "float", "bool", "json"]

_NAMES = """
app_id platform etl_tstamp collector_tstamp dvce_created_tstamp event event_id txn_id name_tracker v_tracker
v_collector v_etl user_id user_ipaddress user_fingerprint domain_userid domain_sessionidx network_userid geo_country
geo_region geo_city geo_zipcode geo_latitude geo_longitude geo_region_name ip_isp ip_organization ip_domain
ip_netspeed page_url page_title page_referrer page_urlscheme page_urlhost page_urlport page_urlpath page_urlquery
page_urlfragment refr_urlscheme refr_urlhost refr_urlport refr_urlpath refr_urlquery refr_urlfragment refr_medium
refr_source refr_term mkt_medium mkt_source mkt_term mkt_content mkt_campaign contexts se_category se_action se_label
se_property se_value unstruct_event tr_orderid tr_affiliation tr_total tr_tax tr_shipping tr_city tr_state tr_country
ti_orderid ti_sku ti_name ti_category ti_price ti_quantity pp_xoffset_min pp_xoffset_max pp_yoffset_min pp_yoffset_max
useragent br_name br_family br_version br_type br_renderengine br_lang br_features_pdf br_features_flash
br_features_java br_features_director br_features_quicktime br_features_realplayer br_features_windowsmedia
br_features_gears br_features_silverlight br_cookies br_colordepth br_viewwidth br_viewheight os_name os_family
os_manufacturer os_timezone dvce_type dvce_ismobile dvce_screenwidth dvce_screenheight doc_charset doc_width
doc_height tr_currency tr_total_base tr_tax_base tr_shipping_base ti_currency ti_price_base base_currency geo_timezone
mkt_clickid mkt_network etl_tags dvce_sent_tstamp refr_domain_userid refr_device_tstamp derived_contexts
domain_sessionid derived_tstamp event_vendor event_name event_format event_version event_fingerprint true_tstamp
"""
_OTHER_KINDS: Mapping[FieldKind, str] = {
    "json": "contexts unstruct_event derived_contexts",
    "id": "event_id",
    "address": "page_url page_referrer page_urlpath page_urlquery page_urlfragment refr_urlpath refr_urlquery "
    "refr_urlfragment",
    "time": "etl_tstamp collector_tstamp dvce_created_tstamp dvce_sent_tstamp refr_device_tstamp derived_tstamp true_tstamp",
    "int": "txn_id domain_sessionidx page_urlport refr_urlport ti_quantity pp_xoffset_min pp_xoffset_max pp_yoffset_min "
    "pp_yoffset_max br_viewwidth br_viewheight dvce_screenwidth dvce_screenheight doc_width doc_height",
    "float": "geo_latitude geo_longitude se_value tr_total tr_tax tr_shipping ti_price tr_total_base tr_tax_base "
    "tr_shipping_base ti_price_base",
    "bool": "br_features_pdf br_features_flash br_features_java br_features_director br_features_quicktime "
    "br_features_realplayer br_features_windowsmedia br_features_gears br_features_silverlight br_cookies dvce_ismobile",
}
_KINDS: Mapping[str, FieldKind] = {name: kind for kind, names in _OTHER_KINDS.items() for name in names.split()}
_TYPES: Mapping[FieldKind, tuple[str, str]] = {
    "text": ("VARCHAR(4096)", "STRING"), "address": ("VARCHAR(16384)", "STRING"), "id": ("CHAR(36)", "STRING"),
    "time": ("TIMESTAMP", "TIMESTAMP"), "int": ("BIGINT", "INT64"), "float": ("DOUBLE PRECISION", "FLOAT64"),
    "bool": ("BOOLEAN", "BOOL"),
}  # fmt: skip

EVENT_FIELDS: tuple[tuple[str, FieldKind], ...] = tuple((name, _KINDS.get(name, "text")) for name in _NAMES.split())
"""Name and kind of each of the 131 fields, in the order of the tab separated form."""
FORMER_FIELDS = (125, 108)
"""The fields of lines that earlier releases wrote: the first ones of those of today.

Source: snowplow/snowplow, 4-storage/redshift-storage/sql, migrate_0.6.0_to_0.7.0.sql (six columns more) and
migrate_0.4.0_to_0.5.0.sql (from tr_currency on), 2026-11.
"""
APP_ID, EVENT_ID, EVENT_TIME = "app_id", "event_id", "collector_tstamp"
ENTITY_FIELDS = ("unstruct_event", "contexts", "derived_contexts")
"""The fields with self-describing JSON, in the order in which their entities become rows."""


def event_columns(warehouse: Warehouse) -> tuple[tuple[str, str], ...]:
    """Return name and type of the columns of the table `events`: with the types of a warehouse.

    Examples:
        >>> len(event_columns("redshift")), event_columns("redshift")[3], event_columns("bigquery")[0]
        (128, ('collector_tstamp', 'TIMESTAMP'), ('app_id', 'STRING'))
    """
    place = 0 if warehouse == "redshift" else 1
    return tuple((name, _TYPES[kind][place]) for name, kind in EVENT_FIELDS if kind != "json")
