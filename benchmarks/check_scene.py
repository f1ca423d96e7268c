"""A table of a MariaDB and its rows in the embedded BigQuery: the two sides that the benchmark of checks compares."""

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
from onefold.adapters.connect import connect as connect_warehouse
from onefold.core.names import TableId
from onefold.ports.warehouse import ViewDraft
from onefold.pull.read.connection import connect_source
from onefold.pull.read.line_reader import LineReader
from onefold.pull.read.plan import PullRequest
from onefold.pull.read.planner import Planner
from onefold.pull.read.pull import Pull
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad, Tls, WatermarkColumn, dataset_of, full_view
from onefold.spark.pull.loads import loads_of
from onefold.spark.pull.places import destination_of
from onefold_lab.processes import bigquery_emulator
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client

SOURCE = "bench"
PASSWORD = {"PULL_PASSWORD": ""}
PLANTED = (
    "DELETE FROM {} WHERE id = 2",
    "UPDATE {} SET name = CONCAT(name, ' ') WHERE id = 3",
    "UPDATE {} SET name = NULL WHERE id = 4",
    "UPDATE {} SET amount = amount + NUMERIC '0.01' WHERE id = 5",
    "UPDATE {} SET rate = rate * 1.0000000000000003 WHERE id = 7",
    "UPDATE {} SET name = 'Zoe\u0308 number 8' WHERE id = 8",
    "UPDATE {} SET created = DATETIME '2020-01-01 00:00:09.000001' WHERE id = 9",
    "UPDATE {} SET state = NULL WHERE id = 11",
)
"""One difference each, all in different rows."""


@dataclass(frozen=True)
class CheckedShop:
    """The two sides.

    Attributes:
        server: of the source.
        host: the address of the embedded BigQuery.
        folder: holds the files of pulls and checks.
        client: of the embedded BigQuery.
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
            sources={SOURCE: source}, policies=ColumnPolicies((PolicyRule("*", "*", Action.CLEAR),)),
        )  # fmt: skip

    @property
    def view(self) -> TableId:
        return full_view(TableId(DEFAULT_PROJECT, dataset_of(SOURCE, DATABASE), TABLE))

    def connect(self) -> pymysql.Connection:
        return connect_source(self.settings.sources[SOURCE], "")

    def pull(self) -> None:
        """Pull the table.

        Raises:
            SystemExit: the table was not pulled.
        """
        settings, to = self.settings, destination_of(self.settings)
        loads = loads_of(settings, dataset_of(SOURCE, DATABASE), to, lambda _: MemoryPublisher())
        request = PullRequest(SOURCE, DATABASE, "15m", at=datetime.now(UTC))
        planner = Planner(settings.sources[SOURCE], request, to, lambda _: (), loads)
        report = Pull(planner, self.connect, LineReader(self.connect, to), loads).run()
        if report.tables[0].outcome != "loaded":
            raise SystemExit(report.tables[0].text)

    def store_rows(self) -> None:
        """Store the pulled rows below the view: of a real full view the emulator takes milliseconds for each row."""
        dataset = dataset_of(SOURCE, DATABASE)
        (name,) = (table.table_id for table in self.client.list_tables(dataset) if "_v_" in table.table_id)
        self.run(f"CREATE TABLE {{}} AS SELECT * EXCEPT (datastream_metadata) FROM `{DEFAULT_PROJECT}.{dataset}.{name}`")
        connect_warehouse(DEFAULT_PROJECT).create_view(self.view, ViewDraft(f"SELECT * FROM {self.rows.quoted}"))

    @property
    def rows(self) -> TableId:
        """The stored rows of the view."""
        return self.view.sibling("orders_rows")

    def run(self, statement: str) -> None:
        """Run a statement in the embedded BigQuery; `{}` is the table of the stored rows."""
        self.client.query(statement.replace("{}", self.rows.quoted)).result()


@contextmanager
def checked_shop(server: Server, folder: Path) -> Iterator[CheckedShop]:
    """Run the embedded BigQuery, and pull the server's table into it."""
    with bigquery_emulator() as host:
        os.environ["BIGQUERY_EMULATOR_HOST"] = host
        shop = CheckedShop(server, host, folder, emulator_client(DEFAULT_PROJECT))
        for dataset in (dataset_of(SOURCE, DATABASE), shop.view.dataset or ""):
            shop.client.create_dataset(dataset)
        shop.pull()
        shop.store_rows()
        yield shop
