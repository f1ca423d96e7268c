"""BigQuery's tables as frames, and frames as tables: nobody else knows which of two ways they take.

A session with the Spark BigQuery connector (Dataproc) reads and writes in parallel, through the Storage API. One without it
(a laptop, the emulator) goes through BigQuery's client, and every row through the driver.

A value goes in a form that survives either way: see `carried` for a read, `staging` for a write. What has no such form in
the table itself, and whatever Spark cannot convert, BigQuery converts first: in the query that the client reads, or into a
temporary table that the connector reads.
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
from onefold.schema.columns import Column
from onefold.schema.types import Type, parse_type
from onefold.spark.io import bigquery_connector as connector
from onefold.spark.io.staging import as_text, rest_field, staged_type, unstage_sql
from onefold.spark.values.casts import can_convert
from onefold.spark.values.types import held, text_type

EXPIRES = timedelta(days=1)
"""When a table of ours goes by itself, should the job that made it be killed."""

_NO_TARGETS: Mapping[str, Type] = MappingProxyType({})

_TIMESTAMP = frozenset({"TIMESTAMP"})


@dataclass(frozen=True)
class Select:
    """What BigQuery is asked for. The three lists of columns have one order.

    landed: as the table has them.
    arriving: as the caller gets them, each in its landed type or converted by BigQuery.
    carried: as BigQuery hands them over.
    """

    table: TableId
    landed: tuple[Column, ...]
    arriving: tuple[Column, ...]
    carried: tuple[Column, ...]
    where: str | None = None
    zone: str = UTC_ZONE
    query: str | None = None
    """What gives the landed columns in place of the table."""

    @property
    def as_it_is(self) -> bool:
        """Whether the table's own columns are what is asked for."""
        return self.query is None and self.landed == self.carried

    @property
    def sql(self) -> str:
        rows = f"({self.query})" if self.query else self.table.quoted
        source = rows + (f" WHERE {self.where}" if self.where else "")
        if self.as_it_is:
            return f"SELECT {', '.join(quote(column.name) for column in self.landed)} FROM {source}"
        converted = self._converted(self.landed, self.arriving, self.zone)
        carried = self._converted(self.arriving, self.carried, UTC_ZONE)
        return f"SELECT {carried} FROM (SELECT {converted} FROM {source})"

    @staticmethod
    def _converted(sources: Sequence[Column], targets: Sequence[Column], zone: str) -> str:
        return ", ".join(
            f"{convert(quote(source.name), source.type, target.type, zone)} AS {quote(target.name)}"
            for source, target in zip(sources, targets, strict=True)
        )


@dataclass(frozen=True)
class TypedFrame:
    """A frame whose columns are held as `held(type)` says of these types."""

    frame: DataFrame
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class StagedTable:
    """A table of ours with rows in it.

    columns: as what the rows were given to `stage`.
    query: reads them back in these types.
    """

    id: TableId
    columns: tuple[Column, ...]
    query: str


class StagingTables:
    """Reads and stages tables of BigQuery; what it made along the way is dropped with the block.

    Args:
        attempt: what tells this run of the job from any other: part of the names of its tables.
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
        """Rows of a table; they are fetched when the frame is used, so use it within the block.

        Args:
            columns: what to read, in the types in which it landed.
            targets: by folded name, the type that the caller wants in the end. A column that Spark cannot bring there itself
                arrives in that type, converted by BigQuery; any other arrives in its landed type.
            where: which rows, in GoogleSQL and without a subquery: what the Storage Read API can filter by.
            zone: that a conversion reads a DATETIME in.
        """
        select = plan_read(table, columns, targets, where, zone, self._text_timestamps)
        return TypedFrame(_cast(self._rows(select), select.arriving), select.arriving)

    def read_query(self, query: str, beside: TableId, columns: Sequence[Column]) -> TypedFrame:
        """Rows of a query that gives these columns; what has to be stored on the way is stored beside that table."""
        select = replace(plan_read(beside, columns, text_timestamps=self._text_timestamps), query=query)
        return TypedFrame(_cast(self._rows(select), select.arriving), select.arriving)

    def stage(self, frame: DataFrame, table: TableId, columns: Sequence[Column]) -> StagedTable:
        """Write a frame that holds `columns` into a new table beside `table`."""
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
        """Drop every table that was made here; one that is already gone is no error."""
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
        if select.as_it_is and connector.can_open(self._columns(select.table)):
            return connector.load(self._spark, select.table, self._client.project, select.where)
        return connector.load(self._spark, self._materialised(select), self._client.project)

    def _columns(self, table: TableId) -> tuple[Column, ...]:
        with translated(str(table), not_found=NotFound):
            schema = self._client.get_table(str(table)).schema
        return tuple(Column(field.name, parse_type(type_string(field))) for field in schema)

    def _materialised(self, select: Select) -> TableId:
        id_ = self._create(select.table, "read", select.carried)
        self._run(f"INSERT INTO {id_.quoted} {select.sql}", id_)
        return id_

    def _create(self, beside: TableId, what: str, columns: Sequence[Column]) -> TableId:
        """A new table that goes by itself. Its name is this attempt's alone, so nothing is ever written over."""
        name = f"{TEMPORARY_PREFIX}{beside.table}_{what}_{self._attempt}_{len(self._made) + 1}"
        id_ = TableId(beside.project or self._client.project, beside.dataset, name)
        table = bigquery.Table(str(id_), [rest_field(column.name, column.type) for column in columns])
        table.expires = datetime.now(UTC) + self._expires
        with translated(str(id_), not_found=NotFound):
            try:
                self._client.create_table(table)
            except api.Conflict as error:
                raise TryAgain(f"{id_} is there already: run the job again under another name") from error
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
    """What BigQuery is asked for, so that every value arrives as it is."""
    arriving = tuple(Column(column.name, _arriving(column, targets.get(fold_case(column.name)), zone)) for column in columns)
    handed = tuple(Column(column.name, carried(column.type, text_timestamps)) for column in arriving)
    return Select(table, tuple(columns), arriving, handed, where, zone)


def carried(type_: Type, text_timestamps: bool = False) -> Type:
    """The type as which BigQuery hands a value to Spark."""
    return as_text(text_type(type_), _TIMESTAMP) if text_timestamps else text_type(type_)


def _arriving(column: Column, target: Type | None, zone: str) -> Type:
    if target is None or column.type == target:
        return column.type
    # Spark reads a DATETIME as UTC, and in no other zone.
    return column.type if zone == UTC_ZONE and can_convert(column.type, target) else target


def _cast(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    return frame.select(*(F.col(f"`{column.name}`").cast(held(column.type)).alias(column.name) for column in columns))


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
