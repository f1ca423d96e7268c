"""The demo over a database of the user's own: captured, landed and compared on this machine. Nothing is written to it."""

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

from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.connect import connect
from onefold.capture.quarantine import Problem
from onefold.capture.source import Source
from onefold.capture.versioned_table import table_name
from onefold.core.errors import TryAgain
from onefold.core.names import TableId, versioned_name
from onefold.core.text import counted
from onefold.demo.capture_thread import (
    CHANGE_RECORDS,
    DATASET,
    SOURCE,
    TABLE_CREATED,
    CaptureThread,
    CopyProgress,
    InMemoryCheckpoint,
    LogLine,
    RowsLanded,
    Tiding,
    VersionAnnounced,
    capturing,
    table_of,
)
from onefold.demo.display import copying_bar, show_beside, show_chosen
from onefold.demo.source import choose, server_settings, without
from onefold.demo.source_comparison import SourceComparison, beside_source
from onefold.local.processes import bigquery_emulator, ended_in_order, function_server
from onefold.local.pubsub import Listener
from onefold.mysql.catalog import TableName
from onefold.schema.columns import Column
from onefold.schema.diff import compare
from onefold.settings.environment import Settings
from onefold.views.display import show_changes

_LOOK_SECONDS = 0.2
_REST_SECONDS = 1.0
"""A table is compared when it has not changed for so long."""
_TRIES = 2
_COLOURS = {"CRITICAL": "red", "ERROR": "red", "WARNING": "yellow"}
# What is shown in the demo's own way.
_SHOWN_OTHERWISE = ("table_announced", "captured", "copied")


