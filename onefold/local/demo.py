"""The demo: the article's two tables, then a small real history, through the real function on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources

from google.cloud import bigquery
from rich.console import Console

from onefold.changes import compare
from onefold.events import table_message
from onefold.local.emulator import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client
from onefold.local.events import send_event
from onefold.local.java import java_hint
from onefold.local.stack import bigquery_emulator, function_server
from onefold.names import TableId, quote, versioned_name
from onefold.settings import Settings
from onefold.show import show_changes, show_rows, show_sql
from onefold.warehouse import StoredView

DATASET = "shop"


@dataclass(frozen=True)
class DemoVersion:
    """A versioned table to create: its columns as BigQuery types, its rows as SQL literals."""

    version: str
    columns: Mapping[str, str]
    rows: Sequence[str]
    why: str = ""


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


def run_demo(console: Console) -> None:
    """Start the stack, tell the function about each new version, and show the view before and after."""
    console.rule("[bold]Onefold: every version of every table, as one")
    console.print("Starting the embedded BigQuery and the real function [bold]refresh_view[/] ...")
    with _stack() as (client, url):
        demo = _Demo(console, client, url)
        demo.play("customer", CUSTOMER)
        history = json.loads(resources.files("onefold.local").joinpath("history.json").read_text())
        console.print(f"\n[bold]A real history.[/] {history['about']}")
        demo.play(history["table"], [_from_history(version) for version in history["versions"]])
    console.rule("[bold]Done: nothing that landed was rewritten, every row is in its view")
    if hint := java_hint():
        console.print(hint)


@contextmanager
def _stack() -> Iterator[tuple[bigquery.Client, str]]:
    with bigquery_emulator() as host:
        os.environ["BIGQUERY_EMULATOR_HOST"] = host
        client = emulator_client(DEFAULT_PROJECT)
        client.create_dataset(DATASET)
        with function_server("refresh_view", {"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_DATASETS": DATASET}) as url:
            yield client, url


class _Demo:
    def __init__(self, console: Console, client: bigquery.Client, url: str) -> None:
        self._console = console
        self._client = client
        self._url = url
        self._warehouse = EmulatedWarehouse(client)

    def play(self, table: str, versions: Sequence[DemoVersion]) -> None:
        base = TableId(DEFAULT_PROJECT, DATASET, table)
        view = Settings().view_of(base)
        for version in versions:
            before = self._warehouse.get_view(view)
            land_version(self._client, base, version)
            message = table_message(DATASET, table, version.version)
            self._console.rule(f"[bold]{versioned_name(table, version.version)}[/] appears: {version.why}")
            self._console.print(f"message: {message.decode()}", highlight=False)
            self._show("before", before)
            send_event(self._url, message)
            after = self._warehouse.get_view(view)
            self._show("after", after)
            if before and after:
                show_changes(self._console, compare(before.columns, after.columns))
        if after:
            self._console.print(f"The SQL of [bold]{view.table}[/]:")
            show_sql(self._console, after.query)

    def _show(self, when: str, view: StoredView | None) -> None:
        if view is None:
            self._console.print(f"{when}: there is no view yet")
            return
        rows: list[tuple[object, ...]] = [
            tuple(row) for row in _run(self._client, f"SELECT * FROM {view.id.quoted} ORDER BY 1")
        ]
        names = [f"{column.name}\n[dim]{column.type}[/]" for column in view.columns]
        show_rows(self._console, f"{when}: {view.id.table}, {len(rows)} rows", names, rows)


def land_version(client: bigquery.Client, base: TableId, version: DemoVersion) -> None:
    """What a capture would do: a table of its own for the structure, and its rows."""
    name = base.sibling(versioned_name(base.table, version.version)).quoted
    columns = ", ".join(f"{quote(column)} {type_}" for column, type_ in version.columns.items())
    _run(client, f"CREATE TABLE {name} ({columns})")
    _run(client, f"INSERT INTO {name} VALUES {', '.join(f'({row})' for row in version.rows)}")


def _run(client: bigquery.Client, sql: str) -> list[bigquery.Row]:
    return list(client.query(sql).result())


def _from_history(version: Mapping[str, object]) -> DemoVersion:
    return DemoVersion(version["version"], version["columns"], version["rows"], version["why"])  # type: ignore[arg-type]
