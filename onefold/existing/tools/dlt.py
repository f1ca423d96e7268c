"""dlt (data load tool): append, merge and replace, slowly changing dimensions, and the tables of lists.

Sources: dltHub, "Destination tables" and "Schema", https://dlthub.com/docs/general-usage/destination-tables (child tables,
variant columns `name__v_type`, `_dlt_loads`), https://dlthub.com/docs/general-usage/schema/; "Merge loading", scd2,
https://dlthub.com/docs/general-usage/merge-loading, 2026-11.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from onefold.core.names import TableId
from onefold.existing.table import ExistingTable, Recognised, Rows, TableNote, Term, column, key_of
from onefold.existing.tool import Notes, Tool

_TOOL = "dlt"
VERSIONS = "_dlt_version"
_LOAD = "_dlt_load_id"
_ADDED = ("_dlt_id", _LOAD, "_dlt_parent_id", "_dlt_root_id", "_dlt_list_idx", "_dlt_valid_from", "_dlt_valid_to")
_JOINED = ("_dlt_id", "_dlt_parent_id", "_dlt_root_id", "_dlt_list_idx")
"""A table of a list joins its parent by these columns: `_dlt_parent_id` is the `_dlt_id` of the parent."""
VARIANT = re.compile(r"(?P<column>.+)__v_[a-z_]+")


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if dlt wrote it; the schema that it stores tells how it writes the table."""
    if table.name.lower().startswith("_dlt_"):
        return Recognised(_TOOL, "own", "own", "certain", "its name begins with _dlt_")
    if not table.has("_dlt_id"):
        return None
    added, variants = table.present(*_ADDED), variants_of(table)
    if table.has("_dlt_valid_from", "_dlt_valid_to"):
        return Recognised(
            _TOOL, "scd2", "history", "certain", "it has _dlt_valid_from and _dlt_valid_to", key_of(table, VERSIONS),
            (Term(column("_dlt_valid_from"), "_dlt_valid_from"),), landed=_landed(table),
            active=f"{column('_dlt_valid_to')} IS NULL", metadata=added, joined=table.present(*_JOINED), variants=variants,
            notes=("a key without a row whose _dlt_valid_to is NULL was deleted at the source",
                   "with a custom active_record_timestamp, current rows have that time in place of NULL"),
        )  # fmt: skip
    if table.has("_dlt_parent_id"):
        return Recognised(
            _TOOL, "list", "current", "certain", "it has _dlt_parent_id: a row for each element of a list", ("_dlt_id",),
            metadata=added, joined=table.present(*_JOINED), variants=variants,
            notes=("join it with its parent: _dlt_parent_id is the parent's _dlt_id",),
        )  # fmt: skip
    return _loaded(table, added, variants)


def _loaded(table: ExistingTable, added: tuple[str, ...], variants: Mapping[str, tuple[str, ...]]) -> Recognised:
    note = table.notes.get(VERSIONS)
    is_history = note is None or note.rows != "current"
    forms = {None: "append or merge", "history": "append", "current": "merge or replace"}
    why = "it has _dlt_id, and the schema of dlt says how it is written" if note and note.rows else (
        "it has _dlt_id; without the schema of dlt nothing tells whether it is merged"
    )  # fmt: skip
    return Recognised(
        _TOOL, forms[note.rows if note else None], "history" if is_history else "current",
        "certain" if note and note.rows else "guess", why, key_of(table, VERSIONS),
        (Term(f"SAFE_CAST({column(_LOAD)} AS NUMERIC)", _LOAD),) if table.has(_LOAD) else (),
        landed=_landed(table), metadata=added, joined=table.present(*_JOINED), variants=variants,
        notes=("rows of one load have no order",) if is_history else (),
    )  # fmt: skip


def _landed(table: ExistingTable) -> str:
    """Return when a row was loaded: the identifier of a load is the decimal number of seconds at which it began."""
    micros = f"CAST(SAFE_CAST({column(_LOAD)} AS NUMERIC) * 1000000 AS INT64)"
    return f"TIMESTAMP_MICROS({micros})" if table.has(_LOAD) else ""


def variants_of(table: ExistingTable) -> dict[str, tuple[str, ...]]:
    """Return the columns that hold values of another type: `score__v_double` those of `score`."""
    found: dict[str, tuple[str, ...]] = {}
    for name in table.columns.names:
        match = VARIANT.fullmatch(name)
        if match and table.has(match["column"]):
            found[match["column"]] = (*found.get(match["column"], ()), name)
    return found


def schemas_query(versions: TableId) -> str:
    """Return the query for the newest schema of each pipeline of the dataset."""
    return (
        f"SELECT v.schema_name, v.schema FROM {versions.quoted} AS v\n"
        "WHERE TRUE QUALIFY ROW_NUMBER() OVER (PARTITION BY v.schema_name ORDER BY v.inserted_at DESC) = 1"
    )


def read_schemas(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, TableNote]:
    """Return the keys, and how tables are written, from the JSON of schemas; a text that is no schema says nothing.

    Examples:
        >>> schema = '{"tables": {"t": {"write_disposition": "merge", "columns": {"id": {"primary_key": true}}}}}'
        >>> read_schemas([{"schema": schema}])
        {'t': TableNote(key=('id',), rows='current')}
    """
    found: dict[str, TableNote] = {}
    for row in rows:
        for name, table in _tables_of(str(row["schema"])).items():
            columns = table.get("columns") or {}
            key = tuple(one for one, hints in columns.items() if hints.get("primary_key"))
            found[name] = TableNote(key, _DISPOSITIONS.get(table.get("write_disposition", "")))
    return found


_DISPOSITIONS: Mapping[str, Rows] = {"append": "history", "merge": "current", "replace": "current"}


def _tables_of(schema: str) -> dict[str, dict[str, Any]]:
    """Return the tables of a stored schema, which is compressed where the destination's texts are short."""
    try:
        content = json.loads(_unpacked(schema))
    except ValueError:
        return {}
    tables = content.get("tables") if isinstance(content, dict) else None
    return {name: one for name, one in (tables or {}).items() if isinstance(one, dict)}


def _unpacked(schema: str) -> str:
    """Return the JSON of a schema: dlt/destinations/job_client_impl.py, `_row_to_schema_info` (release 1.31)."""
    try:
        return zlib.decompress(base64.b64decode(schema, validate=True)).decode()
    except (ValueError, zlib.error):
        return schema


TOOL = Tool(_TOOL, recognise, Notes(VERSIONS, schemas_query, read_schemas))
