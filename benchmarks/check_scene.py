"""A table of a MariaDB that was pulled into the embedded BigQuery, and its full view: what the benchmark of checks compares."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pymysql
from google.cloud import bigquery
from support.in_memory import MemoryPublisher

from benchmarks.load_peers import DATABASE, TABLE, Server
from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT, emulator_client
from onefold.adapters.connect import connect as connect_warehouse
from onefold.core.names import TableId
from onefold.extract.connection import connect_source
from onefold.extract.plan import PullRequest
from onefold.extract.planner import Planner
from onefold.extract.pull import Pull
from onefold.extract.python_reader import PythonReader
from onefold.local.processes import bigquery_emulator
from onefold.merge.refresh import refresh_current
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad, Tls, WatermarkColumn, dataset_of, full_view
from onefold.spark.extract.job import destination_of
from onefold.spark.extract.loads import loads_of

SOURCE = "bench"
PASSWORD = {"PULL_PASSWORD": ""}


@dataclass(frozen=True)
class CheckedShop:
    """The two sides.

    host: the address of the embedded BigQuery.
    """

    server: Server
    host: str
    folder: Path
    client: bigquery.Client

    @property
    def settings(self) -> Settings:
        load = TableLoad("incremental", WatermarkColumn("changed"))
        source = Source(
            SOURCE, "127.0.0.1", self.server.port, "root", "env:PULL_PASSWORD", Tls("off"), databases=(DATABASE,),
            tables={TABLE: load},
        )  # fmt: skip
        return Settings(
            project=DEFAULT_PROJECT, topic_table_created="table-created", pulled_files=self.folder.as_uri(),
            sources={SOURCE: source},
        )  # fmt: skip

    @property
    def base(self) -> TableId:
        return TableId(DEFAULT_PROJECT, dataset_of(SOURCE, DATABASE), TABLE)

    @property
    def view(self) -> TableId:
        return full_view(self.base)

    def connect(self) -> pymysql.Connection:
        return connect_source(self.settings.sources[SOURCE], "")

    def pull(self) -> None:
        """Pull the table, and write its view.

        Raises:
            SystemExit: the table was not pulled.
        """
        settings, to = self.settings, destination_of(self.settings)
        loads = loads_of(settings, self.base.dataset or "", to, lambda _: MemoryPublisher())
        request = PullRequest(SOURCE, DATABASE, "15m", datetime.now(UTC))
        planner = Planner(settings.sources[SOURCE], request, to, lambda _: (), loads)
        report = Pull(planner, self.connect, PythonReader(self.connect, to), loads).run()
        if report.tables[0].outcome != "loaded":
            raise SystemExit(report.tables[0].text)
        refresh_current(connect_warehouse(DEFAULT_PROJECT), self.base, (), settings)


@contextmanager
def checked_shop(server: Server, folder: Path) -> Iterator[CheckedShop]:
    """Run the embedded BigQuery, and pull the server's table into it."""
    with bigquery_emulator() as host:
        os.environ["BIGQUERY_EMULATOR_HOST"] = host
        shop = CheckedShop(server, host, folder, emulator_client(DEFAULT_PROJECT))
        for dataset in (shop.base.dataset, shop.view.dataset):
            shop.client.create_dataset(dataset)
        shop.pull()
        yield shop
