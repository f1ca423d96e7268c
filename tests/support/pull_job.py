"""`spark_jobs/pull.py` as a process, between a real server and the embedded BigQuery, and what people read then."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.in_memory import MemoryPublisher, push_body
from support.python_process import ROOT, python_environ
from support.rest_topics import Topics, rest_topics
from support.source_database import SourceDatabase
from support.spark_process import kill_group

from onefold.mysql.connection import connect, query
from onefold.settings.environment import load_settings
from onefold.settings.sources import dataset_of
from onefold.views.handler import TableCreatedHandler
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

SCRIPT = ROOT / "spark_jobs" / "pull.py"
CLUSTER, USER, PASSWORD = "fraud", "puller", "sEcr3t-of-the-s0urce"
_SECONDS = 1_200
_SPARK = {"spark.master": "local[2]", "spark.driver.memory": "1g", "spark.ui.enabled": "false"}


def submit_arguments(**conf: str) -> str:
    """The value of PYSPARK_SUBMIT_ARGS."""
    words = " ".join(f'--conf "{name}={value}"' for name, value in {**_SPARK, **conf}.items())
    return f"{words} pyspark-shell"


def create_user(source: SourceDatabase, name: str = USER) -> None:
    """A user that may read, with the password."""
    with connect(source.server.address) as connection:
        for host in ("%", "localhost"):
            query(connection, f"CREATE USER IF NOT EXISTS '{name}'@'{host}' IDENTIFIED BY '{PASSWORD}'")
            query(connection, f"GRANT SELECT ON *.* TO '{name}'@'{host}'")


@dataclass
class Done:
    """A run of the job: its exit code, its report by table, and what it wrote."""

    code: int
    tables: dict[str, dict[str, Any]]
    out: str
    err: str

    @property
    def outcomes(self) -> dict[str, str]:
        return {name: table["outcome"] for name, table in self.tables.items()}


@dataclass
class PulledDatabase:
    """A database, its settings, and the dataset into which it is pulled.

    tables: `sources.fraud.tables` of onefold.yaml, as JSON.
    """

    source: SourceDatabase
    folder: Path
    dataset: EmulatedDataset
    topics: Topics
    tables: dict[str, Any]
    others: tuple[str, ...] = ()
    """More databases that the job is to pull in the same run."""

    def __post_init__(self) -> None:
        create_user(self.source)
        for name in (self.name, self.views):
            self.dataset.client.create_dataset(name, exists_ok=True)
        (self.folder / "password").write_text(PASSWORD)
        address = self.source.server.address
        body = {
            "host": "127.0.0.1", "port": address.port, "user": USER, "password": f"file:{self.folder / 'password'}",
            "tls": {"mode": "off"}, "databases": [self.source.name], "tables": self.tables,
        }  # fmt: skip
        (self.folder / "onefold.yaml").write_text(json.dumps({"sources": {CLUSTER: body}}))

    @property
    def name(self) -> str:
        return dataset_of(CLUSTER, self.source.name)

    @property
    def views(self) -> str:
        return f"{self.name}__views_full"

    @property
    def files(self) -> list[str]:
        """The names of all files below the folder of files."""
        root = self.folder / "files"
        return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())

    @property
    def environ(self) -> dict[str, str]:
        return {
            "BIGQUERY_EMULATOR_HOST": self.dataset.host,
            "PUBSUB_EMULATOR_HOST": self.topics.address,
            "NO_PROXY": "127.0.0.1,localhost",
            "ONEFOLD_PROJECT": DEFAULT_PROJECT,
            "ONEFOLD_CONFIG": str(self.folder / "onefold.yaml"),
            "ONEFOLD_PULLED_FILES": (self.folder / "files").as_uri(),
        }

    def start(self, window: str, *words: str, **conf: str) -> subprocess.Popen[str]:
        """Start the job, in a process group of its own."""
        command = [sys.executable, str(ROOT / "tests" / "support" / "small_ranges.py"), str(SCRIPT)]
        named = ["--databases", self.source.name, *self.others] if self.others else ["--database", self.source.name]
        command += ["--source", CLUSTER, *named, "--window", window, *words]
        environ = python_environ({**self.environ, "PYSPARK_SUBMIT_ARGS": submit_arguments(**conf)})
        return subprocess.Popen(
            command, cwd=self.folder, env=environ, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, window: str, *words: str, **conf: str) -> Done:
        """Let the job come to its end, and the function refresh the views of what it announced."""
        with self.start(window, *words, **conf) as process:
            out, err = process.communicate(timeout=_SECONDS)
        self.refresh()
        report = json.loads(out.splitlines()[-1]) if out else {"tables": []}
        tables = [table for one in report.get("datasets", [report]) for table in one["tables"]]
        return Done(process.returncode, {table["table"]: table for table in tables}, out, err)

    def kill(self, window: str, *words: str, since: Callable[[], bool], after: float = 0.0) -> bool:
        """Kill the job some seconds after something holds, unless it ends before. Return whether it was killed."""
        with self.start(window, *words) as process:
            kill_group(process, after, since)
            return process.returncode == -signal.SIGKILL

    def refresh(self) -> None:
        """Handle the messages about new versions, as the function does."""
        settings = load_settings({**self.environ, "ONEFOLD_TOPIC_TABLE_CREATED": "table-created"})
        handler = TableCreatedHandler(settings, EmulatedWarehouse(self.dataset.client), MemoryPublisher())
        for data in self.topics.contents("table-created"):
            handler.handle(push_body(data))

    def view(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """The rows that people read, in order."""
        sql = f"SELECT {columns} FROM `{DEFAULT_PROJECT}.{self.views}.{table}`"
        return sorted(tuple(row) for row in self.dataset.client.query(sql).result())

    def rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """The rows of the source, in order."""
        return sorted(self.source.rows(f"SELECT {columns} FROM {table}"))


@contextmanager
def pulled_database(
    source: SourceDatabase, folder: Path, dataset: EmulatedDataset, tables: dict[str, Any]
) -> Iterator[PulledDatabase]:
    with rest_topics() as topics:
        yield PulledDatabase(source, folder, dataset, topics, tables)
