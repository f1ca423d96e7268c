"""Debezium's events, written by Kafka Connect's sink for BigQuery: as envelopes, or flattened.

Sources: Debezium, "New Record State Extraction" (`__op`, `__deleted` as the texts true and false, add.fields),
https://debezium.io/documentation/reference/stable/transformations/event-flattening.html; the pages of its connectors, "Data
change events" (op c, u, d, r, t; a change of the key is a deletion and a creation); Confluent, "BigQuery Sink Connector",
upsert and delete (intermediate tables `*_tmp_*`; their names: BigQuerySinkTask.start),
https://docs.confluent.io/kafka-connectors/bigquery/current/kafka_connect_bigquery_config.html, 2026-11.
"""

from __future__ import annotations

import re

from onefold.changelog.position import natural_sql
from onefold.core.names import quote
from onefold.existing.table import ExistingTable, Recognised, Term, by_number_in_text, by_value, column, key_of
from onefold.existing.tool import Tool
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Field, Struct

_TOOL = "Debezium"
_INTERMEDIATE = re.compile(r"(?P<table>.+)_tmp_[0-9]+_[0-9a-f]{8}(?:[_-][0-9a-f]{4}){3}[_-][0-9a-f]{12}_[0-9]+")
"""A table of the sink's upserts: the table, the number of the task, a UUID and a time in milliseconds."""
_POSITIONS = ("lsn", "commit_lsn", "change_lsn", "event_serial_no", "scn", "pos", "row")
"""Fields of `source`: of PostgreSQL, SQL Server (text of fixed width), Oracle (digits as text) and MySQL."""


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if it holds Debezium's events: an envelope, or columns that the flattening adds."""
    row = _type(table, "after")
    if table.has("op", "source") and isinstance(row, Struct) and isinstance(_type(table, "source"), Struct):
        return _envelope(table, row)
    if not table.present("__op", "__deleted"):
        return None
    if _INTERMEDIATE.fullmatch(table.name):
        return Recognised(_TOOL, "intermediate", "own", "likely", "its name is that of a table of the sink's upserts")
    # The sink merges its intermediate tables into the table, which then has one row for each key.
    is_upsert = any(_is_intermediate(name, table.name) for name in table.siblings)
    added = table.beginning("__")
    return Recognised(
        _TOOL, "flattened, upsert" if is_upsert else "flattened", "current" if is_upsert else "history", "likely",
        f"it has {', '.join(table.present('__op', '__deleted'))}" + (", and an intermediate table" if is_upsert else ""),
        key_of(table), _flat_order(table), _flat_deletion(table), metadata=added,
        notes=() if table.has("__deleted") else ("without __deleted a deletion is not written, unless it is rewritten",),
    )  # fmt: skip


def _is_intermediate(name: str, table: str) -> bool:
    found = _INTERMEDIATE.fullmatch(name)
    return found is not None and found["table"] == table


def _envelope(table: ExistingTable, row: Struct) -> Recognised:
    # A truncation (t) and a message of the log (m) have no row: as deletions of no key they are shown nowhere.
    has_before = isinstance(_type(table, "before"), Struct)
    after = column("after")
    metadata = table.present("before", "after", "source", "op", "ts_ms", "ts_us", "ts_ns", "transaction")
    return Recognised(
        _TOOL, "envelope", "history", "certain", "it has op, after and source, as an event of Debezium",
        table.key, _order_of_source(table), f"{column('op')} IN ('d', 't', 'm')",
        image=f"IFNULL({after}, {column('before')})" if has_before else after,
        fields=tuple(Column(field.name, field.type) for field in row.fields), metadata=metadata,
        notes=("the columns of the source are fields of after; of a deletion, of before",
               "a TRUNCATE (op t) is not followed; Debezium does not write it by default"),
    )  # fmt: skip


def _order_of_source(table: ExistingTable) -> tuple[Term, ...]:
    source = _type(table, "source")
    fields = {field.name.lower(): field for field in source.fields} if isinstance(source, Struct) else {}
    place = column("source")
    file = [Term(natural_sql(f"{place}.`file`"))] if "file" in fields else []
    found = [_by_field(place, fields[name]) for name in _POSITIONS if name in fields]
    last = [Term(f"{place}.`ts_ms`")] if "ts_ms" in fields else []
    return (*file, *found, *last, *by_value(*table.present("ts_ms")))


def _by_field(place: str, field: Field) -> Term:
    sql = f"{place}.{quote(field.name)}"
    return Term(natural_sql(sql) if field.name.lower() == "scn" and field.type == STRING else sql)


def _flat_order(table: ExistingTable) -> tuple[Term, ...]:
    """Return the order by the fields of `source` that the flattening added, with or without `source` in their names."""
    added = [
        table.columns.get(f"__source_{name}") or table.columns.get(f"__{name}") for name in ("file", *_POSITIONS, "ts_ms")
    ]
    found = [*filter(None, added), *table.columns.only(["__ts_ms"])]
    return tuple(_by_column(one) for one in dict.fromkeys(found))


def _by_column(known: Column) -> Term:
    """Return the order by a column; names of files, and SCNs as text, are compared by their numbers."""
    is_text = known.type == STRING and known.name.lower().rpartition("_")[2] in ("file", "scn")
    return by_number_in_text(known.name) if is_text else by_value(known.name)[0]


def _flat_deletion(table: ExistingTable) -> str:
    parts = [f"LOWER(CAST({column('__deleted')} AS STRING)) = 'true'"] if table.has("__deleted") else []
    parts += [f"{column('__op')} = 'd'"] if table.has("__op") else []
    return f"IFNULL({' OR '.join(parts)}, FALSE)" if parts else ""


def _type(table: ExistingTable, name: str) -> object:
    found = table.columns.get(name)
    return found.type if found else None


TOOL = Tool(_TOOL, recognise)
