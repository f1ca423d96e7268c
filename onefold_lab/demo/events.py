"""The demo of events: a Spark job shreds them, a loader makes and migrates the tables, and one view joins all versions."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from onefold.adapters.connect import connect
from onefold.core.errors import Rejected
from onefold.core.shutdown import Stop, ended_in_order
from onefold.doctor.java import java_hint
from onefold_lab.demo.ad_clicks import AS_TEXT, CAMPAIGN, CLICKS, click, event, page
from onefold_lab.demo.event_stages import DATASET, EventStages
from onefold_lab.processes import bigquery_emulator, function_server
from onefold_lab.pubsub import Listener, LocalTopics
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

NEXT = "docs/tutorials/events.md"
"""The page that shows the same with commands."""
_CONFIG = "onefold.yaml"
_TOPIC = "table-created"


def run_events_demo(console: Console) -> None:
    """Shred and load events four times, while their schema changes.

    Args:
        console: shows the steps.

    Raises:
        Rejected: there is no Java for Spark, a step failed, or the view does not have the events.
    """
    if hint := java_hint():
        raise Rejected(hint)
    console.rule("[bold]Onefold: tables of events that create and migrate themselves")
    with ended_in_order(), contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onefold-events-"))).resolve()
        console.print("Starting the embedded BigQuery, the function [bold]refresh_view[/], and Spark ...")
        topics = stack.enter_context(_warehouse(folder))
        stages = stack.enter_context(EventStages.opened(console, folder, topics))
        _play(console, stages)
    console.print()
    console.rule("[bold]Done: every good event is in one view, whatever its version")
    console.print(f"Next: the same with commands, step by step: {NEXT}", highlight=False)


@contextlib.contextmanager
def _warehouse(folder: Path) -> Iterator[LocalTopics]:
    """Run the embedded BigQuery with the dataset, and the function that keeps the views. Yields the topics."""
    config = folder / _CONFIG
    config.write_text(f"version_column: _version\ndatasets: {{{DATASET}: {{version_pattern: labels}}}}\n")
    with contextlib.ExitStack() as stack:
        os.environ["BIGQUERY_EMULATOR_HOST"] = stack.enter_context(bigquery_emulator())
        connect(DEFAULT_PROJECT).client.create_dataset(DATASET)
        log = stack.enter_context(tempfile.TemporaryFile())
        environ = {"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_CONFIG": str(config)}
        url = stack.enter_context(function_server("refresh_view", environ, log))
        topics = LocalTopics({_TOPIC: Listener(url, log)}, Stop(), lambda *_: None)
        stack.callback(topics.close)
        yield topics


def _play(console: Console, stages: EventStages) -> None:
    """Tell the story: what happens to the schema, and what the runs make of the events."""
    console.print()
    console.rule("[bold]1[/] a schema, events, tables", align="left")
    stages.add(page())
    stages.add(click("1-0-0", CLICKS))
    stages.arrive(
        event(1, "1-0-0", {"ad": "shoes", "clicks": 5, "tags": ["autumn", "sale"]}, path="/home"),
        event(2, "1-0-0", {"ad": "hats", "clicks": 1}),
        event(3, "1-0-0", {"ad": 7, "clicks": "many"}),
        "not an event",
    )
    stages.shred()
    stages.show_bad()
    stages.load()
    stages.show_view("ad", "clicks", "tags")
    _the_race(console, stages)
    _wrong_versions(console, stages)
    stages.load_again()
    stages.check(1, 2, 4, 5, 6, 7, 8)


def _the_race(console: Console, stages: EventStages) -> None:
    console.print()
    console.rule("[bold]2[/] a version with a new column is added while the shredder runs", align="left")
    added = click("1-0-1", {**CLICKS, **CAMPAIGN})
    stages.arrive(
        event(4, "1-0-0", {"ad": "shoes", "clicks": 2}),
        event(5, "1-0-1", {"ad": "shoes", "clicks": 3, "campaign": "black friday"}),
    )
    stages.shred(meanwhile=added)
    stages.show_bad()
    stages.load()
    stages.show_columns("campaign")

    console.print()
    console.rule("[bold]3[/] bad rows are input again, and the column comes with its first rows", align="left")
    stages.arrive(event(6, "1-0-1", {"ad": "hats", "clicks": 8, "campaign": "newsletter"}))
    stages.shred(bad=True)
    stages.load()
    stages.show_columns("campaign")


def _wrong_versions(console: Console, stages: EventStages) -> None:
    console.print()
    console.rule("[bold]4[/] a version with a wrong number is refused", align="left")
    properties = {**CLICKS, **CAMPAIGN}
    stages.refuse(click("1-0-4", properties))
    stages.refuse(click("1-0-2", {**properties, **AS_TEXT}))
    stages.add(click("2-0-0", {**properties, **AS_TEXT}))

    console.print()
    console.rule("[bold]5[/] a version that got past the rules has a recovery table", align="left")
    stages.add_past_the_rules(click("1-0-2", {**properties, **AS_TEXT}))
    stages.arrive(
        event(7, "1-0-2", {"ad": "shoes", "clicks": "a dozen"}),
        event(8, "2-0-0", {"ad": "hats", "clicks": "13", "campaign": "newsletter"}),
    )
    stages.shred()
    stages.load()
    stages.show_view("_version", "ad", "clicks", "campaign")
