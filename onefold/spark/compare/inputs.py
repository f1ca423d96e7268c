"""Where a comparison reads and writes: folders and files, tables and views of BigQuery."""

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
from onefold.core.names import TEMPORARY_PREFIX, TableId
from onefold.schema.columns import Column
from onefold.schema.types import STRING
from onefold.spark.columns import named
from onefold.spark.compare.rows import ComparedSide
from onefold.spark.io.base_folder import find_base
from onefold.spark.io.bigquery_tables import EXPIRES, StagingTables
from onefold.spark.io.files import reading, rows_in
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.partitions import Partitions

TABLE = "table"
_COLUMNS = tuple(Column(name, STRING) for name in FINDING_COLUMNS)


@dataclass(frozen=True)
class OpenInput:
    """A side, and the format in which it came."""

    side: ComparedSide
    format: str

    @property
    def is_text(self) -> bool:
        return self.format in TEXT_FORMATS


def open_folder(spark: SparkSession, uri: str, wanted: Sequence[str] = ()) -> OpenInput:
    """The rows of a folder or a file.

    Args:
        wanted: columns that are of use even where they hold no value.

    Raises:
        InvalidInput: there are no rows, or they cannot be read.
    """
    entries = rows_in(Folder(spark, uri))
    formats = {format_of(entry.path) for entry in entries}
    if formats == {CSV}:
        return OpenInput(_read_csv(spark, uri, Partitions.of(Folder(spark, uri), entries)), CSV)
    with reading(uri):
        base = find_base(spark, uri, wanted)
    if base is None:
        raise InvalidInput(f"{uri}: there is no such file, or no file of rows in the folder")
    empty = tuple(Column(name, STRING) for name in wanted if name.lower() in base.landed.empty)
    frame = base.landed.frame.select(
        *(named(column.name) for column in base.landed.columns),
        *(F.lit(None).cast("string").alias(column.name) for column in empty),
    )
    return OpenInput(ComparedSide(frame, (*base.landed.columns, *empty)), min(formats))


def _read_csv(spark: SparkSession, uri: str, partitions: Partitions) -> ComparedSide:
    """Everything is text. MySQL exports NULL as `\\N`; an empty value is NULL too."""
    reader = spark.read.options(header=True, multiLine=True, quote='"', escape='"', mode="FAILFAST", nullValue="\\N")
    with reading(uri):
        frame = reader.option("recursiveFileLookup", "true").option("enforceSchema", "false").csv(uri)
        frame = partitions.added_to(frame, STRING)
    return without_blanks(ComparedSide(frame, tuple(Column(name, STRING) for name in frame.columns)))


def without_blanks(side: ComparedSide) -> ComparedSide:
    """CSV cannot tell an empty text from NULL, so neither may the side that it is compared with."""
    values = (
        F.nullif(named(column.name), F.lit("")).alias(column.name) if column.type == STRING else named(column.name)
        for column in side.columns
    )
    return replace(side, frame=side.frame.select(*values))


class BigQueryInputs:
    """Sides in BigQuery, and findings into it."""

    def __init__(self, spark: SparkSession, warehouse: BigQueryWarehouse) -> None:
        self._warehouse = warehouse
        self._tables = StagingTables(spark, warehouse.client)
        self._made: list[TableId] = []

    def close(self) -> None:
        """Drop what was made along the way; should the job be killed, it goes by itself."""
        self._tables.drop_staging()
        while self._made:
            self._warehouse.delete_view(self._made.pop())

    def open(self, id_: TableId) -> OpenInput:
        """Raises NotFound where there is neither a table nor a view."""
        id_ = self._whole(id_)
        columns = self._warehouse.read_columns(id_)
        if columns is None:
            view = self._warehouse.get_view(id_)
            if view is None:
                raise NotFound(no_table(id_))
            columns, id_ = view.columns, self._copied(id_)
        rows = self._tables.read(id_, columns)
        return OpenInput(ComparedSide(rows.frame, rows.columns), TABLE)

    def check_new(self, id_: TableId) -> None:
        self._warehouse.check_new(self._whole(id_))

    def write(self, id_: TableId, findings: DataFrame) -> None:
        """A new table, whole or not at all: the rows are staged, and one statement makes the table of them."""
        id_ = self._whole(id_)
        staged = self._tables.stage(findings, id_, _COLUMNS)
        self._run(f"CREATE TABLE {id_.quoted} AS {staged.query}", id_)

    def _whole(self, id_: TableId) -> TableId:
        return replace(id_, project=id_.project or self._warehouse.project)

    def _copied(self, view: TableId) -> TableId:
        """A view's rows as a table, since Spark reads tables only."""
        id_ = view.sibling(f"{TEMPORARY_PREFIX}{view.table}_compared_{uuid.uuid4().hex[:16]}")
        hours = int(EXPIRES.total_seconds() // 3600)
        expires = f"TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL {hours} HOUR)"
        self._run(
            f"CREATE TABLE {id_.quoted} OPTIONS (expiration_timestamp = {expires}) AS SELECT * FROM {view.quoted}", view
        )
        self._made.append(id_)
        return id_

    def _run(self, sql: str, what: TableId) -> None:
        with translated(str(what), not_found=NotFound):
            self._warehouse.client.query(sql).result()
