"""Tables of BigQuery as frames, and frames as tables, by one of two paths that no other module knows.

A session with the Spark BigQuery connector (Dataproc) reads and writes in parallel, through the Storage API. A session
without it (a laptop, the emulator) uses BigQuery's client, and every row passes through the driver.

Values travel in types that survive either path: see `delivered_type` for a read, `staging` for a write. If a table has
other types, or values that Spark cannot convert, BigQuery converts the values first: in the query that the client reads, or
into a temporary table that the connector reads.
"""

from __future__ import annotations

import hashlib
import io
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType, TracebackType
from typing import Any

import pyarrow.parquet
from google.api_core import exceptions as api
from google.cloud import bigquery
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.schema import type_string
from onefold.core.errors import NotFound, TryAgain
from onefold.core.names import TEMPORARY_PREFIX, TableId, fold_case, quote
from onefold.schema.casts import UTC as UTC_ZONE
from onefold.schema.casts import convert
from onefold.schema.columns import Column, Schema
from onefold.schema.types import Type, parse_type
from onefold.spark.io import bigquery_connector as connector
from onefold.spark.io.staging import as_text, rest_field, staged_type, unstage_sql
from onefold.spark.values.casts import can_convert
from onefold.spark.values.types import spark_type, text_type

EXPIRES = timedelta(days=1)
"""The time after which BigQuery deletes a temporary table, in case the job that created it is killed."""

_NO_TARGETS: Mapping[str, Type] = MappingProxyType({})

_TIMESTAMP = frozenset({"TIMESTAMP"})


@dataclass(frozen=True)
class Select:
    """A read from BigQuery. The three lists of columns have the same names in the same order.

    stored: in the types of the table.
    returned: in the types that the caller gets: the type of the table, or the target type if BigQuery converts the value.
    delivered: in the types in which BigQuery delivers the values to Spark.
    """

    table: TableId
    stored: tuple[Column, ...]
    returned: tuple[Column, ...]
    delivered: tuple[Column, ...]
    where: str | None = None
    zone: str = UTC_ZONE
    query: str | None = None
    """A query that gives the stored columns in place of the table."""

    @property
    def is_plain(self) -> bool:
        """Whether the table's own columns are delivered, without any conversion."""
        return self.query is None and self.stored == self.delivered

    @property
    def sql(self) -> str:
        rows = f"({self.query})" if self.query else self.table.quoted
        source = rows + (f" WHERE {self.where}" if self.where else "")
        if self.is_plain:
            return f"SELECT {', '.join(quote(column.name) for column in self.stored)} FROM {source}"
        # Two steps: only the conversion from stored types depends on the time zone, the text of a delivered value does not.
        converted = self._converted(self.stored, self.returned, self.zone)
        delivered = self._converted(self.returned, self.delivered, UTC_ZONE)
        return f"SELECT {delivered} FROM (SELECT {converted} FROM {source})"

    @staticmethod
    def _converted(sources: Sequence[Column], targets: Sequence[Column], zone: str) -> str:
        return ", ".join(
            f"{convert(quote(source.name), source.type, target.type, zone)} AS {quote(target.name)}"
            for source, target in zip(sources, targets, strict=True)
        )


@dataclass(frozen=True)
class TypedFrame:
    """A frame in Spark form, and the BigQuery types of its columns."""

    frame: DataFrame
    columns: Schema


@dataclass(frozen=True)
class StagedTable:
    """A temporary table with rows in it.

    columns: the columns of the rows, in the types in which they were given to `stage`.
    query: a query that returns the rows in these types.
    """

    id: TableId
    columns: tuple[Column, ...]
    query: str


