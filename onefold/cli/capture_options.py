"""The options of `onefold capture`: how they are declared, and the address and the settings that they give."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import as_json, raise_problems
from onefold.cli.output import OptionOrVariable
from onefold.cli.renamed import say_renamed
from onefold.core.errors import InvalidInput, Rejected

if TYPE_CHECKING:
    from onefold.capture.checkpoint import Progress
    from onefold.capture.copy_pace import CopyPace
    from onefold.capture.options import CaptureOptions
    from onefold.mysql.connection import Address

PASSWORD = "ONEFOLD_SOURCE_PASSWORD"  # noqa: S105 the name of the variable
FLUSH_SECONDS = 0.5
_SERVER_IDS = 1 << 31
"""The first number of a server that `server_id` gives."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def options_of(*options: Decorator) -> Decorator:
    """Return one decorator that adds several options to a command, in their order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


file_option = click.Path(exists=True, dir_okay=False, path_type=Path)
address = options_of(
    click.option("--host", metavar="H", required=True, help="The address of the source."),
    click.option("--port", metavar="N", type=click.IntRange(1, 65535), default=3306, show_default=True, help="Its port."),
    click.option(
        "--user", metavar="U", required=True, help="The user that reads; docs/how-to/run-capture.md lists its grants."
    ),
    click.option(
        "--password-from",
        metavar="REF",
        help=f"Where the password is: env:NAME, file:PATH, projects/P/secrets/S.  [default: env:{PASSWORD}]",
    ),
    click.option("--password-file", metavar="FILE", type=file_option, hidden=True),
    click.option(
        "--tls-ca",
        metavar="FILE",
        type=file_option,
        help="The authority of the server's certificate; the name is checked, too.",
    ),
    click.option("--tls-any-name", is_flag=True, help="With --tls-ca: accept a certificate for another name than --host."),
    click.option("--tls-cert", metavar="FILE", type=file_option, help="The certificate of the user."),
    click.option("--tls-key", metavar="FILE", type=file_option, help="The key of the user's certificate."),
    click.option(
        "--server-id", metavar="N", type=click.IntRange(1, (1 << 32) - 1), help="A server number that no replica has."
    ),
)
tables = options_of(
    click.option("--include", metavar="PATTERN", multiple=True, help="Tables (shop.order*) or databases (shop_*).  [all]"),
    click.option("--exclude", metavar="PATTERN", multiple=True, help="Tables or databases to leave out."),
)
destinations = options_of(
    click.option(
        "--source", metavar="NAME", required=True, help="The name of the source in the key of its rows. Never change it."
    ),
    click.option("--dataset", metavar="D", required=True, help="The dataset of the versioned tables."),
    click.option("--checkpoint", metavar="FOLDER", required=True, help="A folder on disk, or gs://BUCKET/FOLDER."),
    click.option("--bucket", metavar="FOLDER", help="For rows too large for a message.  [default: ONEFOLD_LARGE_RECORDS]"),
)
starts = options_of(
    click.option(
        "--start", metavar="FILE:OFFSET", help="Where to begin if there is no checkpoint.  [default: the end of the log]"
    ),
    click.option("--gtid", metavar="SET", help="Begin after these transactions if there is no checkpoint."),
    click.option(
        "--epoch", metavar="N", type=click.IntRange(min=1), default=1, help="Begin this epoch and copy all tables."
    ),
    click.option("--gtid-failover", is_flag=True, help="If a replica replaces the server, continue by GTIDs."),
    click.option("--snapshot", is_flag=True, help="Copy all tables once, while changes stream."),
    click.option("--again", metavar="PATTERN", multiple=True, help="Copy these tables again."),
    click.option(
        "--accept-fewer-rules", is_flag=True, help="Start although rules of `captures` are gone; columns land clear then."
    ),
    click.option(
        "--copy-rate", metavar="ROWS/S", type=click.IntRange(min=1), help="The most rows per second that copies read."
    ),
    click.option(
        "--copy-window", metavar="HH:MM-HH:MM", help="Copy at these hours only: '22:00-05:00 Europe/Berlin'.  [UTC]"
    ),
    click.option(
        "--metrics-port",
        metavar="N",
        type=click.IntRange(1, 65535),
        help="Answer /healthz and /metrics at this port.  [default: ONEFOLD_METRICS_PORT, else none]",
    ),
    click.option(
        "--flush-seconds",
        cls=OptionOrVariable,
        metavar="S",
        type=click.FloatRange(0.1, 60),
        envvar="ONEFOLD_FLUSH_SECONDS",
        default=FLUSH_SECONDS,
        help="Rows wait so long at most for others to share a message.  [default: ONEFOLD_FLUSH_SECONDS, else 0.5]",
    ),
    click.option("--once", is_flag=True, help="Stop at the present end of the log, after all copies."),
)


checks = options_of(
    click.option("--check", "--dry-run", "check", is_flag=True, help="Check source and destination, and change nothing."),
    as_json,
)


def address_of(options: Mapping[str, Any], environ: Mapping[str, str]) -> Address:
    """Return the address of the source, with user, password and TLS options.

    Args:
        options: the options of the command by name.
        environ: the environment, which may hold the password.

    Raises:
        InvalidInput: the password is missing, or TLS options do not fit together; all problems at once.
    """
    from onefold.adapters.secrets import read_password
    from onefold.mysql.connection import Address

    problems = []
    if options["password_file"]:
        say_renamed("--password-file FILE", "--password-from file:FILE")
    former = f"file:{options['password_file']}" if options["password_file"] else None
    try:
        password = read_password(options["password_from"] or former or f"env:{PASSWORD}", environ)
    except Rejected as error:
        problems.append(f"the password of {options['user']} is missing: set {PASSWORD}, or use --password-from: {error}")
    if options["tls_key"] and not options["tls_cert"]:
        problems.append("--tls-key needs --tls-cert: name the certificate of the key")
    if options["tls_any_name"] and not options["tls_ca"]:
        problems.append("--tls-any-name needs --tls-ca: name the authority of the certificate")
    raise_problems(problems)
    return Address(options["host"], options["port"], options["user"], password, _tls(options))


def _tls(options: Mapping[str, Any]) -> dict[str, Any]:
    files = {f"ssl_{part}": str(options[f"tls_{part}"]) for part in ("ca", "cert", "key") if options[f"tls_{part}"]}
    if not options["tls_ca"]:
        return files
    return {**files, "ssl_verify_cert": True, "ssl_verify_identity": not options["tls_any_name"]}


def options_from(options: Mapping[str, Any]) -> CaptureOptions:
    """Return the settings of a capture from the options of the command.

    Raises:
        InvalidInput: the start is invalid, or the name of the source is empty.
    """
    from onefold.capture.options import CaptureOptions
    from onefold.mysql.table_filter import TableFilter

    if not options["source"].strip():
        raise InvalidInput("--source is empty: name the source; the name is part of the key of every row")
    again = TableFilter(options["again"]) if options["again"] else None
    return CaptureOptions(
        source=options["source"],
        dataset=options["dataset"],
        start=_start(options["start"], options["gtid"]),
        snapshot=options["snapshot"],
        again=again,
        once=options["once"],
        epoch=options["epoch"],
        follow_gtids=options["gtid_failover"],
        pace=_pace(options),
        accept_fewer_rules=options["accept_fewer_rules"],
        flush_seconds=options["flush_seconds"],
    )


def _pace(options: Mapping[str, Any]) -> CopyPace:
    """Return the limits of copies.

    Raises:
        InvalidInput: the window is invalid, or the process would end before the window begins.
    """
    from onefold.capture.copy_pace import CopyPace, copy_window

    window = copy_window(options["copy_window"]) if options["copy_window"] else None
    if window and options["once"]:
        raise InvalidInput("--copy-window cannot be combined with --once: start the process within the window instead")
    return CopyPace(options["copy_rate"], window)


def _start(position: str | None, gtid: str | None) -> Progress | None:
    """Return where to begin if there is no checkpoint; None for the end of the log.

    Raises:
        InvalidInput: both options are given, or one of them has another form.
    """
    from onefold.capture.checkpoint import Progress
    from onefold.mysql.binlog.events import LogPosition, file_number
    from onefold.mysql.gtid import read_executed

    if position and gtid:
        raise InvalidInput("--start and --gtid both set where to begin: give only one of them")
    if gtid:
        return Progress(executed=read_executed(gtid))
    if not position:
        return None
    file, _, offset = position.rpartition(":")
    if not file or not offset.isdigit():
        raise InvalidInput(f"expected --start FILE:OFFSET, got {position!r}: write it as in mysql-bin.000123:4")
    file_number(file)  # raises InvalidInput
    return Progress(LogPosition(1, file, int(offset)))


def server_id(source: str) -> int:
    """Return a server number for a source, from 2^31 up: the numbers that people give are small."""
    return _SERVER_IDS + zlib.crc32(source.encode()) % (_SERVER_IDS - 1)
