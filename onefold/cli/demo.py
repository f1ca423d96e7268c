"""The command that shows everything on this machine, with tables of its own or with those of the user."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click
from rich.console import Console

from onefold.cli.capture import PASSWORD, server_id, tables
from onefold.cli.common import CHANGES, OK
from onefold.core.errors import InvalidInput

if TYPE_CHECKING:
    from onefold.demo.source import SourceUrl


@click.command()
@click.option(
    "--source", metavar="URL", help="A database of your own: mysql://USER@HOST[:PORT][/DATABASE]. It is only read."
)
@tables
@click.option("--once", is_flag=True, help="With --source: do not follow changes.  [default without a terminal]")
def demo(source: str | None, include: tuple[str, ...], exclude: tuple[str, ...], once: bool) -> int:
    """Show the main jobs on this machine: views over versions of tables, and a change log that becomes a table again.

    With an embedded BigQuery, the real functions, and the local Spark. With --source it shows capture instead: tables of
    your own database are copied, compared row by row, and followed until Ctrl-C. Nothing is written to it.
    """
    if not source and (include or exclude or once):
        raise click.UsageError("--include, --exclude and --once are for --source")
    # Capture's log is kept off standard output, and the demo's own words are not.
    console = Console(file=sys.stdout)
    try:
        if source:
            return _demo_of(console, source, include, exclude, once or not sys.stdout.isatty())
        from onefold.demo.tour import run_demo

        run_demo(console)
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error.name} is missing: pip install 'onefold[local]'") from error
    return OK


def _demo_of(console: Console, source: str, include: tuple[str, ...], exclude: tuple[str, ...], once: bool) -> int:
    from onefold.capture.source import Source
    from onefold.demo.own_database import run_capture_demo
    from onefold.demo.source import parse_source, patterns_of
    from onefold.mysql.connection import Address

    url = parse_source(source)
    patterns = patterns_of(url, include, exclude)
    address = Address(url.host, url.port, url.user, _password(url, os.environ))
    # Another number each time: two demos of one source do not break each other off.
    own = Source(address, patterns, server_id(uuid.uuid4().hex))
    return OK if run_capture_demo(console, own, once) else CHANGES


def _password(url: SourceUrl, environ: Mapping[str, str]) -> str:
    """Raises:
    InvalidInput: it is not set, and there is nobody to ask.
    """
    if PASSWORD in environ:
        return environ[PASSWORD]
    if not sys.stdin.isatty():
        raise InvalidInput(f"the user's password is missing: set {PASSWORD}, to nothing where there is none")
    question = f"Password of {url.user} at {url.host}"
    return str(click.prompt(question, default="", show_default=False, hide_input=True, err=True))
