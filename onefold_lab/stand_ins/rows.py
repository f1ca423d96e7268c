"""The writer of rows into the embedded BigQuery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

from onefold.adapters.bigquery.client import TIMEOUT
from onefold.adapters.bigquery.row_values import RowValues
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import InvalidRecord, Rejected
from onefold.core.names import TableId
from onefold.ports.rows import Appended, Row, TableWriter, appended
from onefold.schema.columns import Column
from onefold.schema.types import Scalar
from onefold_lab.stand_ins.warehouse import PATIENCE

# The client would repeat a request for ten minutes, also where nothing answers.
_RETRY = DEFAULT_RETRY.with_timeout(TIMEOUT)


class EmulatedRowWriter:
    """`onefold.ports.rows.RowWriter` by `tabledata.insertAll`, which takes JSON.

    The emulator has the Storage Write API, too, but leaves out the fields of structs. Whether a row fits is decided as for
    that API; rows that only BigQuery itself would refuse are written.
    """

    def __init__(self, warehouse: BigQueryWarehouse) -> None:
        self.project = warehouse.project
        self._warehouse = warehouse

    @property
    def calls(self) -> int:
        return self._warehouse.calls

    def open(self, id_: TableId) -> EmulatedTableWriter | None:
        columns = self._warehouse.read_columns(id_)
        return EmulatedTableWriter(id_, columns, self._warehouse.client) if columns else None

    def opened(self, id_: TableId) -> EmulatedTableWriter | None:  # noqa: ARG002 the emulator's columns are read each time
        return None

    def append_each(self, batches: Sequence[tuple[TableWriter, Sequence[Row]]]) -> list[Appended]:
        return [appended(table, rows) for table, rows in batches]


class EmulatedTableWriter:
    """`onefold.ports.rows.TableWriter` in the emulator.

    In an interval with years and days, the emulator reads a sign as that of the hours alone, so times come without them.
    """

    def __init__(self, id_: TableId, columns: tuple[Column, ...], client: bigquery.Client) -> None:
        self.columns = columns
        self._id = id_
        self._client = client
        self._values = RowValues({column.name: column.type for column in columns})
        self._intervals = [column.name for column in columns if column.type == Scalar("INTERVAL")]

    def append(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        valid: list[Mapping[str, Any]] = []
        refused: dict[int, str] = {}
        for index, row in enumerate(rows):
            try:
                self._values.convert(row)
            except InvalidRecord as error:
                refused[index] = str(error)
            else:
                times = {name: row[name].removeprefix("0-0 0 ") for name in self._intervals if row.get(name)}
                valid.append({**row, **times})
        if valid and (errors := self._client.insert_rows_json(str(self._id), valid, retry=_RETRY, timeout=PATIENCE)):
            raise Rejected(f"{self._id}: the emulator refuses rows: {errors}")
        return refused
