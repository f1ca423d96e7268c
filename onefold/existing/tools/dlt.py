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
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from onefold.core.names import TableId
from onefold.existing.table import ExistingTable, Recognised, Rows, TableNote, Term, Validity, column, key_of
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
    validity = _validity(table)
    if validity:
        return _periods(table, validity, added, variants)
    if table.has("_dlt_parent_id"):
        return Recognised(
            _TOOL, "list", "current", "certain", "it has _dlt_parent_id: a row for each element of a list", ("_dlt_id",),
            metadata=added, joined=table.present(*_JOINED), variants=variants,
            notes=("join it with its parent: _dlt_parent_id is the parent's _dlt_id",),
        )  # fmt: skip
    return _loaded(table, added, variants)


def _validity(table: ExistingTable) -> Validity | None:
    """Return the columns of scd2, empty where the schema of dlt names none that the table has; None where it is no scd2."""
    noted = table.notes.get(VERSIONS, TableNote()).validity
    if noted:
        return noted if table.has(noted.start, noted.end) else Validity()
    return Validity("_dlt_valid_from", "_dlt_valid_to") if table.has("_dlt_valid_from", "_dlt_valid_to") else None


def _periods(
    table: ExistingTable, validity: Validity, added: tuple[str, ...], variants: Mapping[str, tuple[str, ...]]
) -> Recognised:
    """Return a table of scd2; without its columns it has no order, since that of loads would show rows that were deleted."""
    found = Recognised(
        _TOOL, "scd2", "history", "guess", "the schema of dlt says scd2, and no columns of validity that it has",
        key_of(table, VERSIONS), landed=_landed(table), metadata=added, joined=table.present(*_JOINED), variants=variants,
        notes=("nothing tells which rows are valid, so no current view can be right",),
    )  # fmt: skip
    if not validity.start:
        return found
    start, end = table.present(validity.start, validity.end)
    open_end = validity.open_end.isoformat() if validity.open_end else "NULL"
    notes = [f"a key without a row whose {end} is {open_end} was deleted at the source"]
    if VERSIONS not in table.notes:
        notes.append("with a custom active_record_timestamp, current rows have that time in place of NULL")
    return replace(
        found, confidence="certain", why=f"it has {start} and {end}", order=(Term(column(start), start),),
        notes=tuple(notes),
        active=f"{column(end)} = TIMESTAMP '{open_end}'" if validity.open_end else f"{column(end)} IS NULL",
    )  # fmt: skip


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
        f"SELECT v.schema_name, UNIX_MICROS(v.inserted_at) AS inserted_at, v.schema FROM {versions.quoted} AS v\n"
        "WHERE TRUE QUALIFY RANK() OVER (PARTITION BY v.schema_name ORDER BY v.inserted_at DESC) = 1"
    )


def read_schemas(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, TableNote]:
    """Return the keys, and how tables are written, from the JSON of schemas; a text that is no schema says nothing.

    Of several schemas that have a table, as those of a pipeline that was renamed, the one that was inserted last counts.

    Examples:
        >>> schema = '{"tables": {"t": {"write_disposition": "merge", "columns": {"id": {"primary_key": true}}}}}'
        >>> read_schemas([{"schema": schema, "inserted_at": 1}])
        {'t': TableNote(key=('id',), rows='current', validity=None)}
    """
    found: dict[str, dict[int, set[TableNote]]] = {}
    for row in rows:
        for name, table in _tables_of(str(row["schema"])).items():
            inserted_at = int(row.get("inserted_at") or 0)
            found.setdefault(name, {}).setdefault(inserted_at, set()).add(_note_of(table))
    return {name: _agreed(notes[max(notes)]) for name, notes in found.items()}


def _agreed(notes: set[TableNote]) -> TableNote:
    """Return what schemas of one time say of a table: nothing, where they contradict each other."""
    return notes.pop() if len(notes) == 1 else TableNote()


def _note_of(table: Mapping[str, Any]) -> TableNote:
    disposition, columns = table.get("write_disposition", ""), table.get("columns") or {}
    key = tuple(name for name, hints in columns.items() if hints.get("primary_key"))
    if disposition == "merge" and table.get("x-merge-strategy") == "scd2":
        return TableNote(key, "history", _noted_validity(columns))
    has_key = any(hints.get("primary_key") or hints.get("merge_key") for hints in columns.values())
    if disposition == "merge" and not has_key and not table.get("x-merge-destination-scope"):
        return TableNote(key, "history")  # a merge by nothing is an append: gen_merge_sql of dlt
    return TableNote(key, _DISPOSITIONS.get(disposition))


def _noted_validity(columns: Mapping[str, Mapping[str, Any]]) -> Validity:
    """Return the columns that dlt names as those of validity; nothing, where their hints cannot be read."""
    start = next((name for name, hints in columns.items() if hints.get("x-valid-from")), "")
    end = next((name for name, hints in columns.items() if hints.get("x-valid-to")), "")
    given = columns.get(end, {}).get("x-active-record-timestamp")
    try:
        time = None if given is None else datetime.fromisoformat(str(given))
    except ValueError:
        return Validity()
    return (
        Validity(start, end, time and (time if time.tzinfo else time.replace(tzinfo=UTC))) if start and end else Validity()
    )


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
