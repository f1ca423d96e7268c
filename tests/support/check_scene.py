"""A database on a real server that is pulled into the embedded BigQuery, its full views, and checks of both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pymysql
from support.bigquery_emulator import EmulatedDataset
from support.in_memory import MemoryPublisher
from support.source_database import SourceDatabase

from onefold.adapters.connect import connect as connect_warehouse
from onefold.batches.source_arguments import Window
from onefold.check.report import CheckReport, TableCheck
from onefold.check.request import CheckRequest
from onefold.check.run import Checks
from onefold.core.names import TableId, table_name
from onefold.landing.row_writer import NO_RULES, LandingRules
from onefold.mysql.connection import connect
from onefold.pull.read.line_reader import LineReader
from onefold.pull.read.plan import PullRequest
from onefold.pull.read.planner import Planner
from onefold.pull.read.pull import Pull
from onefold.pull.read.pulled import Loads
from onefold.pull.read.report import PullReport
from onefold.schema.column_policy import ColumnPolicies
from onefold.schema.contract_rules import Contracts
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad, dataset_of, full_view
from onefold.spark.check.checks import checks_of
from onefold.spark.pull.loads import loads_of
from onefold.spark.pull.places import destination_of
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

CLUSTER = "fraud"


@dataclass
class CheckScene:
    """One database whose tables are pulled and checked."""

    source: SourceDatabase
    emulated: EmulatedDataset
    folder: Path
    tables: dict[str, TableLoad]
    policies: ColumnPolicies = field(default_factory=ColumnPolicies)
    columns: LandingRules = NO_RULES
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """The time of the last request."""
    exclude: tuple[str, ...] = ()
    time_zone: str = "UTC"
    contracts: Contracts = field(default_factory=Contracts)
    user: tuple[str, str] | None = None
    """Who reads, with the password; by default who may do everything."""

    def __post_init__(self) -> None:
        self.dataset = dataset_of(CLUSTER, self.source.name)
        for name in (self.dataset, f"{self.dataset}__views_full"):
            self.emulated.client.create_dataset(name, exists_ok=True)
        self.warehouse = connect_warehouse(DEFAULT_PROJECT)

    @property
    def settings(self) -> Settings:
        databases = (self.source.name,)
        server = Source(
            CLUSTER, "localhost", databases=databases, tables=self.tables, exclude=self.exclude, time_zone=self.time_zone
        )
        return Settings(
            project=DEFAULT_PROJECT, topic_table_created="table-created", pulled_files=self.folder.as_uri(),
            sources={CLUSTER: server}, policies=self.policies, contracts=self.contracts,
        )  # fmt: skip

    def loads(self) -> Loads:
        return loads_of(self.settings, self.dataset, destination_of(self.settings), lambda _: MemoryPublisher())

    def connect(self) -> pymysql.Connection:
        address = self.source.server.address
        return connect(replace(address, user=self.user[0], password=self.user[1]) if self.user else address)

    def pull(self, window: Window = "15m") -> None:
        """Pull all tables, and write their full views where there is none."""
        for one in self.run(window).tables:
            assert one.outcome != "failed", one.text

    def run(self, window: Window = "15m", **changes: Any) -> PullReport:
        """The same for a pull of which tables may fail; `changes` are those of the `Pull`."""
        self.at += timedelta(seconds=1)
        to, loads = destination_of(self.settings), self.loads()
        request = PullRequest(CLUSTER, self.source.name, window, at=self.at)
        planner = Planner(self.settings.sources[CLUSTER], request, to, lambda _: (), changes.get("loads", loads))
        pull = replace(Pull(planner, self.connect, LineReader(self.connect, to), loads), **changes)
        report = pull.run()
        for table in (one.table for one in report.tables if one.outcome == "loaded"):
            refresh_current(self.warehouse, self.base(table_name(table)), (), self.settings)
        return report

    def base(self, table: str) -> TableId:
        return TableId(DEFAULT_PROJECT, self.dataset, table)

    def checks(self, **changes: Any) -> Checks:
        request = CheckRequest(CLUSTER, self.source.name, at=datetime.now(UTC), **changes)
        to = destination_of(self.settings)
        reader = LineReader(self.connect, to)
        return checks_of(request, self.settings, self.connect, reader, to, self.warehouse, self.loads(), self.columns)

    def check(self, **changes: Any) -> CheckReport:
        return self.checks(**changes).run()

    def check_one(self, table: str = "t", **changes: Any) -> TableCheck:
        """Check all chunks of a table, of which no row is left out for its age."""
        (found,) = self.check(tables=(table,), **{"padding_minutes": 0, "whole": True, **changes}).tables
        return found

    def view(self, table: str = "t") -> list[dict[str, Any]]:
        return self.warehouse.fetch(f"SELECT * FROM {full_view(self.base(table)).quoted}")

    def versions(self, table: str = "t") -> list[TableId]:
        names = (one.table_id for one in self.emulated.client.list_tables(self.dataset))
        return [self.base(table).sibling(name) for name in names if name.startswith(f"{table}_v_")]

    def spoil(self, statement: str, table: str = "t") -> None:
        """Run a statement on the newest version of a table, behind Onefold's back; `{}` is the table."""
        (id_,) = self.versions(table)
        self.warehouse.execute(statement.replace("{}", id_.quoted))

    def logged(self) -> list[dict[str, Any]]:
        log = self.base("_checks")
        return self.warehouse.fetch(f"SELECT * FROM {log.quoted} ORDER BY checked_at, chunk_low IS NOT NULL, chunk_low")