class StagingTables:
    """Reads and stages tables of BigQuery; temporary tables are dropped at the end of the `with` block.

    Args:
        spark: the session.
        client: BigQuery's client, for everything that the connector does not do.
        attempt: a text that no other run of the job has, part of the names of its tables; None for a random one.
        expires: the time after which BigQuery deletes a temporary table.
    """

    def __init__(
        self, spark: SparkSession, client: bigquery.Client, attempt: str | None = None, expires: timedelta = EXPIRES
    ) -> None:
        self._spark = spark
        self._client = client
        self._attempt = hashlib.sha256((attempt or uuid.uuid4().hex).encode()).hexdigest()[:16]
        self._expires = expires
        self._version = connector.connector_version(spark)
        self._made: list[TableId] = []

    def __enter__(self) -> StagingTables:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.drop_staging()

    def read(
        self,
        table: TableId,
        columns: Sequence[Column],
        targets: Mapping[str, Type] = _NO_TARGETS,
        where: str | None = None,
        zone: str = UTC_ZONE,
    ) -> TypedFrame:
        """Return rows of a table. They are fetched when the frame is used, so use the frame within the block.

        Args:
            table: the table.
            columns: the columns to read, in the types of the table.
            targets: by folded name, the type into which the caller will convert a column. If Spark cannot make this
                conversion, BigQuery makes it; any other column is returned in the type of the table.
            where: a filter in GoogleSQL without a subquery, which the Storage Read API can evaluate; None for all rows.
            zone: the time zone in which a conversion reads a DATETIME.
        """
        select = plan_read(table, columns, targets, where, zone, self._text_timestamps)
        return self._returned(select)

    def read_query(self, query: str, neighbour: TableId, columns: Sequence[Column]) -> TypedFrame:
        """Return the rows of a query.

        Args:
            query: a query that gives `columns`.
            neighbour: a table; a temporary table is created in the same dataset.
            columns: the columns, with their types.
        """
        select = replace(plan_read(neighbour, columns, text_timestamps=self._text_timestamps), query=query)
        return self._returned(select)

    def _returned(self, select: Select) -> TypedFrame:
        return TypedFrame(_cast(self._rows(select), select.returned), Schema(select.returned))

    def stage(self, frame: DataFrame, table: TableId, columns: Sequence[Column]) -> StagedTable:
        """Write a frame into a new temporary table.

        Args:
            frame: the rows, in the Spark form of `columns`.
            table: a table; the new one is created in the same dataset.
            columns: the columns, with their types.
        """
        stored = tuple(Column(column.name, staged_type(column.type)) for column in columns)
        id_ = self._create(table, "staged", stored)
        shaped = _cast(frame, stored)
        if self._version is None:
            _load(self._client, shaped, id_)
        else:
            connector.append(shaped, id_, self._client.project)
        values = (f"{unstage_sql(quote(column.name), column.type)} AS {quote(column.name)}" for column in columns)
        return StagedTable(id_, tuple(columns), f"SELECT {', '.join(values)} FROM {id_.quoted}")

    def drop_staging(self) -> None:
        """Drop every temporary table; a table that does not exist any more is no error."""
        while self._made:
            with translated(str(self._made[-1])):
                self._client.delete_table(str(self._made[-1]), not_found_ok=True)
            self._made.pop()

    @property
    def _text_timestamps(self) -> bool:
        return self._version is not None and not connector.keeps_timestamps(self._version)

    def _rows(self, select: Select) -> DataFrame:
        if self._version is None:
            return _arrow_rows(self._spark, self._client, select)
        if select.is_plain and connector.can_open(self._columns(select.table)):
            return connector.load(self._spark, select.table, self._client.project, select.where)
        return connector.load(self._spark, self._materialised(select), self._client.project)

    def _columns(self, table: TableId) -> tuple[Column, ...]:
        with translated(str(table), not_found=NotFound):
            schema = self._client.get_table(str(table)).schema
        return tuple(Column(field.name, parse_type(type_string(field))) for field in schema)

    def _materialised(self, select: Select) -> TableId:
        id_ = self._create(select.table, "read", select.delivered)
        self._run(f"INSERT INTO {id_.quoted} {select.sql}", id_)
        return id_

    def _create(self, neighbour: TableId, purpose: str, columns: Sequence[Column]) -> TableId:
        """Create a table that expires. Only this attempt uses its name, so no table is ever overwritten.

        Raises:
            TryAgain: a table of this name exists.
        """
        name = f"{TEMPORARY_PREFIX}{neighbour.table}_{purpose}_{self._attempt}_{len(self._made) + 1}"
        id_ = TableId(neighbour.project or self._client.project, neighbour.dataset, name)
        table = bigquery.Table(str(id_), [rest_field(column.name, column.type) for column in columns])
        table.expires = datetime.now(UTC) + self._expires
        with translated(str(id_), not_found=NotFound):
            try:
                self._client.create_table(table)
            except api.Conflict as error:
                raise TryAgain(f"{id_} exists already: run the job again under another name") from error
        self._made.append(id_)
        return id_

    def _run(self, sql: str, what: TableId) -> Any:
        with translated(str(what), not_found=NotFound):
            return self._client.query(sql).result()


def plan_read(
    table: TableId,
    columns: Sequence[Column],
    targets: Mapping[str, Type] = _NO_TARGETS,
    where: str | None = None,
    zone: str = UTC_ZONE,
    text_timestamps: bool = False,
) -> Select:
    """Return the read by which every value arrives unchanged.

    Args:
        table: the table.
        columns: the columns to read, in the types of the table.
        targets: by folded name, the type into which the caller will convert a column.
        where: a filter in GoogleSQL; None for all rows.
        zone: the time zone in which a conversion reads a DATETIME.
        text_timestamps: whether a TIMESTAMP has to be delivered as text.
    """
    returned = tuple(
        Column(column.name, _returned_type(column, targets.get(fold_case(column.name)), zone)) for column in columns
    )
    delivered = tuple(Column(column.name, delivered_type(column.type, text_timestamps)) for column in returned)
    return Select(table, tuple(columns), returned, delivered, where, zone)


def delivered_type(type_: Type, text_timestamps: bool = False) -> Type:
    """Return the type as which BigQuery delivers a value to Spark."""
    return as_text(text_type(type_), _TIMESTAMP) if text_timestamps else text_type(type_)


def _returned_type(column: Column, target: Type | None, zone: str) -> Type:
    if target is None or column.type == target:
        return column.type
    # Spark reads a DATETIME as UTC, and in no other zone.
    return column.type if zone == UTC_ZONE and can_convert(column.type, target) else target


def _cast(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    return frame.select(*(F.col(f"`{column.name}`").cast(spark_type(column.type)).alias(column.name) for column in columns))


def _arrow_rows(spark: SparkSession, client: bigquery.Client, select: Select) -> DataFrame:
    with translated(str(select.table), not_found=NotFound):
        return spark.createDataFrame(client.query(select.sql).result().to_arrow(create_bqstorage_client=False))


def _load(client: bigquery.Client, frame: DataFrame, table: TableId) -> None:
    file = io.BytesIO()
    pyarrow.parquet.write_table(frame.toArrow(), file)
    file.seek(0)
    parquet = bigquery.ParquetOptions()  # type: ignore[no-untyped-call]
    parquet.enable_list_inference = True
    config = bigquery.LoadJobConfig(
        source_format="PARQUET", write_disposition="WRITE_APPEND", create_disposition="CREATE_NEVER", parquet_options=parquet
    )
    with translated(str(table), not_found=NotFound):
        client.load_table_from_file(file, str(table), job_config=config).result()