def run_capture_demo(console: Console, source: Source, once: bool) -> bool:
    """Copy the tables of a source, show what becomes of them, and follow its changes until Ctrl-C.

    Args:
        once: end after the copies, and what the log holds by then.

    Returns:
        Whether each table was the same as in the source when it was last compared.

    Raises:
        InvalidSettings: every fault of the source's settings.
        NotFound: there is no table to show.
        Rejected, TryAgain: something did not go as it should.
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
        demo.copy(chosen.tables)
        if not once:
            with contextlib.suppress(KeyboardInterrupt):
                demo.follow()
    console.print()
    console.rule("[bold]Done: nothing was written to your database, and what was here is gone")
    return not demo.different


def _check(console: Console, source: Source) -> Sequence[Problem]:
    """Check the server, and give what keeps single tables from being captured."""
    address = source.address
    console.print(f"Asking {address.host}:{address.port} as {address.user} ...", highlight=False, markup=False)
    problems = source.check().problems
    version, settings = server_settings(source)
    told = ", ".join(f"{name} {value}" for name, value in settings.items())
    console.print(f"Version {version}: {told}. It can be captured.", highlight=False, markup=False)
    console.print("It is only read: nothing is written to your database.")
    return problems


@contextlib.contextmanager
def _listeners(folder: str) -> Iterator[Mapping[str, Listener]]:
    """BigQuery, and the functions by the topics that they listen to."""
    environ = {
        "ONEFOLD_PROJECT": DEFAULT_PROJECT,
        "ONEFOLD_DATASETS": DATASET,
        "ONEFOLD_TOPIC_DEAD_LETTER": "dead-letter",
        "ONEFOLD_LARGE_RECORDS": Path(folder).resolve().as_uri(),
        # There is no Pub/Sub: a row that does not fit is told by the function's log, and not sent to anybody's project.
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
    console: Console
    source: Source
    """Without the tables that are left out."""
    listeners: Mapping[str, Listener]
    folder: Path
    warehouse: BigQueryWarehouse
    different: set[TableName] = field(default_factory=set)
    """Tables that were not the same when they were last compared."""
    _store: InMemoryCheckpoint = field(default_factory=InMemoryCheckpoint)
    _views: dict[str, tuple[Column, ...]] = field(default_factory=dict)
    """The columns of each unified view as they were last."""
    _versions: set[str] = field(default_factory=set)
    _losses: dict[str, int] = field(default_factory=dict)
    _changed: dict[TableName, float] = field(default_factory=dict)
    """Tables that are to be compared, by the names that they have in BigQuery, and when they last changed."""

    def copy(self, tables: Iterable[TableName]) -> None:
        """The first copy, with a bar on a terminal; then each table beside its source."""
        self.console.print()
        self._copy()
        found = {one.table: one for one in self._beside(tables)}
        for _ in range(_TRIES):
            if not self.different:
                break
            # Somebody may have changed it meanwhile: the log tells by now.
            self._copy()
            found |= {one.table: one for one in self._beside(sorted(self.different))}
        show_beside(self.console, found.values())
        self._changed.clear()

    def _copy(self) -> None:
        with copying_bar(self.console) as show, self._capturing(once=True) as running:
            while not running.ended() or not running.tidings.empty():
                tiding = running.next(_LOOK_SECONDS)
                if isinstance(tiding, CopyProgress):
                    show(tiding)
                elif not isinstance(tiding, RowsLanded):
                    self._tell(tiding)
            running.check()

    def follow(self) -> None:
        """Tell each change, and compare what has changed, until somebody ends it."""
        self._invite()
        with self._capturing(once=False) as running:
            until = None
            while True:
                self._tell(running.next(_LOOK_SECONDS))
                running.check()
                resting = [table for table, at in self._changed.items() if time.monotonic() - at > _REST_SECONDS]
                # A source that does not answer is asked again; capture tells of it.
                with contextlib.suppress(TryAgain):
                    until = (until or self.source.end_position(epoch=1)) if resting else None
                    if until and self._store.is_beyond(until):
                        self._compare(resting)
                        until = None

    def _invite(self) -> None:
        self.console.print()
        self.console.rule("[bold]Change something in your database now: INSERT, UPDATE, DELETE, ALTER. Ctrl-C ends")
        self.console.print(
            "A new version shows with its first row. In another terminal, Onefold's commands work on what is here, in the "
            f"dataset {DATASET}:"
        )
        host = os.environ["BIGQUERY_EMULATOR_HOST"]
        # In one line, however long: so it can be copied.
        exports = f"export BIGQUERY_EMULATOR_HOST={host} ONEFOLD_PROJECT={DEFAULT_PROJECT}"
        self.console.print(exports, highlight=False, soft_wrap=True)

    def _capturing(self, once: bool) -> contextlib.AbstractContextManager[CaptureThread]:
        return capturing(self.source, self.listeners, self.folder, self._store, once)

    def _tell(self, tiding: Tiding | None) -> None:
        match tiding:
            case VersionAnnounced():
                self._announced(tiding)
            case RowsLanded():
                self._landed(tiding)
            case LogLine():
                self._logged(tiding)

    def _announced(self, tiding: VersionAnnounced) -> None:
        """A version is announced again at each start of a process."""
        name = versioned_name(tiding.base, tiding.version)
        if name in self._versions:
            return
        self._versions.add(name)
        view = self.warehouse.get_view(Settings().view_of(TableId(DEFAULT_PROJECT, DATASET, tiding.base)))
        made = f"refresh_view has written {view.id.table}" if view else "there is no view of it"
        self.console.print(f"[bold]{escape(name)}[/] is new: {escape(made)}", highlight=False)
        columns, before = view.columns if view else (), self._views.get(tiding.base)
        self._views[tiding.base] = columns
        if before is not None:
            show_changes(self.console, compare(before, columns))

    def _landed(self, tiding: RowsLanded) -> None:
        by_database: dict[str, Counter[str]] = {}
        for (database, kind), count in tiding.kinds.items():
            by_database.setdefault(database, Counter())[kind] += count
        for database, kinds in by_database.items():
            self._note(TableName(database, tiding.base))
            told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
            line = f"{database}.{tiding.base}: {told} landed in {tiding.versioned}"
            self.console.print(line, highlight=False, markup=False)

    def _logged(self, tiding: LogLine) -> None:
        if table := table_of(tiding):
            self._note(table)
        if tiding.event not in _SHOWN_OTHERWISE and tiding.severity != "INFO":
            self.console.print(escape(tiding.message), style=_COLOURS.get(tiding.severity, ""), highlight=False)
        losses = tiding.fields.get("losses") or {}
        for value, count in losses.items() - self._losses.items():
            what = f"{value}: {counted(count, 'value')} that BigQuery cannot hold so far"
            self.console.print(escape(what), style="yellow", highlight=False)
        self._losses |= losses

    def _note(self, table: TableName) -> None:
        self._changed[landed_name(table)] = time.monotonic()

    def _compare(self, tables: Iterable[TableName]) -> None:
        found = self._beside(tables)
        for table in tables:
            del self._changed[table]
        if found:
            show_beside(self.console, found)

    def _beside(self, tables: Iterable[TableName]) -> list[SourceComparison]:
        """Bring the views of tables up to date, and compare each with its source."""
        present = {landed_name(table): table for table in self.source.tables()}
        found = []
        for table in tables:
            name = present.get(landed_name(table), table)
            if name in self._store.quarantine():
                self.console.print(f"{name} is in quarantine: it is compared when it has left", markup=False)
                continue
            beside = beside_source(self.warehouse, DATASET, SOURCE, self.source, name)
            self.different.discard(name)
            if beside is None:
                self.console.print(f"{name} is not in your database any more; what has landed stays", markup=False)
                continue
            found.append(beside)
            if not beside.same:
                self.different.add(name)
        return found


def landed_name(table: TableName) -> TableName:
    """By the name that a table has in BigQuery."""
    return TableName(table.database, table_name(table.table))
