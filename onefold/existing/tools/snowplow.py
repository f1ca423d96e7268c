"""Snowplow's loaders for BigQuery: one wide table of events, in which each schema has columns of its own.

A self-describing event is in a STRUCT `unstruct_event_com_acme_page_1`, contexts are in an ARRAY of STRUCTs
`contexts_com_acme_page_1`. Release 2 names them by the model, and notes the version of each context in `_schema_version`; a
version that does not fit has a column of its own, `..._1_recovered_1_0_1_37fd804e`. Release 1 has a column for each version,
`..._1_0_0`. Both may be in one table.

Sources: snowplow/documentation, "How schema definitions translate to the warehouse" (names and types of columns), and
"BigQuery Loader 2.0.0 upgrade guide" (both releases in one table); snowplow-incubator/common-streams,
TypedTabledEntity.scala (names of recovery columns, `_schema_version`), 2026-11.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from onefold.core.names import fold_case, quote, quote_text
from onefold.existing.nested_rows import ITEM, NestedRows
from onefold.existing.table import ExistingTable, Recognised, column, key_of
from onefold.existing.tool import Tool
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Array, Scalar, Struct

_TOOL = "Snowplow"
_NAME = re.compile(
    r"(?P<kind>contexts|unstruct_event)_(?P<base>\w+?)_(?P<model>[1-9][0-9]*)(?P<full>_[0-9]+_[0-9]+)?"
    r"(?:_recovered_(?P<recovered>[0-9]+_[0-9]+_[0-9]+)_[0-9a-f]+)?",
    re.ASCII | re.IGNORECASE,
)
"""A name that ends in three numbers has a whole version: no schema's own name should end in two."""
_DESCRIBED = re.compile(
    r"(?:iglu:)?(?P<vendor>[\w.-]+)/(?P<name>[\w-]+)/(?P<format>[\w-]+)/[1-9][0-9]*(?:-[0-9]+-[0-9]+)?", re.ASCII
)
"""The description of a column that names its schema, with the model or the whole version, as our loader writes it."""
_VERSION = "_schema_version"
_TIMES = ("load_tstamp",)
"""The column by which release 2 partitions the table: a query of a schema that names it reads the days that it asks for."""
_EVENT = {"schema_vendor": "event_vendor", "schema_name": "event_name", "schema_format": "event_format",
          "schema_version": "event_version"}  # fmt: skip
"""The columns with the schema of a self-describing event."""
_NULL = "CAST(NULL AS STRING)"


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if Snowplow's loader wrote it with the columns of schemas."""
    parts = _parts(table)
    if not parts or not table.has("event_id", "collector_tstamp", "v_collector"):
        return None
    wide = tuple(part.column for of_schema in parts.values() for part in of_schema)
    return Recognised(
        _TOOL, "wide columns", "current", "certain",
        "it has event_id, collector_tstamp and columns contexts_* and unstruct_event_*",
        key_of(table, otherwise=["event_id"]),
        landed=column("load_tstamp") if table.has("load_tstamp") else "",
        metadata=table.present(*wide), parts=parts,
        notes=("each schema has a unified view, with the rows of its columns of all versions",
               "an event that was delivered twice has two rows"),
    )  # fmt: skip


def _parts(table: ExistingTable) -> dict[str, tuple[NestedRows, ...]]:
    """Return the columns of each schema, by its base name, in the order of the versions."""
    named = [(match, one) for one in table.columns if (match := _NAME.fullmatch(one.name))]
    found: dict[str, tuple[NestedRows, ...]] = {}
    for match, one in sorted(named, key=lambda pair: _order(pair[0])):
        type_ = one.type.element if isinstance(one.type, Array) else one.type
        repeated = isinstance(one.type, Array)
        if isinstance(type_, Struct) and repeated == (match["kind"].lower() == "contexts"):
            base = match["base"].lower()
            part = NestedRows(one.name, repeated, tuple(_values(table, match, one.name, type_)))
            found[base] = (*found.get(base, ()), part)
    return found


def model_of(column: str) -> tuple[str, int] | None:
    """Return the base name and the model of the schema whose data a column has by its name; None for another column.

    Examples:
        >>> model_of("contexts_com_acme_cart_2"), model_of("contexts_com_acme_form_1_0_1"), model_of("app_id")
        (('com_acme_cart', 2), ('com_acme_form', 1), None)
    """
    match = _NAME.fullmatch(column)
    return (match["base"].lower(), int(match["model"])) if match else None


def _order(match: re.Match[str]) -> tuple[str, int, int, list[int]]:
    """Return what sorts the columns of a schema: by model, those of whole versions first, and recovery columns last."""
    numbers = (match["recovered"] or match["full"] or "").strip("_")
    rank = 2 if match["recovered"] else 0 if match["full"] else 1
    return str(match["base"]).lower(), int(match["model"]), rank, [int(one) for one in numbers.split("_") if one]


def _values(table: ExistingTable, match: re.Match[str], place: str, struct: Struct) -> Iterator[tuple[Column, str]]:
    """Yield the columns of the rows of a schema, with their values: those of each table of events, and the fields."""
    is_context = match["kind"].lower() == "contexts"
    envelope = list(_envelope(table, match, struct, is_context=is_context))
    yield from envelope
    taken = {fold_case(one.name) for one, _ in envelope}
    for field in struct.fields:
        name = field.name
        if is_context and fold_case(name) == _VERSION:
            continue
        if fold_case(name) in taken:  # as the tables of a registry name such a column
            name = f"{name}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        row = ITEM if is_context else column(place)
        yield Column(name, field.type), f"{row}.{quote(field.name)}"


def _envelope(
    table: ExistingTable, match: re.Match[str], struct: Struct, *, is_context: bool
) -> Iterator[tuple[Column, str]]:
    """Yield the columns with which each table of a schema begins.

    The name of a column does not tell where the vendor ends and the name of the schema begins. Of a context the description
    of the column tells it, or both are NULL. Of a self-describing event its own columns tell the schema.
    """
    described = _DESCRIBED.fullmatch(table.described.get(match.string, ""))
    of_event = {} if is_context else {name: column(own) for name, own in _EVENT.items() if table.has(own)}
    noted = f"{ITEM}.{quote(_VERSION)}" if is_context and struct.get(_VERSION) else _NULL
    full = match["recovered"] or (f"{match['model']}{match['full']}" if match["full"] else "")
    of_context = {
        "schema_format": quote_text("jsonschema"),
        **({f"schema_{name}": quote_text(text) for name, text in described.groupdict().items()} if described else {}),
        "schema_version": quote_text(full.replace("_", "-")) if full else noted,
    }
    for schema in _EVENT:
        yield Column(schema, STRING), of_event.get(schema, of_context.get(schema, _NULL))
    name = of_event.get("schema_name", of_context.get("schema_name"))
    tree = f"""CONCAT('["events","', {name}, '"]')""" if name else _NULL
    yield Column("root_id", STRING), column("event_id")
    yield Column("root_tstamp", Scalar("TIMESTAMP")), column("collector_tstamp")
    yield Column("ref_root", STRING), quote_text("events")
    yield Column("ref_tree", STRING), tree
    yield Column("ref_parent", STRING), quote_text("events")
    yield from ((one, column(one.name)) for one in table.columns.only(_TIMES))


TOOL = Tool(_TOOL, recognise)
