"""The commands of `onefold local`: the stack of this machine, and what works with it."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onefold.cli.common import CHANGES, OK, as_json
from onefold.cli.output import echo_json
from onefold.cli.program import CommandGroup
from onefold.cli.query import csv_option, limit_option, run_query, sql_argument
from onefold.core.errors import InvalidInput
from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold_lab.state import RunningStack

PORT = 9050
_port_option = click.option("--port", metavar="N", type=int, help="The first port of the stack.  [default: the only one]")


@click.group(cls=CommandGroup)
def local() -> None:
    """Run the embedded BigQuery and the functions on this machine, and work with them."""


@local.command()
@click.argument("port", metavar="[PORT]", type=int, default=PORT)
@click.option("--dataset", "datasets", metavar="D", multiple=True, help="Create this dataset, empty; may be repeated.")
@click.option("--detach", is_flag=True, help="Run in the background: return when all servers answer.")
@as_json
def start(port: int, datasets: tuple[str, ...], detach: bool, as_json: bool) -> int:
    """Run BigQuery, Dataproc, topics and the functions until Ctrl-C, and print the variables to export.

    They use three ports from PORT on.  [default: 9050] Where they run already, nothing is started.
    """
    from onefold_lab.serve import print_variables, serve, start_in_background

    def ready(stack: RunningStack) -> None:
        echo_json([stack.as_dict()]) if as_json else print_variables(stack.hosts)

    if detach:
        ready(start_in_background(port, datasets))
        return OK
    with contextlib.suppress(KeyboardInterrupt):
        serve(port, datasets, ready)
    return OK


@local.command()
@_port_option
@as_json
def stop(port: int | None, as_json: bool) -> int:
    """End the stack, and delete all its data. Where none runs, nothing is done."""
    from onefold_lab.state import end_stack, running_stacks, the_stack

    is_there = any(port in (None, stack.port) for stack in running_stacks(os.environ))
    ended = [the_stack(port, os.environ)] if is_there else []
    for stack in ended:
        end_stack(stack)
    if as_json:
        echo_json([stack.as_dict() for stack in ended])
    else:
        click.echo(f"ended the stack at port {ended[0].port}" if ended else "no stack runs")
    return OK


@local.command()
@as_json
def status(as_json: bool) -> int:
    """Show the stacks that run, with their ports and the variables to export. Exits with 2 where none does."""
    from onefold_lab.serve import print_variables
    from onefold_lab.state import running_stacks

    found = running_stacks(os.environ)
    if as_json:
        echo_json([stack.as_dict() for stack in found])
    for stack in found if not as_json else ():
        click.echo(f"# process {stack.pid}, ports from {stack.port} on, state and logs in {stack.folder}")
        print_variables(stack.hosts)
    if not found and not as_json:
        click.echo("no stack runs: start one with `onefold local start --detach`")
    return OK if found else CHANGES


# A query may begin with a comment.
@local.command(context_settings={"ignore_unknown_options": True})
@sql_argument
@limit_option
@csv_option
@_port_option
@as_json
def query(sql: str, limit: int, as_csv: bool, port: int | None, as_json: bool) -> int:
    """Run a query in the embedded BigQuery, and print its rows; any other statement, too. - is standard input."""
    from onefold.adapters.connect import connect
    from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

    _use_stack(port)
    return run_query(connect(DEFAULT_PROJECT), sql, limit, as_csv=as_csv, as_json=as_json, may_write=True)


@local.command()
@click.argument("topic")
@click.argument("message", metavar="MESSAGE")
@_port_option
@as_json
def send(topic: str, message: str, port: int | None, as_json: bool) -> int:
    """Publish a message to a topic of the stack. MESSAGE is its text, as a rule JSON; - is standard input."""
    from onefold.adapters.pubsub import PubSub
    from onefold.ports.publisher import Message
    from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

    _use_stack(port)
    text = sys.stdin.read() if message == "-" else message
    (identifier,) = PubSub(DEFAULT_PROJECT).publish(topic, [Message(text.encode())])
    if as_json:
        echo_json([{"topic": topic, "id": identifier}])
    else:
        click.echo(f"published to {topic} as {identifier}")
    return OK


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

    _use_stack(None)
    loaded = []
    for name, rows in land_workload(folder, dataset, table):
        loaded.append({"table": f"{dataset}.{name}", "rows": rows})
        if not as_json:
            click.echo(f"{dataset}.{name}: {counted(rows, 'row')}")
    if as_json:
        echo_json(loaded)
    return OK


def _use_stack(port: int | None) -> None:
    """Let this process reach a stack: the one that is named, else that of the environment, else the only one that runs.

    Raises:
        InvalidInput: there is none.
        NotFound: several run and none is named, or none runs at the port.
    """
    from onefold.adapters.bigquery.errors import EMULATOR
    from onefold_lab.state import running_stacks, the_stack

    if port is None and os.environ.get(EMULATOR):
        return
    if port is None and not running_stacks(os.environ):
        raise InvalidInput(
            f"{EMULATOR} is not set: start the stack with onefold local start, or in the background with --detach"
        )
    os.environ.update(the_stack(port, os.environ).hosts)
