"""Google's Dataflow template "Datastream to BigQuery": a table of changes for staging, and a replica that it merges.

Sources: GoogleCloudPlatform/DataflowTemplates, v2/datastream-to-bigquery/README_Cloud_Datastream_to_BigQuery.md (names of
tables), FormatDatastreamJsonToJson.java (columns; times are in seconds) and DatastreamRow.java, getSortFields (the order of
each source), 2026-11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from onefold.changelog.position import sequence_sql
from onefold.existing.table import ExistingTable, Recognised, Term, by_number_in_text, by_value, column, key_of
from onefold.existing.tool import Tool

_TOOL = "Dataflow template"
_PREFIX = "_metadata_"
_STAGING = "_log"
"""The default of the template's outputStagingTableNameTemplate is `{_metadata_table}_log`."""


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if the template wrote it: `<table>_log` has the changes, `<table>` is the replica."""
    if not table.has("_metadata_timestamp") or not (table.has("_metadata_deleted") or table.has("_metadata_change_type")):
        return None
    is_staging = table.name.endswith(_STAGING)
    has_replica = table.name.removesuffix(_STAGING) in table.siblings
    changed = f"UPPER(IFNULL({column('_metadata_change_type')}, ''))" if table.has("_metadata_change_type") else ""
    deleted = [f"IFNULL({column('_metadata_deleted')}, FALSE)"] if table.has("_metadata_deleted") else []
    deleted += [f"{changed} IN ('DELETE', 'UPDATE-DELETE')"] if changed else []
    return Recognised(
        _TOOL, "staging" if is_staging else "replica", "history" if is_staging else "current",
        "certain" if (is_staging and has_replica) or f"{table.name}{_STAGING}" in table.siblings else "likely",
        f"it has columns {_PREFIX}*" + (f", and its name ends with {_STAGING}" if is_staging else ""),
        key_of(table), _order(table), " OR ".join(deleted),
        f"{changed} = 'UPDATE-DELETE'" if changed and is_staging else "",
        _landed(table), metadata=table.beginning(_PREFIX),
    )  # fmt: skip


def _order(table: ExistingTable) -> tuple[Term, ...]:
    """Return the order of the source: MySQL by file and position, Oracle by SCN, PostgreSQL and SQL Server by LSN."""
    terms: list[Term] = []
    for name in table.present("_metadata_timestamp", *_OF_SOURCES):
        terms += [_TEXTS[name.lower()](name)] if name.lower() in _TEXTS else by_value(name)
    return tuple(terms)


def _by_lsn(name: str) -> Term:
    """Return the order of an LSN: `16/B374D848` of PostgreSQL by its numbers, that of SQL Server as text."""
    text = column(name)
    return Term(f"IF(STRPOS({text}, ':') > 0, {text}, {sequence_sql(text)})")


_TEXTS: Mapping[str, Callable[[str], Term]] = {"_metadata_log_file": by_number_in_text, "_metadata_lsn": _by_lsn}
_OF_SOURCES = (
    "_metadata_log_file",
    "_metadata_log_position",
    "_metadata_scn",
    "_metadata_rs_id",
    "_metadata_ssn",
    "_metadata_lsn",
)


def _landed(table: ExistingTable) -> str:
    known = table.columns.get("_metadata_read_timestamp")
    if known is None:
        return ""
    return column(known.name) if str(known.type) == "TIMESTAMP" else f"TIMESTAMP_SECONDS({column(known.name)})"


TOOL = Tool(_TOOL, recognise)
