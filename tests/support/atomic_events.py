"""The table `atomic.events` in Redshift as the releases of its loader made it: names and types, in their order."""

from __future__ import annotations

from onefold.events.shred.event_fields import EVENT_FIELDS, FieldKind

Columns = list[tuple[str, str]]
REQUIRED = ("collector_tstamp", "event_id", "v_collector", "v_etl")
"""The columns that are NOT NULL."""
_FORMER = {"dvce_created_tstamp": "dvce_tstamp", "refr_device_tstamp": "refr_dvce_tstamp"}
_KINDS: dict[FieldKind, str] = {
    "text": "VARCHAR(255)", "address": "VARCHAR(3000)", "id": "CHAR(36)", "time": "TIMESTAMP", "int": "INT",
    "float": "DOUBLE PRECISION", "bool": "BOOLEAN", "json": "VARCHAR(15000)",
}  # fmt: skip
_TYPES = {
    "CHAR(2)": "geo_country geo_region", "CHAR(3)": "tr_currency ti_currency base_currency",
    "VARCHAR(25)": "refr_medium", "VARCHAR(50)": "br_name br_family os_name refr_source", "VARCHAR(75)": "geo_city",
    "VARCHAR(100)": "v_tracker v_collector v_etl", "VARCHAR(1000)": "useragent se_category event_vendor event_name",
    "VARCHAR(4096)": "page_url page_referrer se_label",
    "DECIMAL(18,2)": "tr_total tr_tax tr_shipping ti_price tr_total_base tr_tax_base tr_shipping_base ti_price_base",
}  # fmt: skip
_TYPE_OF = {name: type_ for type_, names in _TYPES.items() for name in names.split()}


def _columns(fields: int, *, with_json: bool, former: tuple[str, ...] = ("refr_device_tstamp",)) -> Columns:
    found = [(name, _TYPE_OF.get(name, _KINDS[kind])) for name, kind in EVENT_FIELDS[:fields] if with_json or kind != "json"]
    return [(_FORMER[name] if name in former else name, type_) for name, type_ in found]


_OLD = _columns(125, with_json=True, former=tuple(_FORMER))
GENERATIONS: dict[str, Columns] = {
    "0.4.0": _columns(108, with_json=True, former=tuple(_FORMER)),
    "0.6.0": _OLD,
    # Brought to 0.7.0 in place, with the JSON of former times.
    "0.6.0, altered": [
        *(("dvce_created_tstamp" if name == "dvce_tstamp" else name, type_) for name, type_ in _OLD),
        *_columns(131, with_json=False)[-6:],
    ],
    "0.8.0": _columns(131, with_json=False),
    "0.10.0, with load_tstamp": [*_columns(131, with_json=False), ("load_tstamp", "TIMESTAMP DEFAULT now()")],
}  # fmt: skip
