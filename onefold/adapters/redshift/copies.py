"""Statements that load the files of a table: COPY of CSV, or COPY of Parquet by way of a temporary table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onefold.adapters.redshift.connection import DEFAULT_ROLE
from onefold.core.errors import Rejected
from onefold.core.names import quote_redshift, quote_redshift_text
from onefold.core.shred_options import FileFormat
from onefold.core.text import shown_list
from onefold.ports.event_tables import EventFile, EventTableLoad
from onefold.schema.redshift_ddl import table_sql

STATEMENTS: Mapping[FileFormat, int] = {"csv": 2, "parquet": 4}
"""The statements that load one table, by the format of its files."""
_COMPRESSIONS: Mapping[FileFormat, Mapping[str, str]] = {
    "csv": {"none": "", "gzip": " GZIP", "zstd": " ZSTD"},
    "parquet": {"none": "", "gzip": "", "snappy": ""},
}
"""What COPY has to be told of each compression. A file of Parquet says its own."""
_STAGED = {"TIMESTAMPTZ": ("TIMESTAMP", "{} AT TIME ZONE 'UTC'")}
"""Types that no column of a Parquet file can be copied into: the type of the temporary column, and the value from it."""


@dataclass(frozen=True)
class TableCopy:
    """What loads the rows of a table.

    Attributes:
        statements: in their order; one of them fails where the files have other rows than the manifest of the run lists.
        check: the place of that one.
        temporary: the name of the temporary table, which has to be dropped; empty where there is none.
    """

    statements: tuple[str, ...] = ()
    check: int = -1
    temporary: str = ""


def table_copy(load: EventTableLoad, files: str, role: str, schema: str, place: int) -> TableCopy:
    """Return the statements that load a table. They name its columns, so that files of before a migration load after it.

    Args:
        load: the table and its columns as the files have them.
        files: the address of the list of the files.
        role: the ARN of the role that reads them, or `default`.
        schema: the schema of the table.
        place: of the table in its transaction.

    Raises:
        Rejected: COPY does not know the compression.
    """
    if load.compression not in (known := _COMPRESSIONS[load.format]):
        raise Rejected(
            f"{load.table.name}: expected a compression of {shown_list(known)}, got {load.compression}: shred again"
        )
    by = role if role == DEFAULT_ROLE else quote_redshift_text(role)
    source = f"FROM {quote_redshift_text(files)} IAM_ROLE {by}"
    if load.format == "csv":
        return TableCopy((_copy_csv(load, source, schema), check_copied(load.rows)), 1)
    return _by_temporary_table(load, source, schema, f"onefold_copy_{place}")


def _copy_csv(load: EventTableLoad, source: str, schema: str) -> str:
    r"""Return the statement that loads files of CSV.

    Compression of the columns stays as it was created: COMPUPDATE could choose one with which VARCHAR cannot be made longer.
    """
    # Redshift reads '\\N' as \N, and '\t' as a tab.
    options = "FORMAT AS CSV DELIMITER '\\t' NULL AS '\\\\N' DATEFORMAT 'auto' TIMEFORMAT 'auto' COMPUPDATE OFF MANIFEST"
    columns = ", ".join(quote_redshift(name) for name, _ in load.columns)
    return (
        f"COPY {table_sql(load.table.name, schema)} ({columns}) {source} {options}{_COMPRESSIONS['csv'][load.compression]}"
    )


def check_copied(rows: int) -> str:
    """Return the statement that fails, and with it the transaction, where the last COPY has loaded another number of rows.

    PG_LAST_COPY_COUNT is of the session, and runs on the leader node alone, so that the statement reads no table (Amazon
    Redshift, https://docs.aws.amazon.com/redshift/latest/dg/PG_LAST_COPY_COUNT.html, 2026-11).

    Args:
        rows: the rows that the manifest of the run lists.
    """
    return f"SELECT 1 / (CASE WHEN PG_LAST_COPY_COUNT() = {rows} THEN 1 ELSE 0 END)"


def _by_temporary_table(load: EventTableLoad, source: str, schema: str, temporary: str) -> TableCopy:
    """Return the statements that load files of Parquet.

    COPY from Parquet goes by the places of columns, needs as many of them as the table has, and gives no other column its
    default ("COPY from columnar data formats",
    https://docs.aws.amazon.com/redshift/latest/dg/copy-usage_notes-copy-from-columnar.html, 2026-11). So a temporary
    table has the columns of the files, and INSERT brings its rows to those of the table by their names.

    Args:
        load: the table and its columns as the files have them.
        source: where COPY reads, and by which role.
        schema: the schema of the table.
        temporary: the name of the temporary table.
    """
    staged = [(quote_redshift(name), *_STAGED.get(type_, (type_, "{}"))) for name, type_ in load.columns]
    fields = ", ".join(f"{name} {type_}" for name, type_, _ in staged)
    columns, place = ", ".join(name for name, _, _ in staged), quote_redshift(temporary)
    is_plain = all(value == "{}" for _, _, value in staged)
    values = "*" if is_plain else ", ".join(value.format(name) for name, _, value in staged)
    return TableCopy(
        (
            f"CREATE TEMP TABLE {place} ({fields})",
            f"COPY {place} {source} FORMAT AS PARQUET MANIFEST",
            f"SELECT 1 / (CASE WHEN COUNT(*) = {load.rows} THEN 1 ELSE 0 END) FROM {place}",
            f"INSERT INTO {table_sql(load.table.name, schema)} ({columns}) SELECT {values} FROM {place}",
        ),
        2,
        temporary,
    )


def drop_temporary(tables: Sequence[str]) -> str:
    """Return the statement that drops temporary tables, since a session may outlive its transaction."""
    return f"DROP TABLE {', '.join(map(quote_redshift, tables))}"


def file_list(files: Iterable[EventFile]) -> bytes:
    """Return the list of the files of a run and a table, for COPY and Spectrum: exactly these, each of them mandatory.

    Others in the same folder are left by tasks that failed. Parquet needs the length of each file.
    """
    entries = [
        {"url": file.address, "mandatory": True, "meta": {"content_length": file.bytes}} for file in files if file.rows
    ]
    return json.dumps({"entries": entries}, ensure_ascii=False, indent=1).encode()
