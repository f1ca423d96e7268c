"""The command `capture status`: how far a capture has come, as its checkpoint tells."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onefold.cli.common import CHANGES, OK, as_json
from onefold.cli.output import echo_json
from onefold.core.errors import NotFound
from onefold.core.extras import needing
from onefold.core.text import counted, shown_list

if TYPE_CHECKING:
    from onefold.capture.checkpoint_report import CheckpointReport

_SHOWN_TABLES = 20


@click.command()
@click.option("--checkpoint", metavar="FOLDER", required=True, help="The folder of capture's --checkpoint.")
@click.option(
    "--max-lag", metavar="SECONDS", type=click.IntRange(min=1), default=300, show_default=True,
    help="The most seconds by which the captured data may be out of date.",
)  # fmt: skip
@as_json
@needing("capture")
def status(checkpoint: str, max_lag: int, as_json: bool) -> int:
    """Show how far a capture has come: position, lag, copies and quarantine, as its checkpoint tells.

    It needs the right to read the checkpoint, and nothing else; the process may be running or not. It exits with 2 if
    somebody is needed: a table is in quarantine, or the captured data is out of date.
    """
    report = _report(checkpoint, max_lag)
    if as_json:
        echo_json([report.to_json()])
    else:
        _show(Console(highlight=False, emoji=False), report)
    return CHANGES if report.problems else OK


def _report(address: str, max_lag: int) -> CheckpointReport:
    """Read the checkpoint without reserving it.

    Raises:
        NotFound: there is no checkpoint.
    """
    from onefold.adapters.gcs import GcsObjects
    from onefold.capture.checkpoint_report import CheckpointReport
    from onefold.capture.checkpoint_store import open_checkpoint_store

    found = open_checkpoint_store(address, GcsObjects()).peek()
    if found is None:
        raise NotFound(
            f"expected a checkpoint in {address}, got none: name the folder of capture's --checkpoint, or start it"
        )
    return CheckpointReport(found, time.time(), max_lag)


def _show(console: Console, report: CheckpointReport) -> None:
    table = Table(show_header=False)
    for name, value in _rows(report):
        table.add_row(name, escape(value))
    console.print(table)
    for problem in report.problems:
        console.print(f"[yellow]{escape(problem)}[/]", soft_wrap=True)


def _rows(report: CheckpointReport) -> Iterator[tuple[str, str]]:
    found = report.to_json()
    yield "source", f"{found['source']}, into dataset {found['dataset']}"
    yield "epoch", str(found["epoch"])
    yield "position", f"{found['file']}, {found['offset']}" if found["file"] else found["gtids"] or "unknown"
    yield "lag", "unknown" if found["lag_seconds"] is None else f"{found['lag_seconds']:,} s"
    saved = found["saved_at"]
    yield "saved", f"{saved}, {found['saved_seconds_ago']:,} s ago" if saved else "unknown"
    yield "waiting for a copy", _tables(found["copies_waiting"])
    yield "being copied", _tables([f"{one['table']} ({counted(one['rows'], 'row')})" for one in found["copies_running"]])
    yield "delete scans", _tables(found["delete_scans"])
    yield "quarantine", _tables([f"{one['database']}.{one['table']}" for one in found["quarantine"]])


def _tables(names: list[Any]) -> str:
    """Return the number of tables with the first names."""
    return f"{counted(len(names), 'table')}: {shown_list(names, _SHOWN_TABLES)}" if names else "none"
