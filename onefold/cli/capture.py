"""The command of capture: a source's log into messages."""

from __future__ import annotations

import json
import os
import signal
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onefold.capture.versioned_table import LENGTH
from onefold.cli.common import ERROR, OK, as_json, given, project, read_settings
from onefold.core.errors import InvalidInput, InvalidSettings
from onefold.core.names import check_names, versioned_name
from onefold.core.versioned_names import VersionedNames
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.capture.options import CaptureOptions
    from onefold.capture.run import Capture
    from onefold.core.shutdown import Stop
    from onefold.mysql.connection import Address

PASSWORD = "ONEFOLD_SOURCE_PASSWORD"  # noqa: S105 the name of the variable
TABLE_CREATED, CHANGE_RECORDS = "table-created", "change-records"
_SERVER_IDS = 1 << 31

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def options_of(*options: Decorator) -> Decorator:
    """Several options as one decorator, in their order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


file_option = click.Path(exists=True, dir_okay=False, path_type=Path)
address = options_of(
    click.option("--host", metavar="H", required=True, help="The source's address."),
    click.option("--port", metavar="N", type=click.IntRange(1, 65535), default=3306, show_default=True),
    click.option("--user", metavar="U", required=True, help="Who reads: docs/how-to/run-capture.md names the grants."),
    click.option("--password-file", metavar="FILE", type=file_option, help=f"Its password.  [default: {PASSWORD}]"),
    click.option("--tls-ca", metavar="FILE", type=file_option, help="Who vouches for the source; its name is checked, too."),
    click.option("--tls-any-name", is_flag=True, help="With --tls-ca: the certificate may be of another name than --host."),
    click.option("--tls-cert", metavar="FILE", type=file_option, help="The certificate by which the user is known."),
    click.option("--tls-key", metavar="FILE", type=file_option, help="Its key."),
    click.option("--server-id", metavar="N", type=click.IntRange(1, (1 << 32) - 1), help="A number that no replica has."),
)
tables = options_of(
    click.option("--include", metavar="PATTERN", multiple=True, help="Tables (shop.order*) or databases (shop_*).  [all]"),
    click.option("--exclude", metavar="PATTERN", multiple=True, help="Tables or databases to leave out."),
)
places = options_of(
    click.option("--source", metavar="NAME", required=True, help="The source's name in the key of its rows: for ever."),
    click.option("--dataset", metavar="D", required=True, help="Where the versioned tables are."),
    click.option("--checkpoint", metavar="PLACE", required=True, help="A folder, or gs://BUCKET/FOLDER."),
    click.option("--bucket", metavar="PLACE", help="For rows too large for a message.  [default: ONEFOLD_LARGE_RECORDS]"),
)
starts = options_of(
    click.option("--start", metavar="FILE:OFFSET", help="Where to begin without a checkpoint.  [default: the log's end]"),
    click.option("--gtid", metavar="SET", help="Begin behind these transactions, without a checkpoint."),
    click.option("--epoch", metavar="N", type=click.IntRange(min=1), default=1, help="Copy all anew, unless it was done."),
    click.option("--gtid-failover", is_flag=True, help="Where the server is replaced by a replica, go on by GTIDs."),
    click.option("--snapshot", is_flag=True, help="Copy all tables first, once, while changes stream."),
    click.option("--again", metavar="PATTERN", multiple=True, help="Copy these tables again, now."),
    click.option("--once", is_flag=True, help="End at the log's present end, with all copies through."),
)


checks = options_of(
    click.option("--check", is_flag=True, help="Check source and destination, and change nothing."),
    as_json,
)


@click.command()
@address
@tables
@places
@starts
@checks
@project
@click.pass_context
def capture(context: click.Context, /, **options: Any) -> int:
    """Follow the binary log of a MySQL or MariaDB server: every change of a row becomes a message on `change-records`.

    For every new structure of a table, its versioned table is created and announced first. It runs until it is ended
    (SIGTERM), and goes on from its checkpoint. What it does is told on standard output, one JSON object a line.
    Before it writes anything it checks the source and all that it writes to; --check does no more than that.
    """
    if options["as_json"] and not options["check"]:
        raise InvalidInput("--json is the form of what --check prints: add --check")
    check_names([("dataset", options["dataset"]), *given(("project", options["project"]))])
    settings = read_settings(context)
    where = address_of(options, os.environ)
    wanted = options_from(options)
    with _progress() as watch:
        process = _process(settings, where, wanted, options, watch)
        if options["check"]:
            return _show_check(process, options)
        end_by_signal(process)
        process.run()
    return OK


def _show_check(process: Capture, options: Mapping[str, Any]) -> int:
    from onefold.adapters.gcs import GcsObjects
    from onefold.capture.checkpoint_store import store_at
    from onefold.capture.preflight import preflight
    from onefold.cli.capture_report import show_report

    store = store_at(options["checkpoint"], GcsObjects())
    report = preflight(process.source, process.requirements, store, process.warehouse, process.options)
    if options["as_json"]:
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        show_report(Console(highlight=False, emoji=False), report)
    return OK if report.in_order else ERROR


def address_of(options: Mapping[str, Any], environ: Mapping[str, str]) -> Address:
    """Raises:
    InvalidInput: no password, or TLS options that do not fit together.
    """
    from onefold.mysql.connection import Address

    problems = []
    if options["password_file"]:
        password = options["password_file"].read_text().rstrip("\r\n")
    elif PASSWORD in environ:
        password = environ[PASSWORD]
    else:
        problems.append(f"the user's password is missing: set {PASSWORD}, or name a file with --password-file")
    if options["tls_key"] and not options["tls_cert"]:
        problems.append("--tls-key needs --tls-cert")
    if options["tls_any_name"] and not options["tls_ca"]:
        problems.append("--tls-any-name needs --tls-ca")
    if problems:
        raise InvalidInput(problems)
    return Address(options["host"], options["port"], options["user"], password, _tls(options))


def _tls(options: Mapping[str, Any]) -> dict[str, Any]:
    files = {f"ssl_{part}": str(options[f"tls_{part}"]) for part in ("ca", "cert", "key") if options[f"tls_{part}"]}
    if not options["tls_ca"]:
        return files
    return {**files, "ssl_verify_cert": True, "ssl_verify_identity": not options["tls_any_name"]}


def options_from(options: Mapping[str, Any]) -> CaptureOptions:
    """Raises:
    InvalidInput: a start that is none, a name that is empty.
    """
    from onefold.capture.options import CaptureOptions
    from onefold.mysql.table_filter import TableFilter

    if not options["source"].strip():
        raise InvalidInput("--source is empty: it is part of the key of every row")
    again = TableFilter(options["again"]) if options["again"] else None
    return CaptureOptions(
        options["source"], options["dataset"], _start(options["start"], options["gtid"]), options["snapshot"], again,
        options["once"], options["epoch"], options["gtid_failover"],
    )  # fmt: skip


def _start(place: str | None, gtid: str | None) -> Any:
    from onefold.capture.checkpoint import Progress
    from onefold.mysql.binlog.events import LogPosition, file_number
    from onefold.mysql.gtid import read_executed

    if place and gtid:
        raise InvalidInput("--start and --gtid both say where to begin: name one")
    if gtid:
        return Progress(executed=read_executed(gtid))
    if not place:
        return None
    file, _, offset = place.rpartition(":")
    if not file or not offset.isdigit():
        raise InvalidInput(f"--start {place!r}: write FILE:OFFSET, as in mysql-bin.000123:4")
    file_number(file)
    return Progress(LogPosition(1, file, int(offset)))


def _process(
    settings: Settings,
    where: Address,
    wanted: CaptureOptions,
    options: Mapping[str, Any],
    watch: Callable[[str, int, int], None],
) -> Capture:
    from onefold.adapters.connect import connect
    from onefold.adapters.gcs import GcsObjects
    from onefold.adapters.pubsub import PubSub
    from onefold.capture.announce import Announcer, Destination
    from onefold.capture.checkpoint_store import store_at
    from onefold.capture.large_rows import large_rows_at
    from onefold.capture.message_batcher import Publishing
    from onefold.capture.outbox import Outbox
    from onefold.capture.requirements import destination
    from onefold.capture.run import Capture
    from onefold.capture.source import Source
    from onefold.mysql.table_filter import TableFilter

    check_names_of_capture(settings, wanted.dataset)
    warehouse = connect(options["project"] or settings.project)
    publisher, stop = PubSub(warehouse.project), _stop(os.environ)
    target = Destination(warehouse, publisher, wanted.dataset, settings.topic_table_created or TABLE_CREATED)
    outbox = Outbox(publisher, settings.topic_change_records or CHANGE_RECORDS, stop)
    large_rows = large_rows_at(options["bucket"] or settings.large_records, GcsObjects())
    way = Publishing(wanted.source, wanted.dataset, Announcer(target, stop), outbox, large_rows, stop)
    topic, store = settings.topic_schema_changes, store_at(options["checkpoint"], GcsObjects())
    topics = [outbox.topic, target.topic, *([topic] if topic else [])]
    return Capture(
        Source(where, TableFilter(options["include"], options["exclude"]), options["server_id"] or server_id(wanted.source)),
        store,
        way,
        warehouse,
        lambda message: publisher.publish(topic, [message]) if topic else None,
        wanted,
        watch,
        requirements=destination(warehouse, publisher, wanted.dataset, topics, store, large_rows),
    )


def _stop(environ: Mapping[str, str]) -> Stop:
    """Return the stop of this thread, which shows that it lives in the file that the environment names.

    Raises:
        InvalidInput: the file cannot be written.
    """
    from onefold.capture.heartbeat import VARIABLE, Heartbeat
    from onefold.core.shutdown import Stop

    path = environ.get(VARIABLE)
    if not path:
        return Stop()
    try:
        return Stop(Heartbeat(Path(path)).beat)
    except OSError as error:
        raise InvalidInput(f"{VARIABLE}: {path} cannot be written ({error.strerror}): name another file") from error


def check_names_of_capture(settings: Settings, dataset: str) -> None:
    """Raise InvalidSettings where the tables that capture creates would be no versions in their dataset."""
    pattern, version = settings.names_in(dataset).pattern, "0123abcdef"[-LENGTH:]
    table = versioned_name("customer", version)
    if VersionedNames(pattern).split(table) != ("customer", version):
        raise InvalidSettings(
            f"capture names tables as {table}, which version_pattern {pattern} of dataset {dataset} does not match: "
            "set another version_pattern for the dataset in onefold.yaml, or capture into another dataset"
        )


def server_id(source: str) -> int:
    """A number for a source, in the upper half, where nobody numbers servers by hand."""
    return _SERVER_IDS + zlib.crc32(source.encode()) % (_SERVER_IDS - 1)


def end_by_signal(process: Capture) -> None:
    """The end is noticed within a second, and comes after a last checkpoint; with a second Ctrl-C, at once."""

    def end(*_: object) -> None:
        process.publishing.stop.set()
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar of the tables that are copied, on a terminal; nothing elsewhere."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, visible=False)

        def watch(text: str, through: int, tables: int) -> None:
            bar.update(task, description=text, completed=through, total=tables, visible=through < tables)

        yield watch
