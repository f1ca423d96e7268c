"""The command `capture`: publish the changes of a source database as messages."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onefold.cli.capture_options import address, address_of, checks, destinations, options_from, server_id, starts, tables
from onefold.cli.capture_rules import missing_rules, with_rules
from onefold.cli.capture_status import status
from onefold.cli.common import CHANGES, ERROR, OK, given, project, raise_problems, read_settings, say
from onefold.cli.output import echo_json
from onefold.cli.program import CommandGroup
from onefold.cli.unforeseen import logged
from onefold.core.errors import InvalidInput, InvalidSettings
from onefold.core.extras import needing
from onefold.core.log import log
from onefold.core.names import check_names, versioned_name
from onefold.core.versioned_names import VersionedNames
from onefold.landing.version import LENGTH
from onefold.messages.change_records import TOPIC as CHANGE_RECORDS
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.capture.options import CaptureOptions
    from onefold.capture.run import Capture
    from onefold.core.shutdown import Stop
    from onefold.mysql.connection import Address
    from onefold.ports.metrics import Metric

TABLE_CREATED = "table-created"


class _GroupWithOptions(CommandGroup):
    """A command with options of its own and with commands below it, which do not take those options."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command, or of the one below it that is named.

        Raises:
            UsageError: there is no such command.
        """
        if args and not args[0].startswith("-"):  # the command itself takes no arguments
            self.resolve_command(click.Context(self, parent, info_name), args)
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.group(cls=_GroupWithOptions, invoke_without_command=True)
@address
@tables
@destinations
@starts
@checks
@project
@click.pass_context
@needing("capture")
def capture(context: click.Context, /, **options: Any) -> int:
    """Follow the binary log of a MySQL or MariaDB server: every change of a row becomes a message on `change-records`.

    For each new structure of a table, capture first creates a versioned table and announces it. It runs until SIGTERM,
    and continues from its checkpoint. Standard output is its log, one JSON object a line.
    Before capture writes anything, it checks the source and all destinations; --check does only that.
    """
    raise_problems(["--json needs --check: add --check"] if options["as_json"] and not options["check"] else [])
    check_names([("dataset", options["dataset"]), *given(("project", options["project"]))])
    settings = read_settings(context)
    source, capture_options = address_of(options, os.environ), options_from(options)
    _warn_of_missing_rules(settings, capture_options.source, is_check=options["check"])
    with _progress_bar() as show_progress:
        process = prepared_capture(settings, source, capture_options, options, show_progress)
        if options["check"]:
            return _show_check(process, options)
        end_by_signal(process)
        with logged(), _metrics(process, options["metrics_port"] or settings.metrics_port):
            process.run()
    return OK


capture.add_command(status)


def _warn_of_missing_rules(settings: Settings, source: str, *, is_check: bool) -> None:
    """Warn on standard error of a check, whose output is a report, and else in the log."""
    warning = missing_rules(settings, source)
    if warning and is_check:
        say("yellow", warning)
    elif warning:
        log("WARNING", warning, event="no_rules", source=source, known=sorted(settings.captures))


def _show_check(process: Capture, options: Mapping[str, Any]) -> int:
    """Check source and destinations, print the report, and return the exit code."""
    from onefold.adapters.gcs import GcsObjects
    from onefold.capture.checkpoint_store import open_checkpoint_store
    from onefold.capture.preflight import preflight
    from onefold.cli.capture_report import show_report

    store = open_checkpoint_store(options["checkpoint"], GcsObjects())
    report = preflight(process.source, process.requirements, store, process.warehouse, process.options)
    if options["as_json"]:
        echo_json([report.to_json()])
    else:
        show_report(Console(highlight=False, emoji=False), report)
    return ERROR if report.no_answer else OK if report.in_order else CHANGES


@contextmanager
def _metrics(process: Capture, port: int | None) -> Iterator[None]:
    """Serve the health and the metrics of a capture while the block runs, if there is a port."""
    from onefold.adapters.prometheus import metrics_server
    from onefold.capture.heartbeat import problem_of_silence
    from onefold.capture.metrics import metrics_of

    if port is None:
        yield
        return

    def read() -> Iterator[Metric]:
        status = process.status()
        return metrics_of(status) if status else iter(())

    with metrics_server(port, lambda: problem_of_silence(process.publishing.stop.seconds_since_check), read):
        yield


def prepared_capture(
    settings: Settings,
    source: Address,
    capture_options: CaptureOptions,
    options: Mapping[str, Any],
    show_progress: Callable[[str, int, int], None],
) -> Capture:
    """Return a capture, connected to BigQuery, Pub/Sub and its folders, that has read nothing of the source yet.

    Args:
        settings: topics, project and how versioned tables are named.
        source: the address of the source.
        capture_options: what to capture, and from where on.
        options: the options of the command by name.
        show_progress: is called during copies with a message, the tables done, and all tables.
    """
    from onefold.adapters.connect import connect
    from onefold.adapters.gcs import GcsObjects
    from onefold.adapters.pubsub import PubSub
    from onefold.capture.checkpoint_store import open_checkpoint_store
    from onefold.capture.copy_mailbox import open_mailbox
    from onefold.capture.large_rows import large_rows_at
    from onefold.capture.message_batcher import Publishing
    from onefold.capture.outbox import Outbox
    from onefold.capture.requirements import destination
    from onefold.capture.run import Capture
    from onefold.capture.source import CapturedSource
    from onefold.landing.announce import Announcer, Destination
    from onefold.mysql.table_filter import TableFilter

    check_names_of_capture(settings, capture_options.dataset)
    warehouse = connect(options["project"] or settings.project)
    capture_options = with_rules(capture_options, settings, warehouse, os.environ)
    publisher, stop = PubSub(warehouse.project), _stop(os.environ)
    target = Destination(warehouse, publisher, capture_options.dataset, settings.topic_table_created or TABLE_CREATED)
    outbox = Outbox(publisher, settings.topic_change_records or CHANGE_RECORDS, stop)
    large_rows = large_rows_at(options["bucket"] or settings.large_records, GcsObjects())
    name, dataset = capture_options.source, capture_options.dataset
    publishing = Publishing(name, dataset, Announcer(target, stop), outbox, large_rows, stop)
    topic, store = settings.topic_schema_changes, open_checkpoint_store(options["checkpoint"], GcsObjects())
    topics = [outbox.topic, target.topic, *([topic] if topic else [])]
    return Capture(
        CapturedSource(source, TableFilter(options["include"], options["exclude"]), options["server_id"] or server_id(name)),
        store,
        publishing,
        warehouse,
        lambda message: publisher.publish(topic, [message]) if topic else None,
        capture_options,
        show_progress,
        requirements=destination(warehouse, publisher, dataset, topics, store, large_rows),
        mailbox=open_mailbox(options["checkpoint"], GcsObjects()),
    )


def _stop(environ: Mapping[str, str]) -> Stop:
    """Return the stop signal of this thread. If the environment names a heartbeat file, each check touches the file.

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
    """Check that the tables that capture creates count as versioned tables of their dataset.

    Raises:
        InvalidSettings: the version_pattern of the dataset does not match them.
    """
    pattern, version = settings.names_in(dataset).pattern, "0123abcdef"[-LENGTH:]
    table = versioned_name("customer", version)
    if VersionedNames(pattern).split(table) != ("customer", version):
        shown = f" {pattern}" if settings.names_in(dataset).by_labels else ""
        raise InvalidSettings(
            f"version_pattern{shown} of dataset {dataset} does not match the names that capture gives, such as {table}: "
            "set another version_pattern for the dataset in onefold.yaml, or capture into another dataset"
        )


def end_by_signal(process: Capture) -> None:
    """Stop a capture by SIGTERM or Ctrl-C: within a second, after a last checkpoint. A second Ctrl-C ends it at once."""

    def end(*_: object) -> None:
        process.publishing.stop.set()
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


@contextmanager
def _progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar of the copied tables on a terminal, and nothing elsewhere."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, visible=False)

        def show_progress(text: str, done: int, total: int) -> None:
            bar.update(task, description=text, completed=done, total=total, visible=done < total)

        yield show_progress
