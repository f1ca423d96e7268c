"""The peak memory of capture's checks at its start, on a server of thousands of tables.

Run: `PYTHONPATH=tests python -m benchmarks.capture_start [--tables 4000] [--columns 31]`. It needs `mariadbd`.

Each figure is the peak of the resident set (`VmHWM`) of a new process that makes the checks of a start: settings, all
captured tables, foreign keys. `before` is what that process has when everything is imported and it has connected once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.database_servers import MariaDb, new_server

from benchmarks.report import add_options, machine, markdown, publish, versions
from onefold.capture.source import CapturedSource
from onefold.mysql.connection import Address, connect, query, variables
from onefold.mysql.table_filter import TableFilter

HEADING = "Capture at its start"
HEADER = ("tables of the server", "captured", "columns captured", "before, MB", "peak, MB", "more, MB", "seconds")
FEW = 40
"""The number of tables of the first database; the other databases share the rest."""
_DATABASES = 10
_spawn = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Start:
    """Memory before and at its peak in MB, and the number of captured tables."""

    before: float
    peak: float
    tables: int
    seconds: float


def measure(address: Address, include: tuple[str, ...]) -> Start:
    """Run the checks of a start in this process, which is a new one."""
    with closing(connect(address)) as connection:
        variables(connection)
    before, began = _peak(), time.perf_counter()
    source = CapturedSource(address, TableFilter(include), 77)
    checked = source.check()
    source.cascades()
    if checked.problems:
        raise SystemExit(str(checked.problems[0]))
    return Start(before, _peak(), len(checked.tables), time.perf_counter() - began)


def in_a_process(address: Address, include: tuple[str, ...]) -> Start:
    with ProcessPoolExecutor(1, mp_context=_spawn) as pool:
        return pool.submit(measure, address, include).result()


def _peak() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM"))


@contextmanager
def server_of(tables: int, columns: int) -> Iterator[Address]:
    """Run a server with a number of tables in ten databases, of which the first has `FEW`."""
    rest = (tables - FEW) // (_DATABASES - 1)
    counts = [FEW, *[rest] * (_DATABASES - 2), tables - FEW - rest * (_DATABASES - 2)]
    fields = ", ".join(f"a_column_with_a_name_{number} VARCHAR(60)" for number in range(columns - 1))
    with new_server(MariaDb) as server, closing(connect(server.address)) as connection:
        for number, count in enumerate(counts):
            query(connection, f"CREATE DATABASE shop_{number}")
            query(connection, f"CREATE TABLE shop_{number}.table_0 (id INT PRIMARY KEY, {fields})")
            for table in range(1, count):
                query(connection, f"CREATE TABLE shop_{number}.table_{table} LIKE shop_{number}.table_0")
        yield server.address


def line(tables: int, columns: int, start: Start) -> Sequence[str]:
    figures = (start.before, start.peak, start.peak - start.before)
    counts = (f"{tables:,}", f"{start.tables:,}", f"{start.tables * columns:,}")
    return (*counts, *(f"{figure:.0f}" for figure in figures), f"{start.seconds:.1f}")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The most memory of capture's checks at its start.")
    parser.add_argument("--tables", type=int, default=4_000)
    parser.add_argument("--columns", type=int, default=31)
    add_options(parser)
    options = parser.parse_args(argv)
    with server_of(options.tables, options.columns) as address:
        starts = [in_a_process(address, include) for include in (("shop_0.*",), ("shop_*",))]
    lines = [line(options.tables, options.columns, start) for start in starts]
    sizes = f"one run each, {options.tables * options.columns:,} columns on the server"
    publish(options, HEADING, machine(sizes, versions(PyMySQL="PyMySQL")), markdown(HEADER, lines))


if __name__ == "__main__":
    main()
