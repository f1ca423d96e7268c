"""A stand-in for Datastream: what capture has landed, again in plain tables, as Datastream writes them in append-only mode.

Like Datastream, it has one dataset for each database of the source, with a table under the name of each of its tables: the
columns of the source, and `datastream_metadata`. Rows are only appended. A column that the source adds is added; one that
the source drops stays, and is NULL in later rows. Source: Google Cloud, "Datastream: BigQuery destination",
https://cloud.google.com/datastream/docs/destination-bigquery, 2026-11.

The position of a change is that of capture, because Datastream does not publish the form of its own. `uuid` is the same for
all rows of a version that landed together, as it is for those of a backfill.
"""

from __future__ import annotations

from collections.abc import Iterator

from onefold.changelog.metadata import DATABASE_NAME, LANDED_AT, METADATA, METADATA_FIELDS, metadata_sql, metadata_type
from onefold.core.errors import Rejected
from onefold.core.names import TableId, quote, quote_text
from onefold.core.versioned_names import DEFAULT_NAMES
from onefold.landing.table import ADDED
from onefold.schema.bigquery import absent_columns
from onefold.schema.columns import Column, Schema
from onefold.schema.versions import Version, table_of
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

_SEQUENCE = metadata_sql("v", "change_sequence_number")
_METADATA_COLUMN = Column(METADATA, metadata_type(METADATA_FIELDS))


def append_changes(warehouse: EmulatedWarehouse, landed: str, database: str) -> Iterator[tuple[str, int]]:
    """Append what has landed since the last call, and yield each table with the number of its new rows.

    Args:
        warehouse: the emulator.
        landed: the dataset into which capture lands the versions of tables.
        database: a database of the source; the dataset of this name gets the plain tables.

    Raises:
        NotFound: a dataset does not exist.
        Rejected: a column of a table has another type than before.
    """
    for name in warehouse.list_bases(landed):
        base, to = TableId(warehouse.project, landed, name), TableId(warehouse.project, database, name)
        versions = sorted(warehouse.read_versions(base), key=lambda version: str(version.created))
        rows = [_append(warehouse, base, version, to, database) for version in versions]
        if any(rows):
            yield name, sum(rows)


def _append(warehouse: EmulatedWarehouse, base: TableId, version: Version, to: TableId, database: str) -> int:
    """Append the new rows of one version, and return their number."""
    columns = Schema(version.columns).minus(column.name for column in ADDED)
    before = warehouse.read_columns(to)
    rows = f"FROM {table_of(base, version, DEFAULT_NAMES).quoted} AS v WHERE v.{DATABASE_NAME} = {quote_text(database)}"
    if before:
        rows += f" AND {_uuid(version)} NOT IN (SELECT {METADATA}.uuid FROM {to.quoted})"
    count = int(warehouse.fetch(f"SELECT COUNT(*) AS n {rows}")[0]["n"])
    if count:
        _prepare(warehouse, to, before, columns)
        names = ", ".join(quote(column.name) for column in (*columns, _METADATA_COLUMN))
        values = ", ".join((*(f"v.{quote(column.name)}" for column in columns), _metadata(version)))
        warehouse.execute(f"INSERT INTO {to.quoted} ({names}) SELECT {values} {rows}")
    return count


def _prepare(warehouse: EmulatedWarehouse, to: TableId, before: tuple[Column, ...] | None, columns: Schema) -> None:
    """Create a table, or add the columns that it lacks.

    Raises:
        Rejected: a column has another type than before.
    """
    if before is None:
        warehouse.create_table(to, (*columns, _METADATA_COLUMN))
        return
    known = Schema(before)
    for column in columns:
        if (old := known.get(column.name)) and old.type != column.type:
            raise Rejected(f"{to}.{column.name} is {old.type}, and the source has {column.type} now: use another table")
    if new := absent_columns(before, columns):
        warehouse.add_columns(to, new)


def _uuid(version: Version) -> str:
    """Return the value that rows of a version share which landed together; rows of two versions may land in one moment."""
    return f"TO_HEX(MD5(CONCAT({quote_text(version.id)}, ' ', CAST(v.{LANDED_AT} AS STRING))))"


def _metadata(version: Version) -> str:
    """Return `datastream_metadata` of a captured row, with the sort keys of MySQL: timestamp, log file, position."""
    timestamp = metadata_sql("v", "source_timestamp")
    file, offset = (f"CAST(CONCAT('0x', SPLIT({_SEQUENCE}, '/')[SAFE_OFFSET({number})]) AS INT64)" for number in (1, 2))
    keys = (timestamp, f"CONCAT('mysql-bin.', LPAD(CAST({file} AS STRING), 6, '0'))", offset)
    sort_keys = ", ".join(f"CAST({key} AS STRING)" for key in keys)
    return (
        f"STRUCT({_uuid(version)} AS uuid, {timestamp} AS source_timestamp, {_SEQUENCE} AS change_sequence_number, "
        f"{metadata_sql('v', 'change_type')} AS change_type, [{sort_keys}] AS sort_keys)"
    )
