"""Debezium's events, written by Kafka Connect's sink for BigQuery: as envelopes, or flattened.

Sources: Debezium, "New Record State Extraction" (`__op`, `__deleted` as the texts true and false, add.fields),
https://debezium.io/documentation/reference/stable/transformations/event-flattening.html; the pages of its connectors, "Data
change events" (op c, u, d, r, t; a change of the key is a deletion and a creation); debezium/debezium,
OracleSourceInfoStructMaker and CommitScn (scn, commit_scn, rs_id, ssn; lcr_position of XStream); Confluent,
"BigQuery Sink Connector", upsert and delete (intermediate tables `*_tmp_*`; their names: BigQuerySinkTask.start),
https://docs.confluent.io/kafka-connectors/bigquery/current/kafka_connect_bigquery_config.html, 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from onefold.changelog.position import natural_sql, sequence_sql
from onefold.core.names import quote
from onefold.existing.table import ExistingTable, LogFile, Recognised, Term, by_value, column, key_of
from onefold.existing.tool import Tool
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Field, Struct, Type

_TOOL = "Debezium"
_INTERMEDIATE = re.compile(r"(?P<table>.+)_tmp_[0-9]+_[0-9a-f]{8}(?:[_-][0-9a-f]{4}){3}[_-][0-9a-f]{12}_[0-9]+")
"""A table of the sink's upserts: the table, the number of the task, a UUID and a time in milliseconds."""
_POSITIONS = (
    "file", "pos", "row", "lsn", "commit_lsn", "change_lsn", "event_serial_no",
    "scn", "commit_scn", "lcr_position", "rs_id", "ssn",
)  # fmt: skip
"""Fields of `source`: of MySQL, PostgreSQL, SQL Server (text of fixed width), and Oracle (digits as text, then the order of
XStream, or that of LogMiner), the most significant of each first."""
_OF_LOG = ("file", "ts_ms", "server_id")
"""The file of MySQL's log, the time of the change, and the server that wrote it."""
_NUMBERED = ("file", "scn", "commit_scn")
_NOT_REWRITTEN = "without __deleted a deletion is not written, unless it is rewritten"
_TIE = "changes of a row with one SCN have no order: they need the fields rs_id and ssn of source"


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if it holds Debezium's events: an envelope, or columns that the flattening adds."""
    row, source = _type(table, "after"), _type(table, "source")
    if table.has("op", "source") and isinstance(row, Struct) and isinstance(source, Struct):
        return _envelope(table, row, {field.name.lower(): field for field in source.fields})
    if not table.present("__op", "__deleted"):
        return None
    if _INTERMEDIATE.fullmatch(table.name):
        return Recognised(_TOOL, "intermediate", "own", "likely", "its name is that of a table of the sink's upserts")
    # The sink merges its intermediate tables into the table, which then has one row for each key.
    is_upsert = any(_is_intermediate(name, table.name) for name in table.siblings)
    ties = () if is_upsert else _ties(_flat_fields(table, _POSITIONS))
    return Recognised(
        _TOOL, "flattened, upsert" if is_upsert else "flattened", "current" if is_upsert else "history",
        "guess" if ties else "likely",
        f"it has {', '.join(table.present('__op', '__deleted'))}" + (", and an intermediate table" if is_upsert else ""),
        key_of(table), _flat_order(table), _flat_deletion(table), metadata=table.beginning("__"),
        log=_log_file({name: column(one.name) for name, one in _flat_fields(table, _OF_LOG).items()}),
        notes=(*ties, *(() if table.has("__deleted") else (_NOT_REWRITTEN,))),
    )  # fmt: skip


def _is_intermediate(name: str, table: str) -> bool:
    found = _INTERMEDIATE.fullmatch(name)
    return found is not None and found["table"] == table


def _envelope(table: ExistingTable, row: Struct, source: Mapping[str, Field]) -> Recognised:
    # A truncation (t) and a message of the log (m) have no row: as deletions of no key they are shown nowhere.
    has_before = isinstance(_type(table, "before"), Struct)
    after = column("after")
    metadata = table.present("before", "after", "source", "op", "ts_ms", "ts_us", "ts_ns", "transaction")
    return Recognised(
        _TOOL, "envelope", "history", "likely" if _ties(source) else "certain",
        "it has op, after and source, as an event of Debezium", table.key,
        _order_of_source(source, table), f"{column('op')} IN ('d', 't', 'm')",
        image=f"IFNULL({after}, {column('before')})" if has_before else after,
        fields=tuple(Column(field.name, field.type) for field in row.fields), metadata=metadata,
        log=_log_file({name: _field(field) for name, field in source.items()}),
        notes=("the columns of the source are fields of after; of a deletion, of before",
               "a TRUNCATE (op t) is not followed; Debezium does not write it by default", *_ties(source)),
    )  # fmt: skip


def _order_of_source(source: Mapping[str, Field], table: ExistingTable) -> tuple[Term, ...]:
    found = (source[name] for name in (*_POSITIONS, "ts_ms") if name in source)
    terms = (Term(_compared(field.name, field.type, _field(field))) for field in found)
    return (*terms, *by_value(*table.present("ts_ms")))


def _field(field: Field) -> str:
    return f"{column('source')}.{quote(field.name)}"


def _log_file(fields: Mapping[str, str]) -> LogFile | None:
    """Return the file of MySQL's log, from the expressions of fields of `source`."""
    return LogFile(*(fields[name] for name in _OF_LOG if name in fields)) if {"file", "ts_ms"} <= fields.keys() else None


def _ties(fields: Collection[str]) -> tuple[str, ...]:
    """Return what fields of `source` leave open: Oracle's without those that order the changes of one SCN do."""
    return (_TIE,) if "scn" in fields and not {"rs_id", "ssn"} <= set(fields) else ()


def _flat_fields(table: ExistingTable, names: Iterable[str]) -> dict[str, Column]:
    """Return the fields of `source` that the flattening added, with or without `source` in the names of their columns."""
    added = {name: table.columns.get(f"__source_{name}") or table.columns.get(f"__{name}") for name in names}
    return {name: known for name, known in added.items() if known}


def _flat_order(table: ExistingTable) -> tuple[Term, ...]:
    positions = _flat_fields(table, (*_POSITIONS, "ts_ms"))
    compared = [(one.name, _compared(name, one.type, column(one.name))) for name, one in positions.items()]
    terms = [Term(sql, name if sql == column(name) else "") for name, sql in compared]
    return tuple(dict.fromkeys([*terms, *by_value(*table.present("__ts_ms"))]))


def _compared(name: str, type_: Type, sql: str) -> str:
    """Return a field as it is compared: a file and an SCN by their numbers, an rs_id by its hexadecimal sections."""
    if type_ == STRING and name.lower() in _NUMBERED:
        return natural_sql(sql)
    return sequence_sql(sql) if type_ == STRING and name.lower() == "rs_id" else sql


def _flat_deletion(table: ExistingTable) -> str:
    parts = [f"LOWER(CAST({column('__deleted')} AS STRING)) = 'true'"] if table.has("__deleted") else []
    parts += [f"{column('__op')} = 'd'"] if table.has("__op") else []
    return f"IFNULL({' OR '.join(parts)}, FALSE)" if parts else ""


def _type(table: ExistingTable, name: str) -> object:
    found = table.columns.get(name)
    return found.type if found else None


TOOL = Tool(_TOOL, recognise)
