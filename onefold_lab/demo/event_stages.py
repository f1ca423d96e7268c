"""The steps of the demo of events, each of them by the code that a deployment runs, and what they show."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from onefold.adapters.bigquery.event_tables import BigQueryEventTables
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.connect import connect
from onefold.adapters.objects_at import run_objects_at, writable_objects_at
from onefold.batches.shred_arguments import ShredArguments
from onefold.core.errors import Rejected, SchemaInvalid
from onefold.core.names import TableId, quote
from onefold.core.text import counted
from onefold.events.load.announce import announcing
from onefold.events.load.load import Loader
from onefold.events.load.report import EventTableReport
from onefold.events.load.runs import FolderRuns, runs_address
from onefold.events.registry.copies import Copies
from onefold.events.registry.frozen import Wanted
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.open import open_registry_store
from onefold.events.registry.registry import Registry
from onefold.events.registry.store import RegistryStore
from onefold.events.shred.bad_rows import original_of
from onefold.events.shred.manifest import run_folder
from onefold.refresh.display import show_rows
from onefold.settings.registry import RegistrySettings
from onefold_lab.demo.ad_clicks import BASE
from onefold_lab.pubsub import LocalTopics
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATASET = "events"
_SPARK = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
}
_UNIFIED = TableId(DEFAULT_PROJECT, DATASET, f"{BASE}_unified")


@dataclass
class EventStages:
    """The steps of the demo.

    Attributes:
        console: shows them.
        folder: the registry, the events and the runs are below it.
        topics: deliver the messages about tables.
        spark: runs the shredder.
        warehouse: the embedded BigQuery.
    """

    console: Console
    folder: Path
    topics: LocalTopics
    spark: SparkSession
    warehouse: BigQueryWarehouse
    _files: int = field(default=0, init=False)
    _run: str = field(default="", init=False)

    @staticmethod
    @contextlib.contextmanager
    def opened(console: Console, folder: Path, topics: LocalTopics) -> Iterator[EventStages]:
        """Start Spark, and end it with the block. Yields the steps.

        Args:
            console: shows the steps.
            folder: an empty folder.
            topics: deliver the messages about tables.
        """
        from onefold.spark.session import open_session

        for name in ("registry", "events", "runs"):
            (folder / name).mkdir()
        with _errors_in(folder / "spark.log"):
            spark = open_session("onefold demo", _SPARK)
        try:
            yield EventStages(console, folder, topics, spark, connect(DEFAULT_PROJECT))
        finally:
            spark.stop()

    def add(self, schema: JsonSchema) -> None:
        """Add a schema to the registry."""
        self._store().add(schema)
        self._print(f"[bold]onefold schema add[/]: {schema.key.uri} is added")

    def refuse(self, schema: JsonSchema) -> None:
        """Try to add a schema that the registry refuses, and show the reasons.

        Raises:
            Rejected: the registry has taken it.
        """
        try:
            self._store().add(schema)
        except SchemaInvalid as error:
            self._print(f"[bold]onefold schema add[/]: {schema.key.uri} is refused:")
            for violation in error.problems:
                self._print(f"  {escape(violation)}")
            return
        raise Rejected(f"the registry has taken {schema.key.uri}, which breaks its rules")

    def add_past_the_rules(self, schema: JsonSchema) -> None:
        """Add a schema as a registry without rules would."""
        address = str(self.folder / "registry")
        RegistryStore(address, writable_objects_at(address), lambda *_: ()).add(schema)
        self._print(f"A tool without these rules writes {schema.key.uri} into the registry: clicks are texts there.")

    def arrive(self, *lines: str) -> None:
        """Write a new file of events."""
        self._files += 1
        name = f"good-{self._files}.json"
        (self.folder / "events" / name).write_text("".join(f"{line}\n" for line in lines))
        verb = "arrives" if len(lines) == 1 else "arrive"
        self._print(f"{counted(len(lines), 'event')} {verb} in [bold]events/{name}[/]")

    def shred(self, bad: bool = False, meanwhile: JsonSchema | None = None) -> None:
        """Run the shredder over the files that no run has read.

        Args:
            bad: read the bad rows of earlier runs, too.
            meanwhile: a schema that is added right after the job has read the registry.
        """
        from onefold.spark.shred.job import shred
        from onefold.spark.shred.registry import read_registry

        runs = self.folder / "runs"
        folders = sorted(str(path) for path in runs.glob("run=*/bad")) if bad else []
        arguments = ShredArguments(
            (str(self.folder / "events"), *folders), (str(self.folder / "registry"),), str(runs), "enriched-json", "bigquery"
        )
        added: list[JsonSchema] = []

        def registry(wanted: Wanted, copies: Copies) -> Registry:
            found = read_registry(arguments.registry, None, wanted, copies)
            if meanwhile:
                self._store().add(meanwhile)
                added.append(meanwhile)
            return found

        report = shred(self.spark, arguments, registry)
        self._run = report.run or ""
        words = " runs/run=*/bad" if bad else ""
        self._print(f"[bold]spark_jobs/shred.py --events events{words}[/] writes {run_folder(self._run)}:")
        for schema in added:
            self._print(f"  meanwhile: {schema.key.uri} is added, after the job has read the registry")
        for line in report.summary().splitlines()[:-1]:
            self._print(f"  {escape(line)}")

    def show_bad(self) -> None:
        """Show the bad rows of the last run, with every reason."""
        self._print("Its bad rows have every reason, and keep the original:")
        for path in sorted((self.folder / "runs" / run_folder(self._run) / "bad").glob("part-*")):
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self._print(f"  {row['kind']}: {escape(_short(original_of(line)))}")
                for reason in row["reasons"]:
                    self._print(f"    {escape(reason)}")

    def load(self) -> None:
        """Load the runs that are not loaded.

        Raises:
            Rejected: a table was not loaded.
        """
        self._print("[bold]onefold load-shredded[/] reads the manifest that the run wrote last:")
        for report in self._loader().load():
            for table in report.tables:
                self._print(f"  {escape(_loaded(table))}")
            if report.errors:
                raise Rejected("; ".join(map(str, report.errors)))

    def load_again(self) -> None:
        """Load once more, which changes nothing.

        Raises:
            Rejected: something was loaded twice.
        """
        if list(self._loader().load()):
            raise Rejected("a run was loaded twice")
        self._print("\nonefold load-shredded once more: every run is loaded, and nothing is loaded twice.")

    def show_columns(self, column: str) -> None:
        """Show whether the table of the first model has a column, and so whether the view has it."""
        tables = {TableId(DEFAULT_PROJECT, DATASET, f"{BASE}_1"): "table", _UNIFIED: "view"}
        for id_, kind in tables.items():
            names = [one.name for one in self.warehouse.client.get_table(str(id_)).schema] if kind == "table" else None
            view = self.warehouse.get_view(id_) if kind == "view" else None
            has = column in (names if names is not None else [one.name for one in view.columns] if view else [])
            self._print(f"  the {kind} {id_.table} has {'the' if has else 'no'} column {column}{'' if has else ' yet'}")

    def show_view(self, *columns: str) -> None:
        """Show the unified view."""
        shown = ", ".join(map(quote, columns))
        rows = self.warehouse.fetch(f"SELECT {shown} FROM {_UNIFIED.quoted} ORDER BY root_tstamp")
        show_rows(
            self.console, f"{_UNIFIED.table}", list(columns), [[_cell(value) for value in row.values()] for row in rows]
        )

    def check(self, *good: int) -> None:
        """Check that the view has every good event once.

        Args:
            good: the numbers of the events.

        Raises:
            Rejected: events are missing, or there are others.
        """
        rows = self.warehouse.fetch(f"SELECT root_id FROM {_UNIFIED.quoted}")
        found = sorted(int(str(row["root_id"])[-12:]) for row in rows)
        if found != list(good):
            raise Rejected(f"expected the events {good} in {_UNIFIED}, got {found}")
        self._print(f"{_UNIFIED.table} has each of the {len(good)} good events once.")

    def _store(self) -> RegistryStore:
        address = str(self.folder / "registry")
        return open_registry_store(address, writable_objects_at(address), RegistrySettings())

    def _loader(self) -> Loader:
        address = runs_address(str(self.folder / "runs"))
        announce = announcing(self.topics, "table-created", DATASET)
        return Loader(FolderRuns(address, run_objects_at(address)), BigQueryEventTables(self.warehouse, DATASET), announce)

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def _errors_in(path: Path) -> Iterator[None]:
    """Write into a file what processes that are started print on standard error: Java prints warnings that say nothing."""
    sys.stderr.flush()
    before = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    started = False
    try:
        yield
        started = True
    finally:
        os.dup2(before, 2)
        os.close(before)
        if not started:
            sys.stderr.write(path.read_text(errors="replace"))


def _loaded(table: EventTableReport) -> str:
    made = "created" if table.action == "create" else f"gets {', '.join(table.added)}" if table.added else "as it was"
    recovery = "; a recovery table, which the log reports as CRITICAL" if table.is_new_recovery else ""
    return f"{table.table}: {made}, {counted(table.rows, 'row')}{recovery}"


def _short(original: str) -> str:
    """Return what an event says of itself: its entity, or the text as it is."""
    try:
        inner = json.loads(original)["unstruct_event"]["data"]
    except (ValueError, TypeError, KeyError):
        return original
    return f"{inner['schema'].rpartition('/')[2]} {json.dumps(inner['data'])}"


def _cell(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
