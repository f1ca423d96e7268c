"""A dataset of Datastream through the history of a real schema: what people see is the source, after every stage."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.appended_tables import AppendedTables
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.database_servers import MariaDb
from support.in_memory import MemoryPublisher, audit_entry, push_body
from support.source_database import SourceDatabase, on
from support.streamed_tables import ReplayedTable, histories

from onefold.batches.arguments import DatasetArguments
from onefold.batches.batch import with_defaults
from onefold.batches.request import parse_batch_request
from onefold.changelog.metadata import CHANGE_TYPES
from onefold.check.in_memory import SourceSelection, compare_with_source, selection
from onefold.compare.findings import findings
from onefold.core.names import TableId
from onefold.mysql.catalog import TableName
from onefold.mysql.connection import connect
from onefold.ports.warehouse import StoredTable
from onefold.settings.environment import Settings, load_settings
from onefold.spark.reconcile.dataset import reconcile_dataset
from onefold.views.handler import TableCreatedHandler
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

STAGES, MOST = 3, 1000
SOME = "oc_c"
"""What the names of the tables begin with that are audited and have clean views: each takes as many queries as all else."""
HISTORY = timedelta(days=3)
"""The age of what came in the first stage."""
pytestmark = [on(MariaDb), pytest.mark.emulator, pytest.mark.long, pytest.mark.spark, pytest.mark.heavy]


class StreamedDataset(AppendedTables):
    """Tables of which every second one is partitioned by the time of arrival; of the others APPENDS tells what is new."""

    def read_table(self, id_: TableId) -> StoredTable | None:
        stored = super().read_table(id_)
        is_partitioned = len(id_.table) % 2 == 0
        return stored if stored is None or is_partitioned else replace(stored, ingestion_partition=None)


@dataclass
class Replay:
    """The dataset, its source, and a person who runs commands."""

    run_command: Run
    source: SourceDatabase
    dataset: EmulatedDataset
    warehouse: StreamedDataset
    tables: Sequence[ReplayedTable]
    folder: Path

    @property
    def url(self) -> str:
        return f"mysql://root@127.0.0.1:{self.source.server.port}/{self.source.name}"

    @property
    def settings(self) -> Settings:
        return load_settings({"ONEFOLD_CONFIG": str(self.folder / "onefold.yaml")})

    @property
    def all_tables(self) -> str:
        return f"{self.dataset.name}.*"

    def run(self, *words: object) -> list[Any]:
        """Run a command that finds nothing wrong, and return the entries of its JSON."""
        done = self.run_command("--config", self.folder / "onefold.yaml", *words, "--json")
        assert done.code == 0, (words, done.out, done.err)
        return list(done.results)

    def check(self) -> None:
        """Compare all current views with the source, row by row."""
        names = (f"{self.source.name}.*", "--captured", self.dataset.name)
        tables = self.run("check", "--source", "shop", *names, "--whole", "--settle-seconds", 0)
        assert {one["table"]: one["outcome"] for one in tables} == {one.name: "same" for one in self.tables}
        assert all(one["counts"]["source"] == one["rows"] for one in tables)
        assert sum(one["rows"] for one in tables) > 3 * len(tables)

    @property
    def some(self) -> list[ReplayedTable]:
        """The tables that are audited and have clean views."""
        return [table for table in self.tables if table.name.startswith(SOME)]

    def check_rows(self, relation: str, tables: Sequence[ReplayedTable], stage: int = STAGES - 1) -> None:
        """Compare the tables or views of a name, which names the table by `{}`, with the tables of the source in a stage."""
        for table in tables:
            columns = table.columns(stage)
            shown = self.warehouse.fetch(selection(columns, relation.format(table.name), MOST))
            rows = SourceSelection(partial(connect, self.source.server.address), TableName(self.source.name, table.name))
            _, found = compare_with_source(rows, shown, columns, table.keys, MOST)
            assert not list(findings(found, table.keys)), (table.name, found)

    @property
    def place(self) -> str:
        """The dataset of the tables, as the beginning of a quoted name."""
        return f"`{self.dataset.client.project}.{self.dataset.name}"


@pytest.fixture
def replay(
    run: Run, source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Replay:
    warehouse = StreamedDataset(dataset, timedelta(days=7), "DAY")
    monkeypatch.setattr("onefold_lab.stand_ins.hook.warehouse", lambda _: warehouse)
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
    monkeypatch.setenv("ONEFOLD_PULLED_FILES", tmp_path.as_uri())
    monkeypatch.delenv("ONEFOLD_PLAIN_DATASET")
    for suffix in ("__onefold", "__views_clean"):
        dataset.client.create_dataset(f"{dataset.name}{suffix}")
    return Replay(run, source, dataset, warehouse, histories(STAGES), tmp_path)


def configure(replay: Replay) -> None:
    """Write onefold.yaml: the keys that `discover` finds at the source, and by hand the source and the policies."""
    config = replay.folder / "onefold.yaml"
    config.write_text("")
    drafted = replay.run("discover", replay.dataset.name, "--source", replay.url, "--output", replay.folder / "draft.yaml")
    assert {(one["tool"], one["rows"]) for one in drafted} == {("Datastream", "history")}
    source = {
        "host": "127.0.0.1", "port": replay.source.server.port, "user": "root", "password": "env:ONEFOLD_SOURCE_PASSWORD",
        "tls": {"mode": "off"}, "databases": [replay.source.name],
    }  # fmt: skip
    own = [f"sources: {json.dumps({'shop': source})}", f'policies: {{"{replay.dataset.name}.{SOME}*": {{"*": clear}}}}']
    config.write_text("\n".join([(replay.folder / "draft.yaml").read_text(), *own, ""]))


def change_source(replay: Replay, rng: random.Random, stage: int, read: int) -> tuple[int, set[str]]:
    """Let the source change and the changes arrive; return how many events its log has, and the kinds of changes."""
    committed = datetime.now(UTC) - (HISTORY if stage == 0 else timedelta(0))
    for table in replay.tables:
        replay.source.run(*table.statements(rng, stage))
    events, kinds = replay.source.changes(), set[str]()
    for table in replay.tables:
        kinds |= table.arrive(rng, replay.warehouse, replay.source, replay.dataset.name, events[read:], stage, committed)
    return len(events), kinds


def show(replay: Replay, stage: int) -> None:
    """Write the views of all tables by a command; later those of tables that have new columns, as the audit log tells it."""
    if stage == 0:
        replay.run("refresh", replay.all_tables)
        return
    handler = TableCreatedHandler(replay.settings, replay.warehouse, MemoryPublisher())
    for table in replay.tables:
        if table.is_altered(stage):
            entry = audit_entry(table.name, "tableChange", project=DEFAULT_PROJECT, dataset=replay.dataset.name)
            with redirect_stdout(sys.stderr):  # where the log of a command is, too
                assert handler.handle(push_body(entry)) is None


def merge(replay: Replay, spark: SparkSession, stage: int) -> Iterator[tuple[str, str, int]]:
    """Merge all tables, the last time by the message of the schedule; yield each with the outcome and the changes read."""
    if stage < STAGES - 1:
        for one in replay.run("merge", replay.all_tables):
            yield one["table"].rpartition(".")[2], one["outcome"], one["changes"]
        return
    asked = parse_batch_request(json.dumps({"job": "reconcile", "dataset": replay.dataset.name}).encode())
    arguments = asked.form.parse(with_defaults(asked))
    assert isinstance(arguments, DatasetArguments)
    with redirect_stdout(sys.stderr):
        report = reconcile_dataset(spark, replay.warehouse, replay.settings, arguments)
    for found in report.tables:
        yield found.table, found.outcome, found.report.changes if found.report else -1


def test_views_and_bases_are_the_source_after_every_stage(replay: Replay, spark: SparkSession) -> None:
    rng, read, kinds = random.Random(7), 0, set[str]()
    for stage in range(STAGES):
        read, found = change_source(replay, rng, stage, read)
        kinds |= found
        if stage == 0:
            configure(replay)
        show(replay, stage)
        replay.check_rows(f"{replay.place}__onefold.{{}}_current`", replay.tables, stage)
        merged = {name: (outcome, changes) for name, outcome, changes in merge(replay, spark, stage)}
        # A merge reads again what came within the overlap, and never the history.
        sent = {one.name: sum(one.sent[min(stage, 1) :]) for one in replay.tables}
        assert merged == {name: ("merged", number) for name, number in sent.items()}
        replay.check_rows(f"{replay.place}__onefold.{{}}_base` WHERE NOT _deleted", replay.tables, stage)
    assert sum(sent.values()) < sum(one.sent[0] for one in replay.tables)
    assert kinds == set(CHANGE_TYPES)
    replay.check()
    replay.check_rows(f"{replay.place}__views_clean.{{}}`", replay.some)
    audited = replay.run_command("audit", f"{replay.dataset.name}.{SOME}*", "--source", replay.url, "--json").results
    said = {finding["check"] for one in audited for finding in one["findings"]}
    assert not said & {"not in the source", "missing rows", "other values"}
    assert len(audited) == len(replay.some) > 2
