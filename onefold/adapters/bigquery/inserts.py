"""Few rows, inserted over REST by `tabledata.insertAll`: a process that writes some now and then needs no gRPC for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onefold.adapters.bigquery.client import BigQueryClient
from onefold.adapters.bigquery.errors import translated
from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.core.text import shown_list


class BigQueryInserts(BigQueryClient):
    """`onefold.ports.rows.RowInserter`."""

    def insert_rows(self, id_: TableId, rows: Sequence[dict[str, Any]]) -> None:
        with translated(str(id_)):
            refused = self._call(self._client.insert_rows_json, str(id_), list(rows))
        if refused:
            reasons = dict.fromkeys(error.get("message", "") for row in refused for error in row["errors"])
            raise Rejected(f"{id_} takes none of {len(rows)} rows: {shown_list(filter(None, reasons))}")
