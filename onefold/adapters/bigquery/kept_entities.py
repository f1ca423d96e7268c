"""The table of unknown entities in a dataset of BigQuery."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import NotFound
from onefold.core.names import TableId, check_names, quote_text
from onefold.ports.kept_entities import UNKNOWN_ENTITIES, KeptEntity

_ORDER = "root_tstamp, root_id, place, data"


class BigQueryKeptEntities:
    """`onefold.ports.kept_entities.KeptEntities` of a dataset of BigQuery."""

    def __init__(self, warehouse: BigQueryWarehouse, dataset: str) -> None:
        check_names([("dataset", dataset)])
        self._warehouse = warehouse
        self._table = TableId(warehouse.project, dataset, UNKNOWN_ENTITIES)

    def schemas(self) -> Sequence[tuple[str, str]]:
        try:
            rows = self._warehouse.fetch(f"SELECT DISTINCT run, schema_uri FROM {self._table.quoted} ORDER BY 1, 2")
        except NotFound:
            return []
        return [(row["run"], row["schema_uri"]) for row in rows]

    def page(self, run: str, uri: str, start: int, count: int) -> Sequence[KeptEntity]:
        rows = self._warehouse.fetch(
            f"SELECT {_ORDER} FROM {self._table.quoted} WHERE run = {quote_text(run)} AND schema_uri = {quote_text(uri)} "
            f"ORDER BY {_ORDER} LIMIT {count} OFFSET {start}"
        )
        return [
            KeptEntity(row["root_id"], row["root_tstamp"].astimezone(UTC).replace(tzinfo=None), row["place"], row["data"])
            for row in rows
        ]
