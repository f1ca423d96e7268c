"""Run a query in the embedded BigQuery, and print its rows: `python -m onefold.local.query "SELECT ..."`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT, ONE_TRY, emulator_client
from onefold.adapters.bigquery.errors import EMULATOR, translated
from onefold.core.errors import InvalidInput, OnefoldError

_USAGE = 'usage: python -m onefold.local.query "SELECT ..."'
_ONE_TRY: dict[str, Any] = {**ONE_TRY, "job_retry": None}


def query_table(sql: str) -> Table:
    """Return the result of a query as a table.

    Raises:
        InvalidInput: no emulator is set.
        Rejected: BigQuery refuses the query.
        TryAgain: the emulator does not answer.
    """
    if not os.environ.get(EMULATOR):
        raise InvalidInput(f"{EMULATOR} is not set: start the stack with python -m onefold.local, and export what it prints")
    with translated("the query"):
        rows = emulator_client(DEFAULT_PROJECT).query_and_wait(sql, **_ONE_TRY)
        table = Table(*(field.name for field in rows.schema))
        for row in rows:
            table.add_row(*(Text("NULL", style="dim") if value is None else Text(str(value)) for value in row.values()))
    return table


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code.

    Args:
        arguments: the query.
    """
    if list(arguments) in (["--help"], ["-h"]):
        print(f"{__doc__}\n\n{_USAGE}")  # noqa: T201
        return 0
    if len(arguments) != 1 or (arguments[0].startswith("-") and not arguments[0].split()[1:]):
        sys.stderr.write(f"{_USAGE}\n")
        return 1
    try:
        Console(highlight=False, emoji=False).print(query_table(arguments[0]))
    except OnefoldError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
