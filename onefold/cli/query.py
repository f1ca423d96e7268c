"""The command `query`: the rows of a SELECT, which is checked before it runs."""

from __future__ import annotations

import base64
import csv
import json
import math
import sys
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import click
from dateutil.relativedelta import relativedelta

from onefold.cli.common import OK, as_json, given, project, read_settings, say
from onefold.cli.output import echo_json, output_console
from onefold.cli.warehouse import open_project
from onefold.compare.intervals import interval_text
from onefold.core.errors import InvalidInput
from onefold.core.names import check_names
from onefold.core.text import counted, size_text
from onefold.ports.queries import QueryResult, QueryWarehouse

LIMIT = 100


def _text(context: click.Context, parameter: click.Parameter, value: str) -> str:  # noqa: ARG001 as click calls it
    """Return the text of a query, which may be on standard input.

    Raises:
        UsageError: it is empty.
    """
    text = sys.stdin.read() if value == "-" else value
    if not text.strip():
        how = f'write it as `{context.command_path} "SELECT 1 AS one"`'
        raise click.UsageError(f"Expected SQL, got an empty text: {how}.", context)
    return text


sql_argument = click.argument("sql", metavar="SQL", callback=_text)
limit_option = click.option(
    "--limit", metavar="N", type=click.IntRange(min=0), default=LIMIT, show_default=True,
    help="The number of rows to read; 0 for all of them.",
)  # fmt: skip
csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV; its first line has the names of the columns.")


# A query may begin with a comment.
@click.command(context_settings={"ignore_unknown_options": True})
@sql_argument
@limit_option
@csv_option
@project
@as_json
@click.pass_context
def query(context: click.Context, sql: str, limit: int, as_csv: bool, project: str | None, as_json: bool) -> int:
    """Run a SELECT in the project, or in the lab, and print its rows. SQL is the text of the query; - is standard input.

    The type of the statement is checked by a dry run first: anything but a SELECT is refused before it runs.
    """
    check_names(given(("project", project)))
    warehouse = open_project(context, project or read_settings(context).project)
    return run_query(warehouse, sql, limit, as_csv=as_csv, as_json=as_json, others="Other statements are for `bq query`")


def run_query(warehouse: QueryWarehouse, sql: str, limit: int, *, as_csv: bool, as_json: bool, others: str | None) -> int:
    """Run a query and print its rows.

    Args:
        warehouse: where it runs.
        sql: the text of the query.
        limit: the number of rows to read; 0 for all.
        as_csv: print CSV instead of a table.
        as_json: print JSON.
        others: where other statements than a SELECT are run, for the error; None to run them here, unchecked.

    Raises:
        UsageError: both forms are asked for.
        InvalidInput: the statement is no SELECT.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other: leave one out.")
    if others is not None:
        say("dim", f"reads {size_text(_checked_size(warehouse, sql, others))}")
    result = warehouse.read_query(sql, limit or None)
    if as_json:
        echo_json([_as_dict(result)])
    elif as_csv:
        _print_csv(result)
    else:
        _print_table(result)
    _say_end(result)
    return OK


def _checked_size(warehouse: QueryWarehouse, sql: str, others: str) -> int:
    """Return the bytes that a query would read.

    Raises:
        InvalidInput: the statement is no SELECT.
    """
    estimate = warehouse.estimate(sql)
    if estimate.statement_type != "SELECT":
        found = estimate.statement_type.replace("_", " ") or "a statement whose type is not known"
        raise InvalidInput(f"expected one SELECT, got {found}: nothing was run. {others}")
    return estimate.size


def _say_end(result: QueryResult) -> None:
    if result.row_count > len(result.rows):
        say("yellow", f"{len(result.rows):,} of {counted(result.row_count, 'row')}: --limit N reads more, and 0 all")
    say("dim", f"{counted(result.row_count, 'row')}, {size_text(result.processed)} read, {size_text(result.billed)} billed")


def _print_table(result: QueryResult) -> None:
    from onefold.refresh.display import show_rows

    rows = ([_nested(value) for value in row] for row in result.rows)
    show_rows(output_console(), "", [name for name, _ in result.columns], rows)


def _print_csv(result: QueryResult) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([name for name, _ in result.columns])
    writer.writerows([["" if value is None else _nested(json_value(value)) for value in row] for row in result.rows])


def _nested(value: Any) -> Any:
    """Return a struct or an array as the text of JSON, and any other value as it is."""
    return json.dumps(json_value(value), ensure_ascii=False) if isinstance(value, dict | list) else value


def _as_dict(result: QueryResult) -> dict[str, Any]:
    names = [name for name, _ in result.columns]
    return {
        "columns": [{"name": name, "type": type_} for name, type_ in result.columns],
        "rows": [dict(zip(names, map(json_value, row), strict=True)) for row in result.rows],
        "row_count": result.row_count,
        "bytes_processed": result.processed,
        "bytes_billed": result.billed,
    }


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: a number without loss, or else text as BigQuery writes it; BYTES as base64.

    Examples:
        >>> json_value({"at": datetime(2026, 1, 2, 3, 4), "n": [Decimal("1.10")], "b": b"a"})
        {'at': '2026-01-02 03:04:00', 'n': ['1.10'], 'b': 'YQ=='}
    """
    match value:
        case dict():
            return {name: json_value(one) for name, one in value.items()}
        case list() | tuple():
            return [json_value(one) for one in value]
        case bytes():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return str(value)
        case Decimal() | datetime() | date() | time():
            return str(value)
        case relativedelta():
            return interval_text(value)
    return value if isinstance(value, str | bool | int | float | None) else str(value)
