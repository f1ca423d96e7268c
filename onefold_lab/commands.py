"""The commands of `onefold local`: the stack of this machine, and what works with it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import CHANGES, OK, as_json, say
from onefold.cli.output import echo_json
from onefold.cli.program import CommandGroup
from onefold.cli.query import csv_option, limit_option, run_query, sql_argument
from onefold.cli.warehouse import unknown_table
from onefold.core.errors import InvalidInput, Rejected
from onefold.core.text import counted
from onefold.settings.environment import load_settings
from onefold.settings.variables import LAB_PROJECT

if TYPE_CHECKING:
    from onefold_lab.state import RunningStack


_MESSAGE = """write it as '{"dataset": "shop", "table": {"name": "customer"}}'"""


class _FormerArgument(click.Argument):
    """An argument that no help shows any more."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 as click calls it
        return []


@click.group(cls=CommandGroup)
def local() -> None:
    """Run the embedded BigQuery and the functions on this machine, and work with them."""


@local.command()
@click.argument("former_port", cls=_FormerArgument, metavar="PORT", type=int, required=False)
@click.option("--port", metavar="N", type=int, help="The first of its three ports.  [default: 9050]")
@click.option("--dataset", "datasets", metavar="D", multiple=True, help="Create this dataset, empty; may be repeated.")
@click.option("--detach", is_flag=True, help="Run in the background: return when all servers answer.")
@as_json
def start(former_port: int | None, port: int | None, datasets: tuple[str, ...], detach: bool, as_json: bool) -> int:
    """Run BigQuery, Dataproc, topics and the functions until Ctrl-C, and print the variables to export.

    Where they run already, nothing is started: datasets that are missing are created there.
    """
    from onefold_lab.serve import print_variables, serve, start_in_background

    if former_port is not None:
        say("yellow", f"the port is now --port {former_port}; the next release refuses it without --port")
        port = port or former_port

    def ready(stack: RunningStack) -> None:
        if as_json:
            echo_json([stack.as_dict()])
            return
        print_variables(stack.hosts)
        say("dim", 'set them in each terminal: eval "$(onefold local status)"')

    if detach:
        ready(start_in_background(port, datasets))
        return OK
    with contextlib.suppress(KeyboardInterrupt):
        serve(port, datasets, ready)
    return OK


@local.command()
@as_json
def stop(as_json: bool) -> int:
    """End the stack, and delete all its data. Where none runs, nothing is done."""
    from onefold_lab.state import end_stack

    stack = _running_stack()
    if stack:
        end_stack(stack)
    if as_json:
        echo_json([stack.as_dict()] if stack else [])
    else:
        click.echo(f"ended the stack at port {stack.port}" if stack else "no stack runs")
    return OK


@local.command()
@as_json
def status(as_json: bool) -> int:
    """Show the stack that runs, with its ports and the variables to export. Exits with 2 where none does.

    Nothing but the variables is on standard output, for `eval`.
    """
    from onefold_lab.serve import print_variables
    from onefold_lab.state import check_answers

    stack = _running_stack()
    if stack:
        check_answers(stack)
    if as_json:
        echo_json([stack.as_dict()] if stack else [])
    elif stack:
        click.echo(f"# process {stack.pid}, ports from {stack.port} on, state and logs in {stack.folder}")
        print_variables(stack.hosts)
    else:
        say("yellow", "no stack runs: start one with `onefold local start --detach`")
    return OK if stack else CHANGES


# A query may begin with a comment.
@local.command(context_settings={"ignore_unknown_options": True})
@sql_argument
@limit_option
@csv_option
@click.option("--allow-write", is_flag=True, help="Run any statement: the data of the stack are nobody's but yours.")
@as_json
def query(sql: str, limit: int, as_csv: bool, allow_write: bool, as_json: bool) -> int:
    """Run a SELECT in the embedded BigQuery, and print its rows. SQL is the text of the query; - is standard input.

    Anything but a SELECT is refused before it runs, but for --allow-write.
    """
    from onefold.adapters.connect import connect

    _use_stack()
    others = None if allow_write else "Other statements need --allow-write"
    return run_query(connect(LAB_PROJECT), sql, limit, as_csv=as_csv, as_json=as_json, others=others)


