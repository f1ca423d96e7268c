"""Inputs and output of a comparison: folders and files, tables and views of BigQuery."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.adapters.bigquery.errors import no_table, translated
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.compare.files import CSV, TEXT_FORMATS, format_of
from onefold.compare.findings import FINDING_COLUMNS
from onefold.core.errors import InvalidInput, NotFound
from onefold.core.names import TEMPORARY_PREFIX, TableId, fold_case
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING
from onefold.spark.columns import named
from onefold.spark.compare.rows import ComparedSide
from onefold.spark.io.base_folder import find_base
from onefold.spark.io.bigquery_tables import EXPIRES, StagingTables
from onefold.spark.io.files import NO_ROWS, reading, rows_in
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.partitions import Partitions

TABLE = "table"
_COLUMNS = tuple(Column(name, STRING) for name in FINDING_COLUMNS)


@dataclass(frozen=True)
class OpenInput:
    """One side of a comparison, and the format of its input."""

    side: ComparedSide
    format: str

    @property
    def is_text(self) -> bool:
        return self.format in TEXT_FORMATS


def open_folder(spark: SparkSession, uri: str, expected: Sequence[str] = ()) -> OpenInput:
    """Return the rows of a folder or a file.

    Args:
        spark: the session.
        uri: the folder or file.
        expected: columns that count as columns even if no row has a value in them.

    Raises:
        InvalidInput: there are no rows, or they cannot be read.
    """
    entries = rows_in(Folder(spark, uri))
    formats = {format_of(entry.path) for entry in entries}
    if formats == {CSV}:
        return OpenInput(_read_csv(spark, uri, Partitions.of(Folder(spark, uri), entries)), CSV)
    with reading(uri):
        base = find_base(spark, uri, expected)
    if base is None:
        raise InvalidInput(NO_ROWS.format(uri))
    # A column without any value has no type. As text it is NULL like any other.
    empty = tuple(Column(name, STRING) for name in expected if fold_case(name) in base.frame.empty)
    frame = base.frame.rows.select(
        *(named(column.name) for column in base.frame.columns),
        *(F.lit(None).cast("string").alias(column.name) for column in empty),
    )
    return OpenInput(ComparedSide(frame, Schema((*base.frame.columns, *empty))), min(formats))


def _read_csv(spark: SparkSession, uri: str, partitions: Partitions) -> ComparedSide:
    r"""Read every value as text. MySQL exports NULL as `\N`; an empty value is NULL too."""
    reader = spark.read.options(header=True, multiLine=True, quote='"', escape='"', mode="FAILFAST", nullValue="\\N")
    with reading(uri):
        frame = reader.option("recursiveFileLookup", "true").option("enforceSchema", "false").csv(uri)
        frame = partitions.added_to(frame, STRING)
    return without_blanks(ComparedSide(frame, Schema(Column(name, STRING) for name in frame.columns)))


def without_blanks(side: ComparedSide) -> ComparedSide:
    """Return the rows with NULL for each empty text: CSV has no other NULL, so its peer must not tell them apart either."""
    values = (
        F.nullif(named(column.name), F.lit("")).alias(column.name) if column.type == STRING else named(column.name)
        for column in side.columns
    )
    return replace(side, frame=side.frame.select(*values))


class BigQueryInputs:
    """Inputs in BigQuery, and a table there for the findings."""

    def __init__(self, spark: SparkSession, warehouse: BigQueryWarehouse) -> None:
        self._warehouse = warehouse
        self._tables = StagingTables(spark, warehouse.client)
        self._copies: list[TableId] = []

    def close(self) -> None:
        """Drop all temporary tables; those of a job that is killed expire."""
        self._tables.drop_staging()
        while self._copies:
            self._warehouse.delete_view(self._copies.pop())

    def open(self, id_: TableId) -> OpenInput:
        """Return the rows of a table or a view.

        Raises:
            NotFound: there is neither a table nor a view of this name.
        """
        id_ = self._with_project(id_)
        columns = self._warehouse.read_columns(id_)
        if columns is None:
            view = self._warehouse.get_view(id_)
            if view is None:
                raise NotFound(no_table(id_))
            columns, id_ = view.columns, self._copy(id_)
        rows = self._tables.read(id_, columns)
        return OpenInput(ComparedSide(rows.frame, rows.columns), TABLE)

    def check_new(self, id_: TableId) -> None:
        self._warehouse.check_new(self._with_project(id_))

    def write(self, id_: TableId, findings: DataFrame) -> None:
        """Write findings into a new table, whole or not at all: one statement creates it from the staged rows."""
        id_ = self._with_project(id_)
        staged = self._tables.stage(findings, id_, _COLUMNS)
        self._run(f"CREATE TABLE {id_.quoted} AS {staged.query}", id_)

    def _with_project(self, id_: TableId) -> TableId:
        return replace(id_, project=id_.project or self._warehouse.project)

    def _copy(self, view: TableId) -> TableId:
        """Copy a view's rows into a temporary table, because Spark reads only tables."""
        id_ = view.sibling(f"{TEMPORARY_PREFIX}{view.table}_compared_{uuid.uuid4().hex[:16]}")
        hours = int(EXPIRES.total_seconds() // 3600)
        expires = f"TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL {hours} HOUR)"
        self._run(
            f"CREATE TABLE {id_.quoted} OPTIONS (expiration_timestamp = {expires}) AS SELECT * FROM {view.quoted}", view
        )
        self._copies.append(id_)
        return id_

    def _run(self, sql: str, subject: TableId) -> None:
        with translated(str(subject), not_found=NotFound):
            self._warehouse.client.query(sql).result()
