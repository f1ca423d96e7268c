"""The command `demo`: the main jobs on this machine, with example tables or with a database of the user."""

from __future__ import annotations

import os
import sys
import uuid

import click
from rich.console import Console

from onefold.cli.capture_options import server_id, tables
from onefold.cli.common import CHANGES, OK, as_json
from onefold.cli.output import echo_json
from onefold.cli.source_url import address_of
from onefold.core.extras import needing


@click.command()
@click.option("--source", metavar="URL", help="Your own database, as mysql://USER@HOST:PORT/DATABASE. It is only read.")
@tables
@click.option("--once", is_flag=True, help="With --source: do not follow changes.  [default if there is no terminal]")
@click.option("--full", is_flag=True, help="Show every message, every view before and after it, and the SQL.")
@click.option("--fast", is_flag=True, help="Leave out the batches, which take most of the time.")
@click.option("--loads", is_flag=True, help="Pull tables of a MariaDB by watermark, which the demo starts, instead.")
@click.option("--events", is_flag=True, help="Shred events into tables that create and migrate themselves, instead.")
@as_json
def demo(
    source: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    once: bool,
    full: bool,
    fast: bool,
    loads: bool,
    events: bool,
    as_json: bool,
) -> int:
    """Show the main jobs on this machine: views over versions of tables, and a change log merged into a table.

    The demo runs an embedded BigQuery, the real functions, and the local Spark. With --source it shows capture instead:
    tables of your own database are copied, compared row by row, and followed until Ctrl-C. Your database is only read.
    With --loads it shows the third job: tables of a MariaDB that must be installed are pulled, loaded and compared.
    With --events it shows the fourth one: a schema registry, and tables of events that follow it.
    With --json the story is on standard error, and standard output has the result alone.
    """
    _check_together(source, bool(include or exclude or once), full or fast, loads, events)
    # Capture prints its log on sys.stdout, which the demo redirects; the console keeps the real stream.
    console = Console(file=sys.stderr if as_json else sys.stdout)
    name = "source" if source else "loads" if loads else "events" if events else "tour"
    with needing("lab"):
        if source:
            is_same = _run_capture_demo(console, source, include, exclude, once or as_json or not sys.stdout.isatty())
        else:
            is_same = _run_story(console, name, full=full, batches=not fast)
    if as_json:
        echo_json([{"demo": name, "ok": is_same}])
    return OK if is_same else CHANGES


def _run_story(console: Console, name: str, *, full: bool, batches: bool) -> bool:
    """Run a demo with example tables; one that goes wrong is an error."""
    if name == "loads":
        from onefold_lab.demo.loads import run_loads_demo

        run_loads_demo(console)
    elif name == "events":
        from onefold_lab.demo.events import run_events_demo

        run_events_demo(console)
    else:
        from onefold_lab.demo.tour import run_demo

        run_demo(console, full=full, batches=batches)
    return True


def _check_together(source: str | None, options_of_source: bool, options_of_tour: bool, loads: bool, events: bool) -> None:
    """Check the options.

    Args:
        source: the database of the user; None for none.
        options_of_source: whether options are given that only --source has.
        options_of_tour: whether options are given that only the demo without --source has.
        loads: whether --loads is given.
        events: whether --events is given.

    Raises:
        UsageError: options are given that do not go together.
    """
    others = source or options_of_source or options_of_tour
    for name, is_given, other in (("--loads", loads, events), ("--events", events, loads)):
        if is_given and (others or other):
            raise click.UsageError(f"{name} is a demo of its own: leave the other options out")
    if options_of_tour and source:
        raise click.UsageError("--full and --fast are for the demo without --source: leave them out")
    if options_of_source and not source:
        raise click.UsageError("--include, --exclude and --once need --source: name a database with it")


def _run_capture_demo(console: Console, source: str, include: tuple[str, ...], exclude: tuple[str, ...], once: bool) -> bool:
    from onefold.capture.source import CapturedSource
    from onefold.mysql.source_url import parse_source
    from onefold_lab.demo.own_database import run_capture_demo
    from onefold_lab.demo.source import patterns_of

    url = parse_source(source)
    patterns = patterns_of(url, include, exclude)
    address = address_of(url, os.environ)
    # A server disconnects a replica when another one with the same number connects: so each demo has its own.
    restricted = CapturedSource(address, patterns, server_id(uuid.uuid4().hex))
    return run_capture_demo(console, restricted, once)
