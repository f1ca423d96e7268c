"""A source whose pulls go to the embedded BigQuery, by way of files in a folder."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.in_memory import MemoryPublisher
from support.pulled_source import CLUSTER, DATABASE, DATASET, TABLE, MemorySource, Puller, landed_rows

from onefold.batches.source_arguments import Window
from onefold.pull.read.pulled import Loads
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad
from onefold.spark.pull.loads import loads_of
from onefold.spark.pull.places import destination_of
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

VIEWS = f"{DATASET}__views_full"


class PulledShop:
    """An empty dataset of pulled tables, and one for their full views."""

    def __init__(self, dataset: EmulatedDataset, folder: Path) -> None:
        self.dataset = dataset
        for name in (DATASET, VIEWS):
            self.dataset.client.create_dataset(name, exists_ok=True)
            for table in self.dataset.client.list_tables(name):
                self.dataset.client.delete_table(table)
        self.load = TableLoad("incremental")
        self.folder = folder
        self.publisher = MemoryPublisher()
        self.source = MemorySource()
        self.puller = Puller(self.source, destination_of(self.settings))

    @property
    def settings(self) -> Settings:
        source = Source(CLUSTER, "db", databases=(DATABASE,), tables={TABLE: self.load})
        return Settings(
            project=DEFAULT_PROJECT,
            topic_table_created="table-created",
            pulled_files=self.folder.as_uri(),
            sources={CLUSTER: source},
        )

    def loads(self) -> Loads:
        """The loads of a process."""
        return loads_of(self.settings, DATASET, destination_of(self.settings), lambda _: self.publisher)

    def pull(self, window: Window, now: datetime) -> None:
        self.puller.pull(self.loads(), window, now)

    @property
    def view(self) -> dict[int, str]:
        """The full view from its definition."""
        return landed_rows(self.tables)

    @property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        names = sorted(table.table_id for table in self.dataset.client.list_tables(DATASET) if "_v_" in table.table_id)
        return {name: self.rows(name) for name in names}

    def rows(self, name: str, dataset: str = DATASET) -> list[dict[str, Any]]:
        sql = f"SELECT * FROM `{DEFAULT_PROJECT}.{dataset}.{name}`"
        return [dict(row.items()) for row in self.dataset.client.query(sql).result()]
