"""The demo of loads: tables of a real MariaDB are pulled by watermark, loaded, and compared with their source."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from onefold.adapters.connect import connect
from onefold.adapters.pulled_files import FolderFiles
from onefold.core.shutdown import Stop, ended_in_order
from onefold.pull.read.inspect import Choice, choices, draft
from onefold.pull.read.part import FileDestination
from onefold.settings.environment import Settings, load_settings
from onefold.settings.sources import Source, TableLoad, Tls, WatermarkColumn
from onefold_lab.demo.clean_views import DemoCleanViews
from onefold_lab.demo.pulled_source import DATABASE, PulledSource, at
from onefold_lab.demo.pulls import CLUSTER, DATASET, DemoPulls
from onefold_lab.demo.source_checks import DemoChecks
from onefold_lab.mariadb import mariadb_server
from onefold_lab.processes import bigquery_emulator, function_server
from onefold_lab.pubsub import Listener, LocalTopics
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

NEXT = "docs/tutorials/clean-views-and-alerts.md"
"""The page that shows the same with commands."""
_CONFIG = "onefold.yaml"


def run_loads_demo(console: Console) -> None:
    """Pull the tables of a database three times and once a day, with changes between, and compare them with the source.

    Args:
        console: shows the steps.

    Raises:
        Rejected: MariaDB is not installed, a table failed, or a view differs from its source.
    """
    console.rule("[bold]Onefold: tables pulled by watermark, where nobody may read the log")
    with ended_in_order(), contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onefold-loads-"))).resolve()
        source = PulledSource(stack.enter_context(mariadb_server()))
        source.create()
        settings = _settings(console, source, folder)
        console.print("Starting the embedded BigQuery, and the function [bold]refresh_view[/] ...")
        topics = stack.enter_context(_warehouse(settings, folder))
        to = FileDestination(FolderFiles(), (folder / "files").as_uri())
        pulls = DemoPulls(console, source, settings, to, topics)
        _play(console, source, pulls)
        _play_views_and_checks(console, source, pulls, folder / _CONFIG)
    console.print()
    console.rule("[bold]Done: every full view is the same as its table")
    console.print(f"Next: your own tables, step by step: {NEXT}", highlight=False)


def _settings(console: Console, source: PulledSource, folder: Path) -> Settings:
    """Draft the settings of the source as `onefold sources init` does, and return them."""
    with closing(source.connect(at("10:00"))) as connection:
        chosen = [_decided(choice) for choice in choices(connection, DATABASE)]
    address = source.reader
    head = Source(CLUSTER, address.host, address.port, address.user, "env:PASSWORD", Tls("off"), databases=(DATABASE,))
    path = folder / _CONFIG
    path.write_text(draft(head, [(DATABASE, chosen)]))
    console.print(f"A MariaDB has the database {DATABASE}. [bold]onefold sources init[/] proposes, and a person decides:")
    listed = Table.grid(padding=(0, 2, 0, 1))
    for choice in chosen:
        mark = choice.load.watermark if choice.load else None
        listed.add_row("", choice.table, f"by {mark.column}" if mark else "full", choice.reason)
    console.print(listed, highlight=False)
    return load_settings({"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_CONFIG": str(path)})


def _decided(choice: Choice) -> Choice:
    """Return a choice as a person has it who knows what no catalogue tells: rows of `payment` are never changed."""
    if choice.table != "payment":
        return choice
    load = TableLoad("incremental", WatermarkColumn("id"))
    return replace(choice, load=load, reason="rows are only inserted, as a person knows; the draft is full")


@contextlib.contextmanager
def _warehouse(settings: Settings, folder: Path) -> Iterator[LocalTopics]:
    """Run the embedded BigQuery with the datasets, and the function that keeps the views. Yields the topics."""
    with contextlib.ExitStack() as stack:
        os.environ["BIGQUERY_EMULATOR_HOST"] = stack.enter_context(bigquery_emulator())
        client = connect(DEFAULT_PROJECT).client
        for dataset in (DATASET, *(f"{DATASET}__{name}" for name in ("views_full", "views_clean", "keys"))):
            client.create_dataset(dataset)
        environ = {"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_CONFIG": str(folder / _CONFIG)}
        log = stack.enter_context(tempfile.TemporaryFile())
        url = stack.enter_context(function_server("refresh_view", environ, log))
        listener = Listener(url, log)
        topics = LocalTopics({settings.topic_table_created or "table-created": listener}, Stop(), lambda *_: None)
        stack.callback(topics.close)
        yield topics


def _play(console: Console, source: PulledSource, pulls: DemoPulls) -> None:
    """Tell the story: what changes at the source, and what each pull makes of it."""
    _tell(console, "PyMySQL reads the rows here; in a batch the source writes them as JSON, with the same values.")
    pulls.pull("15m", at("10:00"), "the first pull reads whole tables")
    _pulls_and_late_commits(console, source, pulls)
    pulls.compare()
    console.print()
    pulls.pull("day", at("04:00", days=1), "the next morning, the daily load reads the day again")
    pulls.check()
    pulls.show_files()


def _play_views_and_checks(console: Console, source: PulledSource, pulls: DemoPulls, config: Path) -> None:
    """Tell the rest of the story: what people may see, and a change that no watermark tells."""
    console.print()
    console.rule("[bold]04:30[/] clean views show what somebody has decided to show", align="left")
    views = DemoCleanViews(console, pulls.settings, config, pulls.warehouse)
    settings = views.decide()
    views.write(settings)
    views.show()

    source.run("05:00", "UPDATE customer SET city = 'Lisbon', changed_at = changed_at WHERE id = 2", days=1)
    source.run("05:00", "UPDATE payment SET amount = 205 WHERE id = 2", days=1)
    _tell(
        console,
        "05:00  customer 2 moves to Lisbon, and changed_at is set to what it was",
        "05:00  payment 2 is corrected to 205, and its key is an old one",
    )
    console.rule("[bold]06:00[/] no pull can see that, but a check finds it", align="left")
    checks = DemoChecks(console, source, settings, pulls.to, pulls.topics, pulls.warehouse)
    checks.find(at("06:00", days=1), expected=2)
    checks.fix(at("06:10", days=1), at("06:20", days=1))
    views.show_city(2)
    pulls.check()


def _pulls_and_late_commits(console: Console, source: PulledSource, pulls: DemoPulls) -> None:
    first = source.open("10:05", "UPDATE customer SET city = 'Berlin' WHERE id = 3")
    second = source.open("10:06", "UPDATE customer SET city = 'Oslo' WHERE id = 4")
    with closing(first), closing(second):
        source.run("10:12", "UPDATE customer SET city = 'Paris' WHERE id = 1")
        source.run("10:12", "INSERT INTO payment (amount) VALUES (75)")
        _tell(
            console,
            "10:05  customer 3 moves to Berlin, in a transaction that stays open",
            "10:06  customer 4 moves to Oslo, in one that stays open for longer",
            "10:12  customer 1 moves to Paris; a payment of 75: both committed",
        )
        pulls.pull("15m", at("10:15"), "the second pull goes back 15 minutes behind its watermark")

        first.commit()
        source.run("10:20", "ALTER TABLE payment MODIFY amount DECIMAL(12, 2) NOT NULL")
        source.run("10:20", "INSERT INTO payment (amount) VALUES (9.99)")
        source.run("10:29", "INSERT INTO customer (id, name, city) VALUES (6, 'Katherine', 'Hampton')")
        _tell(
            console,
            "10:16  the transaction of customer 3 commits: its row says 10:05",
            "10:20  ALTER TABLE payment MODIFY amount DECIMAL(12, 2); a payment of 9.99",
            "10:29  customer 6 is new",
        )
        pulls.pull("15m", at("10:30"), "the third pull finds the late commit, and the new structure")

        second.commit()
        source.run("10:41", "DELETE FROM customer WHERE id = 5")
        _tell(
            console,
            "10:40  the transaction of customer 4 commits: its row says 10:06",
            "10:41  customer 5 is deleted",
        )
        pulls.pull("15m", at("10:45"), "the fourth pull can see neither: a watermark does not tell")


def _tell(console: Console, *lines: str) -> None:
    """Print what happens before the next pull."""
    console.print("\n".join(("", *lines)), highlight=False)