@local.command()
@click.argument("topic")
@click.argument("message", metavar="MESSAGE")
@as_json
def send(topic: str, message: str, as_json: bool) -> int:
    """Publish a message to a topic of the stack. MESSAGE is its text, one object of JSON; - is standard input."""
    from onefold.adapters.pubsub import PubSub
    from onefold.ports.publisher import Message

    text = sys.stdin.read() if message == "-" else message
    content = message_object(text)
    _use_stack()
    if warning := _unknown_table(content):
        say("yellow", f"Warning: {warning}")
    (identifier,) = PubSub(LAB_PROJECT).publish(topic, [Message(text.encode())])
    if as_json:
        echo_json([{"topic": topic, "id": identifier}])
    else:
        click.echo(f"published to {topic} as {identifier}")
    return OK


def message_object(text: str) -> dict[str, Any]:
    """Return the object of a message.

    Raises:
        InvalidInput: the text is no object of JSON; the error names the line.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"MESSAGE is not JSON ({place}: {error.msg}): nothing was published; {_MESSAGE}") from error
    if not isinstance(content, dict):
        raise InvalidInput(f"MESSAGE is JSON, and no object (line 1): nothing was published; {_MESSAGE}")
    return content


def _unknown_table(content: Mapping[str, Any]) -> str:
    """Return a warning that a message names a table that is not there; an empty text for any other message."""
    from onefold.adapters.connect import connect

    dataset, table = content.get("dataset"), content.get("table")
    name = table.get("name") if isinstance(table, dict) else None
    if not isinstance(dataset, str) or not isinstance(name, str):
        return ""
    names = load_settings(os.environ, None).names_in(dataset)
    return unknown_table(connect(LAB_PROJECT), dataset, name, names)


@local.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("dataset")
@click.argument("table")
@as_json
def load(folder: Path, dataset: str, table: str, as_json: bool) -> int:
    """Load a workload into the embedded BigQuery, as capture would land it.

    DIR/changes/VERSION.jsonl becomes TABLE_v_VERSION. DIR/truth.jsonl becomes TABLE_truth, the source's rows at the end.
    """
    from onefold_lab.load_workload import land_workload

    _use_stack()
    loaded = []
    for name, rows in land_workload(folder, dataset, table):
        loaded.append({"table": f"{dataset}.{name}", "rows": rows})
        if not as_json:
            click.echo(f"{dataset}.{name}: {counted(rows, 'row')}")
    if as_json:
        echo_json(loaded)
    return OK


@local.command()
@click.argument("landed")
@click.argument("database")
@as_json
def datastream(landed: str, database: str, as_json: bool) -> int:
    """Append what capture has landed to plain tables, in the shape in which Datastream writes them in append-only mode.

    LANDED is the dataset of capture. The tables of DATABASE, a database of the source, go to the dataset of its name.
    """
    from onefold_lab.datastream import append_changes
    from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client

    _use_stack()
    warehouse = EmulatedWarehouse(emulator_client(DEFAULT_PROJECT))
    appended = []
    for table, rows in append_changes(warehouse, landed, database):
        appended.append({"table": f"{database}.{table}", "rows": rows})
        if not as_json:
            click.echo(f"{database}.{table}: {counted(rows, 'change')} more")
    if as_json:
        echo_json(appended)
    elif not appended:
        click.echo(f"no change of {database} has landed in {landed} since the last time")
    return OK


def _running_stack() -> RunningStack | None:
    from onefold_lab.state import find_stack, state_folder

    return find_stack(state_folder(os.environ))


def _use_stack() -> None:
    """Let this process reach a stack: that of the environment, else the one that runs.

    Raises:
        NotFound: there is none.
        Rejected: it was stopped.
    """
    from onefold.adapters.google_errors import BIGQUERY
    from onefold_lab.state import the_stack

    host = os.environ.get(BIGQUERY.emulator)
    if not host:
        os.environ.update(the_stack(os.environ).hosts)
    elif missing := BIGQUERY.missing_emulator(host):
        raise Rejected(missing)
