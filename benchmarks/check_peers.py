"""The exact check and its peers: both sides read alone, and Google's Data Validation Tool."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from pymysql.cursors import SSCursor
from support.in_memory import MemoryPublisher

from benchmarks.check_scene import PASSWORD, SOURCE, CheckedShop
from benchmarks.load_peers import COLUMNS, DATABASE, TABLE
from onefold.batches.source_arguments import CheckArguments
from onefold.check.report import TableCheck
from onefold.pull.read.line_reader import LineReader
from onefold.spark.check.job import check
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

_BLOCK = 1_000


@dataclass(frozen=True)
class Result:
    """What a run took, and what it saw.

    Attributes:
        seconds: of the run.
        rows: the rows of a side.
        found: the rows that differ; None where nothing is compared.
    """

    seconds: float
    rows: int
    found: int | None = None


class Contestant(Protocol):
    @property
    def name(self) -> str: ...

    def run(self, shop: CheckedShop) -> Result:
        """Read or compare all rows once."""


@dataclass(frozen=True)
class SourceAlone:
    """A streaming cursor of PyMySQL over all columns."""

    name: str = "source alone"

    def run(self, shop: CheckedShop) -> Result:
        started, rows = time.perf_counter(), 0
        with closing(shop.connect()) as connection, closing(connection.cursor(SSCursor)) as cursor:
            cursor.execute(f"SELECT * FROM {DATABASE}.{TABLE}")
            while block := cursor.fetchmany(_BLOCK):
                rows += len(block)
        return Result(time.perf_counter() - started, rows)


@dataclass(frozen=True)
class ViewAlone:
    """A query of all columns, whose rows BigQuery's client fetches."""

    name: str = "view alone"

    def run(self, shop: CheckedShop) -> Result:
        started = time.perf_counter()
        rows = sum(1 for _ in shop.client.query(f"SELECT {', '.join(COLUMNS)} FROM {shop.view.quoted}").result())
        return Result(time.perf_counter() - started, rows)


@dataclass(frozen=True)
class Onefold:
    """`onefold check --whole`, of one table, with the reader of the command.

    Attributes:
        chunk: about the rows of a chunk.
        name: of the line.
    """

    chunk: int
    name: str = "onefold"

    def run(self, shop: CheckedShop) -> Result:
        def reader_of(*words: Any) -> LineReader:
            return LineReader(shop.connect, words[-1])

        arguments = CheckArguments(SOURCE, DATABASE, (TABLE,), rows=self.chunk, whole=True)
        started = time.perf_counter()
        with Path(os.devnull).open("w") as log, redirect_stdout(log):
            report = check(arguments, shop.settings, PASSWORD, reader_of, lambda _: MemoryPublisher())
        seconds = time.perf_counter() - started
        (table,) = report.tables
        _check_ended(table)
        rows = sum(one.rows for one in table.chunks)
        return Result(seconds, rows, sum(table.by_kind.values()))


def _check_ended(table: TableCheck) -> None:
    """Check that a table was compared.

    Raises:
        SystemExit: it was not.
    """
    if table.outcome in ("failed", "skipped"):
        raise SystemExit(table.text)


@dataclass(frozen=True)
class Validation:
    """The Data Validation Tool, which compares the values of all columns. Its time is the one that it reports itself.

    Attributes:
        python: the interpreter of the environment in which it is installed.
        name: of the line.
    """

    python: Path
    name: str = "Data Validation Tool"

    def connect(self, shop: CheckedShop) -> None:
        """Write its two connections. The server learns the name of the zone that the tool asks for."""
        zone = (
            "INSERT IGNORE INTO mysql.time_zone VALUES (1, 'N')",
            "INSERT IGNORE INTO mysql.time_zone_name VALUES ('UTC', 1)",
            "INSERT IGNORE INTO mysql.time_zone_transition_type VALUES (1, 0, 0, 0, 'UTC')",
        )
        with closing(shop.connect()) as connection, connection.cursor() as cursor:
            for statement in zone:
                cursor.execute(statement)
        add = ("connections", "add", "--connection-name")
        self._call(shop, *add, "bigquery", "BigQuery", "--project-id", DEFAULT_PROJECT, "--api-endpoint", shop.host)
        address = ("--host", "127.0.0.1", "--port", str(shop.server.port), "--user", "root", "--password", "")
        self._call(shop, *add, "source", "MySQL", *address, "--database", DATABASE)

    def run(self, shop: CheckedShop) -> Result:
        names = ("-sc", "source", "-tc", "bigquery", "-tbls", f"{DATABASE}.{TABLE}={shop.rows.dataset}.{shop.rows.table}")
        how = ("--primary-keys", "id", "--comparison-fields", ",".join(COLUMNS))
        done = self._call(shop, "validate", "row", *names, *how, "--filter-status", "fail", "--format", "json")
        summary = json.loads(re.findall(r"INFO: (\{.*\})", done)[-1])
        times = [datetime.fromisoformat(summary[name]) for name in ("start_time", "end_time")]
        found = {*re.findall(r'"group_by_columns":"(.*?)","primary_keys"', done)}
        return Result((times[1] - times[0]).total_seconds(), summary["total_source_rows"], len(found))

    def version(self) -> str:
        """Return its version."""
        code = "from importlib.metadata import version; print(version('google-pso-data-validator'))"
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    def _call(self, shop: CheckedShop, *words: str) -> str:
        """Run a command of the tool, and return what it writes.

        Raises:
            SystemExit: it ended with an error.
        """
        environ = {**os.environ, "PSO_DV_CONN_HOME": str(shop.folder / "connections"), "NO_PROXY": "127.0.0.1"}
        command = [str(self.python), str(Path(__file__).with_name("validation_tool.py")), *words]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the Data Validation Tool: {done.stdout[-1_000:]}{done.stderr[-2_000:]}")
        return done.stdout + done.stderr
