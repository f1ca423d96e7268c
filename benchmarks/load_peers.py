"""The pull of one table and its peers, each as a user would write it, and what is in their files.

Each peer is a process of its own, and its clock starts when its libraries are imported. `Onefold` works in the Spark session
that it is given.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import duckdb
import pymysql
from pymysql.cursors import SSCursor
from pyspark.sql import SparkSession
from support.pulls import RememberedLoads

from onefold.batches.source_arguments import PullArguments
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad, Tls
from onefold.spark.pull.job import pull

DATABASE, TABLE = "bench", "orders"
COLUMNS = {
    "id": ("INT PRIMARY KEY", "seq"),
    "customer": ("BIGINT NOT NULL", "seq * 7919"),
    "name": ("VARCHAR(60) NULL", "IF(seq % 10 = 0, NULL, CONCAT('Zoë number ', seq))"),
    "email": ("VARCHAR(80)", "CONCAT('user', seq, '@example.com')"),
    "note": ("TEXT", "REPEAT('note ', seq % 12)"),
    "amount": ("DECIMAL(12,2)", "seq * 37 % 1000003 / 100"),
    "rate": ("DOUBLE", "seq / 3"),
    "created": ("DATETIME", "'2020-01-01' + INTERVAL seq SECOND"),
    "changed": ("TIMESTAMP(3) NOT NULL", "'2026-01-01 00:00:00.123' + INTERVAL seq % 86400 SECOND"),
    "born": ("DATE NULL", "IF(seq % 7 = 0, NULL, '1950-01-01' + INTERVAL seq % 20000 DAY)"),
    "active": ("TINYINT", "seq % 2"),
    "state": ("ENUM('new','paid','sent')", "ELT(1 + seq % 3, 'new', 'paid', 'sent')"),
}
"""The columns of the table, with their types and values."""
LEVEL = 1
"""Of gzip, for all."""
_BLOCK = 1_000
Totals = tuple[int, ...]


@dataclass(frozen=True)
class Server:
    """Where the table is."""

    port: int
    socket: Path


class Contestant(Protocol):
    @property
    def name(self) -> str: ...

    def run(self, server: Server, folder: Path) -> float:
        """Write the table into files of an empty folder, and return the seconds that it took."""

    def totals(self, folder: Path) -> Totals: ...


@dataclass(frozen=True)
class Onefold:
    """The job, from its plan to the files and its notes of ranges. Nothing is loaded."""

    spark: SparkSession
    gzip: bool = False

    @property
    def name(self) -> str:
        return "onefold, gzip" if self.gzip else "onefold"

    def run(self, server: Server, folder: Path) -> float:
        source = Source(
            "bench", "127.0.0.1", server.port, "root", "env:PULL_PASSWORD", Tls("off"), databases=(DATABASE,),
            tables={TABLE: TableLoad("full")},
        )  # fmt: skip
        settings = Settings(sources={"bench": source}, pulled_files=folder.as_uri())
        arguments = PullArguments("bench", DATABASE, "full", compress="gzip" if self.gzip else None)
        started = time.perf_counter()
        report = pull(self.spark, arguments, settings, RememberedLoads(), {"PULL_PASSWORD": ""})
        seconds = time.perf_counter() - started
        (table,) = report.tables
        if table.outcome != "loaded":
            raise SystemExit(table.text)
        return seconds

    def totals(self, folder: Path) -> Totals:
        return _json_totals(f"{folder}/json/bench/{DATABASE}/{TABLE}/first/2*/*.json{'.gz' if self.gzip else ''}")


@dataclass(frozen=True)
class Loop:
    """PyMySQL's streaming cursor and `json.dumps`, in one process."""

    gzip: bool = False

    @property
    def name(self) -> str:
        return "loop of PyMySQL, gzip" if self.gzip else "loop of PyMySQL"

    def run(self, server: Server, folder: Path) -> float:
        return _in_a_process(_loop, server, folder, self.gzip)

    def totals(self, folder: Path) -> Totals:
        return _json_totals(f"{folder}/rows.json{'.gz' if self.gzip else ''}")


@dataclass(frozen=True)
class Dump:
    """`mariadb-dump --tab`: the server itself writes text without JSON."""

    name: str = "mariadb-dump --tab"

    def run(self, server: Server, folder: Path) -> float:
        command = ["mariadb-dump", "--no-defaults", f"--socket={server.socket}", "--user=root", f"--tab={folder}"]
        started = time.perf_counter()
        subprocess.run([*command, DATABASE, TABLE], check=True)
        return time.perf_counter() - started

    def totals(self, folder: Path) -> Totals:
        names = ", ".join(f"'{name}': 'VARCHAR'" for name in COLUMNS)
        options = f"delim='\t', header=false, quote='', escape='', nullstr='\\N', columns={{{names}}}"
        return _totals(f"read_csv('{folder}/{TABLE}.txt', {options})")


