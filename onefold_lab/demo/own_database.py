"""The demo with a database of the user: capture, load and compare its tables on this machine. It is only read."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.connect import connect
from onefold.capture.quarantine import TableProblem
from onefold.capture.source import CapturedSource
from onefold.core.errors import TryAgain
from onefold.core.names import TableId, table_name, versioned_name
from onefold.core.shutdown import ended_in_order
from onefold.core.text import counted
from onefold.mysql.catalog import TableName
from onefold.refresh.display import show_changes
from onefold.schema.columns import Column
from onefold.schema.diff import compare
from onefold.settings.environment import Settings
from onefold_lab.demo.capture_thread import (
    CHANGE_RECORDS,
    DATASET,
    SOURCE,
    TABLE_CREATED,
    CaptureEvent,
    CaptureThread,
    CopyProgress,
    InMemoryCheckpoint,
    LogLine,
    RowsLanded,
    VersionAnnounced,
    capture_thread,
    table_of,
)
from onefold_lab.demo.display import copying_bar, show_chosen, show_comparisons
from onefold_lab.demo.source import choose, server_settings, without
from onefold_lab.demo.source_comparison import SourceComparison, compare_with_source
from onefold_lab.processes import bigquery_emulator, function_server
from onefold_lab.pubsub import Listener
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

_POLL_SECONDS = 0.2
_QUIET_SECONDS = 1.0
"""A table is compared when it has not changed for so long."""
_TRIES = 2
_COLOURS = {"CRITICAL": "red", "ERROR": "red", "WARNING": "yellow"}
# Events of the log that the demo shows in another form.
_SHOWN_OTHERWISE = ("table_announced", "captured", "copied")


def run_capture_demo(console: Console, source: CapturedSource, once: bool) -> bool:
    """Copy the tables of a source, show their views, and follow changes until Ctrl-C.

    Args:
        console: shows the steps.
        source: the source with its filter of tables.
        once: stop after the copies and the changes that the log has by then.

    Returns:
        True if each table was compared, and was equal to the source when that was done last.

    Raises:
        InvalidSettings: all problems of the settings of the source.
        NotFound: there is no table to show.
        Rejected: a function or a query failed.
        TryAgain: the source does not answer.
    """
    console.rule("[bold]Onefold: a database of your own, every version of every table as one")
    problems = _check(console, source)
    chosen = choose(source, {problem.table for problem in problems})
    show_chosen(console, chosen)
    for problem in problems:
        console.print(f"[red]In quarantine: {escape(str(problem))}[/]", highlight=False)
    console.print("Starting the embedded BigQuery, and the functions [bold]refresh_view[/] and [bold]sink_records[/] ...")
    with ended_in_order(), tempfile.TemporaryDirectory() as folder, _listeners(folder) as listeners:
        demo = _OwnDatabaseDemo(console, without(source, chosen.left_out), listeners, Path(folder), connect(DEFAULT_PROJECT))
        demo.uncompared |= {problem.table: "it is in quarantine" for problem in problems}
        demo.copy(chosen.tables)
        if not once:
            with contextlib.suppress(KeyboardInterrupt):
                demo.follow()
        demo.name_uncompared()
    console.print()
    console.rule("[bold]Done: nothing was written to your database, and the copies are deleted")
    return not demo.different and not demo.uncompared


def _check(console: Console, source: CapturedSource) -> Sequence[TableProblem]:
    """Check the server, and return the problems of single tables."""
    address = source.address
    console.print(f"Asking {address.host}:{address.port} as {address.user} ...", highlight=False, markup=False)
    problems = source.check().problems
    version, settings = server_settings(source)
    listed = ", ".join(f"{name} {value}" for name, value in settings.items())
    console.print(f"Version {version}: {listed}. It can be captured.", highlight=False, markup=False)
    console.print("Your database is only read: nothing is written to it.")
    return problems


@contextlib.contextmanager
def _listeners(folder: str) -> Iterator[Mapping[str, Listener]]:
    """Run the embedded BigQuery and the functions. Yields the functions by topic."""
    environ = {
        "ONEFOLD_PROJECT": DEFAULT_PROJECT,
        "ONEFOLD_DATASETS": DATASET,
        "ONEFOLD_TOPIC_DEAD_LETTER": "dead-letter",
        "ONEFOLD_LARGE_RECORDS": Path(folder).resolve().as_uri(),
        # There is no Pub/Sub: the log of the function names a row that does not fit, and nothing reaches a real project.
        "PUBSUB_EMULATOR_HOST": "127.0.0.1:9",
    }
    targets = {TABLE_CREATED: "refresh_view", CHANGE_RECORDS: "sink_records"}
    with contextlib.ExitStack() as stack:
        os.environ["BIGQUERY_EMULATOR_HOST"] = stack.enter_context(bigquery_emulator())
        connect(DEFAULT_PROJECT).client.create_dataset(DATASET)
        listeners = {}
        for topic, target in targets.items():
            log = stack.enter_context(tempfile.TemporaryFile())
            listeners[topic] = Listener(stack.enter_context(function_server(target, environ, log)), log)
        yield listeners


@dataclass
class _OwnDatabaseDemo:
    """The state of the demo: what was compared, and what has changed since."""

    console: Console
    source: CapturedSource
    """The source without the tables that are left out."""
    listeners: Mapping[str, Listener]
    folder: Path
    warehouse: BigQueryWarehouse
    different: set[TableName] = field(default_factory=set)
    """Tables that differed when they were last compared."""
    uncompared: dict[TableName, str] = field(default_factory=dict)
    """Tables that could not be compared with their source, each with the reason."""
    _store: InMemoryCheckpoint = field(default_factory=InMemoryCheckpoint)
    _views: dict[str, tuple[Column, ...]] = field(default_factory=dict)
    """The last known columns of each unified view."""
    _versions: set[str] = field(default_factory=set)
    _losses: dict[str, int] = field(default_factory=dict)
    _changed: dict[TableName, float] = field(default_factory=dict)
    """When each table that is still to be compared last changed, by its name in BigQuery."""

    def copy(self, tables: Iterable[TableName]) -> None:
        """Copy the tables, and compare each with its source."""
        self.console.print()
        self._copy()
        found = {one.table: one for one in self._compared(tables)}
        for _ in range(_TRIES):
            if not self.different:
                break
            # A table may have changed during the copy: by now the log has the change.
            self._copy()
            found |= {one.table: one for one in self._compared(sorted(self.different))}
        show_comparisons(self.console, found.values())
        self._changed.clear()

    def name_uncompared(self) -> None:
        """Name the tables that were not compared, which may differ from their source."""
        for table, reason in sorted(self.uncompared.items()):
            self.console.print(f"[red]Not compared: {escape(f'{table}: {reason}')}[/]", highlight=False)

    def _copy(self) -> None:
        with copying_bar(self.console) as show, self._running_capture(once=True) as running:
            while not running.ended() or not running.events.empty():
                event = running.next(_POLL_SECONDS)
                if isinstance(event, CopyProgress):
                    show(event)
                elif not isinstance(event, RowsLanded):
                    self._show(event)
            running.check()

    def follow(self) -> None:
        """Show each change, and compare the changed tables, until Ctrl-C."""
        self._invite()
        with self._running_capture(once=False) as running:
            until = None
            while True:
                self._show(running.next(_POLL_SECONDS))
                running.check()
                quiet = [table for table, at in self._changed.items() if time.monotonic() - at > _QUIET_SECONDS]
                # If the source does not answer, the next round asks again; capture reports the error.
                with contextlib.suppress(TryAgain):
                    until = (until or self.source.end_position(epoch=1)) if quiet else None
                    if until and self._store.is_beyond(until):
                        self._compare(quiet)
                        until = None

    def _invite(self) -> None:
        self.console.print()
        self.console.rule("[bold]Change something in your database now: INSERT, UPDATE, DELETE, ALTER. Ctrl-C ends")
        self.console.print(
            "A new version appears with its first row. In another terminal, Onefold's commands work on these copies, in the "
            f"dataset {DATASET}:"
        )
        host = os.environ["BIGQUERY_EMULATOR_HOST"]
        # Print one line, however long, so that it can be copied.
        exports = f"export BIGQUERY_EMULATOR_HOST={host} ONEFOLD_PROJECT={DEFAULT_PROJECT}"
        self.console.print(exports, highlight=False, soft_wrap=True)

    def _running_capture(self, once: bool) -> contextlib.AbstractContextManager[CaptureThread]:
        return capture_thread(self.source, self.listeners, self.folder, self._store, once)

    def _show(self, event: CaptureEvent | None) -> None:
        match event:
            case VersionAnnounced():
                self._announced(event)
            case RowsLanded():
                self._landed(event)
            case LogLine():
                self._logged(event)

    def _announced(self, event: VersionAnnounced) -> None:
        """Show a new version and its view. Each start of capture announces known versions again."""
        name = versioned_name(event.base, event.version)
        if name in self._versions:
            return
        self._versions.add(name)
        view = self.warehouse.get_view(Settings().view_of(TableId(DEFAULT_PROJECT, DATASET, event.base)))
        made = f"refresh_view has written {view.id.table}" if view else "there is no view of it"
        self.console.print(f"[bold]{escape(name)}[/] is new: {escape(made)}", highlight=False)
        columns, before = view.columns if view else (), self._views.get(event.base)
        self._views[event.base] = columns
        if before is not None:
            show_changes(self.console, compare(before, columns))

    def _landed(self, event: RowsLanded) -> None:
        by_database: dict[str, Counter[str]] = {}
        for (database, kind), count in event.kinds.items():
            by_database.setdefault(database, Counter())[kind] += count
        for database, kinds in by_database.items():
            self._note(TableName(database, event.base))
            counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
            line = f"{database}.{event.base}: {counts} landed in {event.versioned}"
            self.console.print(line, highlight=False, markup=False)

    def _logged(self, event: LogLine) -> None:
        if table := table_of(event):
            self._note(table)
        if event.event not in _SHOWN_OTHERWISE and event.severity != "INFO":
            self.console.print(escape(event.message), style=_COLOURS.get(event.severity, ""), highlight=False)
        losses = event.fields.get("losses") or {}
        for value, count in losses.items() - self._losses.items():
            line = f"{value}: {counted(count, 'value')} that BigQuery cannot hold so far"
            self.console.print(escape(line), style="yellow", highlight=False)
        self._losses |= losses

    def _note(self, table: TableName) -> None:
        self._changed[landed_name(table)] = time.monotonic()

    def _compare(self, tables: Iterable[TableName]) -> None:
        found = self._compared(tables)
        for table in tables:
            del self._changed[table]
        if found:
            show_comparisons(self.console, found)

    def _compared(self, tables: Iterable[TableName]) -> list[SourceComparison]:
        """Bring the views of tables up to date, and compare each table with its source."""
        present = {landed_name(table): table for table in self.source.tables()}
        found = []
        for table in tables:
            name = present.get(landed_name(table), table)
            self.uncompared.pop(name, None)
            if name in self._store.quarantine():
                self.console.print(f"{name} is in quarantine: it is compared when it leaves quarantine", markup=False)
                self.uncompared[name] = "it is in quarantine"
                continue
            comparison = compare_with_source(self.warehouse, DATASET, SOURCE, self.source, name)
            self.different.discard(name)
            if comparison is None:
                self.console.print(f"{name} is not in your database any more; its landed rows stay", markup=False)
                continue
            found.append(comparison)
            if comparison.found is None:
                self.uncompared[name] = comparison.reason
            elif comparison.differs:
                self.different.add(name)
        return found


def landed_name(table: TableName) -> TableName:
    """Return a table with the name that it has in BigQuery."""
    return TableName(table.database, table_name(table.table))
