"""The table of unknown entities in a schema of Redshift."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from onefold.adapters.redshift import statements
from onefold.adapters.redshift.connection import RedshiftConnection
from onefold.adapters.redshift.data_api import DataApi
from onefold.core.names import quote_redshift_text
from onefold.ports.kept_entities import UNKNOWN_ENTITIES, KeptEntity
from onefold.schema.redshift_ddl import table_sql

_ORDER = '"root_tstamp", "root_id", "place", "data"'


class RedshiftKeptEntities:
    """`onefold.ports.kept_entities.KeptEntities` of a schema of Redshift."""

    def __init__(self, connection: RedshiftConnection, sleep: Callable[[float], None] = time.sleep) -> None:
        self._schema = connection.schema
        self._api = DataApi(connection, sleep)
        self._table = table_sql(UNKNOWN_ENTITIES, connection.schema)

    def schemas(self) -> Sequence[tuple[str, str]]:
        """Return the address of the run and the URI of the schema of rows, each pair once; none where there is no table."""
        if not self._api.rows(statements.table_query(self._schema, UNKNOWN_ENTITIES)):
            return []
        found = self._api.rows(f'SELECT DISTINCT "run", "schema_uri" FROM {self._table} ORDER BY 1, 2')
        return [(str(run), str(uri)) for run, uri in found]

    def page(self, run: str, uri: str, start: int, count: int) -> Sequence[KeptEntity]:
        """Return rows of a run and a schema, in an order that is the same for the same rows."""
        found = self._api.rows(
            'SELECT TRIM("root_id"), TO_CHAR("root_tstamp", \'YYYY-MM-DD HH24:MI:SS.US\'), "place", "data" '
            f'FROM {self._table} WHERE "run" = {quote_redshift_text(run)} AND "schema_uri" = {quote_redshift_text(uri)} '
            f"ORDER BY {_ORDER} LIMIT {count} OFFSET {start}"
        )
        return [
            KeptEntity(str(id_), datetime.fromisoformat(str(at)), str(place), str(data)) for id_, at, place, data in found
        ]
