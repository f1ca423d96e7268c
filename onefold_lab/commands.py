"""The commands `onefold local start`, `query` and `load`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from onefold.cli.common import OK
from onefold.cli.output import CommandGroup

PORT = 9050


@click.group(cls=CommandGroup)
def local() -> None:
    """Run the embedded BigQuery and the functions on this machine, and work with them."""


@local.command()
@click.argument("port", metavar="[PORT]", type=int, default=PORT)
@click.option("--dataset", "datasets", metavar="D", multiple=True, help="Create this dataset, empty; may be repeated.")
def start(port: int, datasets: tuple[str, ...]) -> int:
    """Run BigQuery, Dataproc, topics and the functions until Ctrl-C, and print the variables to export.

    They use three ports from PORT on.  [default: 9050]
    """
    from onefold_lab.serve import serve

    with contextlib.suppress(KeyboardInterrupt):
        serve(port, datasets)
    return OK


# A query may begin with a comment.
@local.command(context_settings={"ignore_unknown_options": True})
@click.argument("sql")
def query(sql: str) -> int:
    """Run a query in the embedded BigQuery, and print its rows."""
    from rich.console import Console

    from onefold_lab.query import query_table

    Console(highlight=False, emoji=False).print(query_table(sql))
    return OK


@local.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("dataset")
@click.argument("table")
def load(folder: Path, dataset: str, table: str) -> int:
    """Load a workload into the embedded BigQuery, as capture would land it.

    DIR/changes/VERSION.jsonl becomes TABLE_v_VERSION. DIR/truth.jsonl becomes TABLE_truth, the source's rows at the end.
    """
    from onefold_lab.load_workload import land_workload

    for line in land_workload(folder, dataset, table):
        click.echo(line)
    return OK
