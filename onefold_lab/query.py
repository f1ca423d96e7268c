"""The rows of a query in the embedded BigQuery, as a table for people."""

from __future__ import annotations

import os
from typing import Any

from rich.table import Table
from rich.text import Text

from onefold.adapters.bigquery.errors import EMULATOR, translated
from onefold.core.errors import InvalidInput
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, ONE_TRY, emulator_client

_ONE_TRY: dict[str, Any] = {**ONE_TRY, "job_retry": None}


def query_table(sql: str) -> Table:
    """Return the result of a query as a table.

    Raises:
        InvalidInput: no emulator is set.
        Rejected: BigQuery refuses the query.
        TryAgain: the emulator does not answer.
    """
    if not os.environ.get(EMULATOR):
        raise InvalidInput(f"{EMULATOR} is not set: start the stack with onefold local start, and export what it prints")
    with translated("the query"):
        rows = emulator_client(DEFAULT_PROJECT).query_and_wait(sql, **_ONE_TRY)
        table = Table(*(field.name for field in rows.schema))
        for row in rows:
            table.add_row(*(Text("NULL", style="dim") if value is None else Text(str(value)) for value in row.values()))
    return table
