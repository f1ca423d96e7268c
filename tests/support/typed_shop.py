"""Workloads of every type in the embedded BigQuery: what it holds, how rows land there, and how they are compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.cloud import bigquery
from support.merge_shop import Shop
from support.oracle import text_of

from onefold.adapters.bigquery.schema import rest_field
from onefold.changelog.digest import text_sql
from onefold.changelog.generator import Workload, type_of
from onefold.changelog.generator_values import TYPES
from onefold.changelog.metadata import LANDED_AT, METADATA
from onefold.core.names import quote
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

Row = dict[str, Any]


NOT_HELD: Mapping[str, str] = {
    "v_geography": "the embedded BigQuery writes WKT with other blanks than BigQuery: POINT (0 0)",
    "a_geography": "the embedded BigQuery fails on a row with an ARRAY of GEOGRAPHY",
    **dict.fromkeys(
        ("v_range_timestamp", "a_range_date", "a_range_datetime", "a_range_timestamp", "a_nested"),
        "the embedded BigQuery cannot write this column of a base as text",
    ),
}
"""Columns that the emulator cannot carry, and why: a test lands each, and fails once the emulator can."""


PARTS = range(9)
"""The emulator takes minutes to translate a MERGE of many nested columns, so a test takes a part of them."""
_RANGES = ("v_range_date", "v_range_datetime")
"""In the last part, alone: the emulator does not find a RANGE in a query that reads an ARRAY as well."""
_STRUCTS = ("s_nested", "s_each")
"""In no part: the emulator does not find a STRUCT in a query that reads an ARRAY either, and a FLOAT64 within its JSON
has the shortest digits instead of those of BigQuery. Tests with Google's evaluator have them."""
_ALONE = ("a_interval",)
"""In no part: a test merges each by itself."""
_OTHERS = (name for name in TYPES if name not in NOT_HELD and name not in (*_RANGES, *_STRUCTS, *_ALONE))
_PART = {name: number % PARTS[-1] for number, name in enumerate(_OTHERS)} | dict.fromkeys(_RANGES, PARTS[-1])


def held(row: Mapping[str, Any], part: int) -> Row:
    """The row, or the change, with a part of the columns that the emulator holds."""
    return {name: value for name, value in row.items() if name not in TYPES or _PART.get(name) == part}


def held_types(workload: Workload, part: int) -> dict[str, str]:
    return held(workload.types, part)


def create_version(shop: Shop, version: str, row: Mapping[str, Any], part: int) -> None:
    """An empty versioned table of a part of the row's columns."""
    create_any(shop, version, [name for name in held(row, part) if name != METADATA])


def create_any(shop: Shop, version: str, names: Iterable[str]) -> None:
    """An empty versioned table, made through the API: in DDL the emulator takes NUMERIC for another type."""
    types = {name: type_of(name) for name in (*names, METADATA)} | {LANDED_AT: "TIMESTAMP"}
    fields = [rest_field(Column(name, parse_type(type_))) for name, type_ in types.items()]
    table = f"{DEFAULT_PROJECT}.{shop.dataset.name}.{shop.name}_v_{version}"
    shop.warehouse.client.create_table(bigquery.Table(table, fields))


def land_workload(shop: Shop, workload: Workload, part: int) -> None:
    """Every version at once."""
    for version, rows in workload.changes.items():
        create_version(shop, version, rows[0], part)
        shop.land(version, *(held(row, part) for row in rows))


def texts(rows: Iterable[Mapping[str, Any]], types: Mapping[str, str]) -> list[str]:
    """Rows of a workload, to be compared with those that an engine shows: the oracle's text of each value."""
    parsed = {name: parse_type(type_) for name, type_ in types.items()}
    return sorted(_text({name: text_of(row.get(name), type_) for name, type_ in parsed.items()}) for row in rows)


def _text(row: Mapping[str, str | None]) -> str:
    return json.dumps(row, ensure_ascii=False)


def shown(shop: Shop, source: str, types: Mapping[str, str]) -> list[str]:
    """The rows of a table or of a query in parentheses, as texts: a client cannot tell JSON null from NULL."""
    items = (f"{text_sql(f't.{quote(name)}', parse_type(type_))} AS {quote(name)}" for name, type_ in types.items())
    return sorted(map(_text, shop.warehouse.fetch(f"SELECT {', '.join(items)} FROM {source} AS t")))


def people_see(shop: Shop, types: Mapping[str, str]) -> list[str]:
    """The rows of the base that are not deleted."""
    return shown(shop, f"(SELECT * FROM {base_name(shop)} WHERE NOT _deleted)", types)


def base_name(shop: Shop) -> str:
    return shop.dataset.quoted(f"{shop.name}_base")


def truth(workload: Workload, part: int) -> list[str]:
    return texts(workload.truth, held_types(workload, part))
