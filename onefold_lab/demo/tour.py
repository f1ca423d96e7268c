"""The tour: example tables, a real history of a table and a change log, handled by the real functions on this machine."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import IO

from google.cloud import bigquery
from rich.console import Console

from onefold.adapters.send_event import send_event
from onefold.core.errors import OnefoldError, Rejected
from onefold.core.names import TableId, quote, versioned_name
from onefold.core.shutdown import ended_in_order
from onefold.doctor.java import java_hint
from onefold.messages.table_created import table_message
from onefold.ports.warehouse import StoredView
from onefold.schema.diff import compare
from onefold.settings.environment import Settings
from onefold_lab.demo.batches import play_batches
from onefold_lab.demo.page import show_page
from onefold_lab.demo.story import FullStory, ShortStory, Story
from onefold_lab.processes import bigquery_emulator, function_server, last_errors
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client

DATASET = "shop"


@dataclass(frozen=True)
class DemoVersion:
    """A versioned table to create: BigQuery types by column, rows as SQL literals, and a text about the version."""

    version: str
    columns: Mapping[str, str]
    rows: Sequence[str]
    reason: str = ""


CUSTOMER = (
    DemoVersion(
        "abc",
        {"id": "INT64", "first_name": "STRING", "last_name": "STRING", "full_name": "STRING"},
        ("1, 'Ada', 'Lovelace', 'Ada Lovelace'", "2, 'Alan', 'Turing', 'Alan Turing'"),
        "the first version",
    ),
    DemoVersion(
        "def",
        {"id": "STRING", "first_name": "STRING", "last_name": "STRING", "email": "STRING"},
        ("'c-3', 'Grace', 'Hopper', 'grace@example.com'", "'c-4', 'Edsger', 'Dijkstra', 'edsger@example.com'"),
        "ids become text, full_name goes, email comes",
    ),
)


NEXT = "onefold demo --source mysql://USER@HOST/DATABASE"
"""The command that a user runs after the tour."""


def run_demo(console: Console, full: bool = False, batches: bool = True) -> None:
    """Start the embedded stack, publish a message about each new version, and show the views; then merge a change log.

    Args:
        console: shows the steps.
        full: show every message, every view before and after it, and the SQL.
        batches: merge a change log by Spark batches, if there is a Java for them.
    """
    console.rule("[bold]Onefold: every version of every table, as one")
    hint = java_hint() if batches else None
    if hint:
        console.print(f"{hint}\nWithout Java the demo ends before the batches.")
    console.print("Starting the embedded BigQuery and the real function [bold]refresh_view[/] ...")
    with ended_in_order(), _stack() as (client, url, log):
        story = (FullStory if full else ShortStory)(console, lambda view: _read_view(client, view))
        demo = _Tour(story, client, url, log)
        demo.play("customer", CUSTOMER)
        history = json.loads(resources.files("onefold_lab.demo").joinpath("history.json").read_text("utf-8"))
        console.print(f"[bold]A real history.[/] {history['about']}")
        demo.play(history["table"], [_from_history(version) for version in history["versions"]])
        if batches and not hint:
            play_batches(console, story, client, os.environ["BIGQUERY_EMULATOR_HOST"], DATASET)
        show_page(console, EmulatedWarehouse(client), DATASET)
    console.rule("[bold]Done: no landed row was rewritten, and every row is in its view")
    console.print(f"Next: your own database, which is only read:\n    {NEXT}", highlight=False, soft_wrap=True)


@contextmanager
def _stack() -> Iterator[tuple[bigquery.Client, str, IO[bytes]]]:
    """Run the embedded stack. Yields a client of the emulator, the URL of the function, and its log."""
    with bigquery_emulator() as host, tempfile.TemporaryFile() as log:
        os.environ["BIGQUERY_EMULATOR_HOST"] = host
        client = emulator_client(DEFAULT_PROJECT)
        client.create_dataset(DATASET)
        environ = {"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_DATASETS": DATASET}
        with function_server("refresh_view", environ, log) as url:
            yield client, url, log


class _Tour:
    """The steps of the tour, with the function `refresh_view` at a URL and its log."""

    def __init__(self, story: Story, client: bigquery.Client, url: str, log: IO[bytes]) -> None:
        self._story = story
        self._client = client
        self._url = url
        self._log = log
        self._warehouse = EmulatedWarehouse(client)

    def play(self, table: str, versions: Sequence[DemoVersion]) -> None:
        base = TableId(DEFAULT_PROJECT, DATASET, table)
        view = None
        for version in versions:
            view = self._step(base, version, view)
        if view:
            self._story.finished(view)

    def _step(self, base: TableId, version: DemoVersion, before: StoredView | None) -> StoredView:
        """Create a version, publish the message about it, and tell how the view changes."""
        # The story may query the view before the version lands.
        self._story.appears(versioned_name(base.table, version.version), version.reason, before)
        land_version(self._client, base, version)
        message = table_message(DATASET, base.table, version.version)
        self._story.message(message)
        after = self._publish(Settings().view_of(base), message)
        self._story.changed(after, compare(before.columns if before else (), after.columns))
        return after

    def _publish(self, view: TableId, message: bytes) -> StoredView:
        """Send the message and return the view that the function wrote.

        Raises:
            Rejected: the function failed; the text has its log, which is deleted with the demo.
        """
        try:
            send_event(self._url, message)
            after = self._warehouse.get_view(view)
        except OnefoldError as error:
            raise Rejected(f"{error}\nIts log:\n{last_errors(self._log)}") from error
        if after is None:
            raise Rejected(f"the function did not create the view {view}\nIts log:\n{last_errors(self._log)}")
        return after


def land_version(client: bigquery.Client, base: TableId, version: DemoVersion) -> None:
    """Create a versioned table with its rows, as capture and sink do.

    Args:
        client: a client of the emulator.
        base: the base name of the table.
        version: the columns and rows.
    """
    name = base.sibling(versioned_name(base.table, version.version)).quoted
    columns = ", ".join(f"{quote(column)} {type_}" for column, type_ in version.columns.items())
    _run(client, f"CREATE TABLE {name} ({columns})")
    _run(client, f"INSERT INTO {name} VALUES {', '.join(f'({row})' for row in version.rows)}")


def _read_view(client: bigquery.Client, view: StoredView) -> list[tuple[object, ...]]:
    return [tuple(row) for row in _run(client, f"SELECT * FROM {view.id.quoted} ORDER BY 1")]


def _run(client: bigquery.Client, sql: str) -> list[bigquery.Row]:
    return list(client.query(sql).result())


def _from_history(version: Mapping[str, object]) -> DemoVersion:
    return DemoVersion(version["version"], version["columns"], version["rows"], version["why"])  # type: ignore[arg-type]