@dataclass(frozen=True)
class Dlt:
    """dlt's `sql_database`, with its own backend, into a local folder as lines of JSON."""

    name: str = "dlt"

    def run(self, server: Server, folder: Path) -> float:
        return _in_a_process(_dlt, server, folder)

    def totals(self, folder: Path) -> Totals:
        return _json_totals(f"{folder}/out/bench/{TABLE}/*.jsonl")


@dataclass(frozen=True)
class ConnectorX:
    """ConnectorX, which reads two parts of the key side by side into memory as Arrow; PyArrow writes Parquet of that."""

    name: str = "ConnectorX, Parquet"

    def run(self, server: Server, folder: Path) -> float:
        return _in_a_process(_connectorx, server, folder)

    def totals(self, folder: Path) -> Totals:
        return _totals(f"(SELECT CAST(COLUMNS(*) AS VARCHAR) FROM read_parquet('{folder}/rows.parquet'))")


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _in_a_process(work: Callable[..., float], *words: Any) -> float:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *words).result()


def _loop(server: Server, folder: Path, compress: bool) -> float:
    started = time.perf_counter()
    connection = pymysql.connect(
        host="127.0.0.1", port=server.port, user="root", database=DATABASE, charset="utf8mb4", cursorclass=SSCursor,
        init_command="SET time_zone = '+00:00'",
    )  # fmt: skip
    path = folder / f"rows.json{'.gz' if compress else ''}"
    with closing(connection), connection.cursor() as cursor, _opened(path, compress) as file:
        cursor.execute(f"SELECT * FROM {TABLE}")
        names = [column[0] for column in cursor.description]
        while rows := cursor.fetchmany(_BLOCK):
            for row in rows:
                line = json.dumps(dict(zip(names, row, strict=True)), default=str, ensure_ascii=False)
                file.write(f"{line}\n".encode())
    return time.perf_counter() - started


def _opened(path: Path, compress: bool) -> IO[bytes]:
    return gzip.open(path, "wb", LEVEL) if compress else path.open("wb")  # type: ignore[return-value]


def _dlt(server: Server, folder: Path) -> float:
    os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "NORMALIZE__DATA_WRITER__DISABLE_COMPRESSION": "true"}
    os.environ |= {"DLT_DATA_DIR": str(folder / "dlt"), "RUNTIME__LOG_LEVEL": "ERROR"}
    import dlt
    from dlt.sources.sql_database import sql_database

    started = time.perf_counter()
    destination = dlt.destinations.filesystem(bucket_url=(folder / "out").as_uri())
    pipeline = dlt.pipeline("bench", destination=destination, dataset_name="bench", pipelines_dir=str(folder / "pipelines"))
    address = f"mysql+pymysql://root@127.0.0.1:{server.port}/{DATABASE}?charset=utf8mb4"
    pipeline.run(sql_database(address, table_names=[TABLE]), loader_file_format="jsonl").raise_on_failed_jobs()
    return time.perf_counter() - started


def _connectorx(server: Server, folder: Path) -> float:
    import connectorx
    import pyarrow.parquet as pq

    started = time.perf_counter()
    address = f"mysql://root@127.0.0.1:{server.port}/{DATABASE}"
    rows = connectorx.read_sql(address, f"SELECT * FROM {TABLE}", return_type="arrow", partition_on="id", partition_num=2)
    pq.write_table(rows, folder / "rows.parquet", compression="gzip", compression_level=LEVEL)
    return time.perf_counter() - started


def _json_totals(files: str) -> Totals:
    names = ", ".join(f"'{name}': 'VARCHAR'" for name in COLUMNS)
    return _totals(f"read_json('{files}', format='newline_delimited', columns={{{names}}})")


def _totals(relation: str) -> Totals:
    """Return the number of rows, and the sum of a hash of all values of each row."""
    times = ("CAST(left(created, 19) AS TIMESTAMP)", "CAST(left(changed, 23) AS TIMESTAMP)", "CAST(left(born, 10) AS DATE)")
    numbers = ("CAST(id AS BIGINT)", "CAST(customer AS BIGINT)", "CAST(amount AS DECIMAL(12,2))", "CAST(rate AS DOUBLE)")
    active = "CASE active WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE active END"
    values = (*numbers, *times, active, "name", "email", "note", "state")
    row = duckdb.sql(f"SELECT count(*), sum(hash({', '.join(values)})) FROM {relation}").fetchone()
    return tuple(int(value or 0) for value in row or ())
