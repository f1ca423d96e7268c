"""The time from ALTER and INSERT at a MariaDB to both being visible in `customer_current`, on the stack of a laptop.

Run: `PYTHONPATH=tests python -m benchmarks.visible [--rounds 20]`. It needs `mariadbd`.

Capture runs as a command, the functions behind the topics of `onefold local start`. All of them write their times by one
clock: the table its creation, the view its last change, the row its landing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from google.api_core.exceptions import BadRequest, NotFound
from google.cloud import bigquery
from support.database_servers import DatabaseServer, MariaDb, new_server
from support.pages import background

from benchmarks.chart import Bar, Chart
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, spread, versions
from onefold.core.versioned_names import DEFAULT_NAMES
from onefold.mysql.connection import connect, query
from onefold_lab.processes import free_port
from onefold_lab.stack import local_stack
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client

HEADING = "From the source to the current view"
HEADER = ("until", "median, s", "95 %, s")
DATASET, VIEW = "shop", "customer_current"
_PAUSE, _DEADLINE = 0.05, 120.0
"""Seconds between two looks at the view, and seconds after which a round has failed."""


@dataclass(frozen=True)
class Round:
    """Seconds from sending the ALTER to each stage."""

    sent: float
    table: float
    view: float
    row: float
    visible: float


STAGES = {
    "sent": "the source has confirmed ALTER and INSERT",
    "table": "capture has created the versioned table",
    "view": "the current view has the column",
    "row": "the row has landed",
    "visible": "a query of the current view shows the row with the column",
}


@dataclass(frozen=True)
class Scene:
    """A table of a source, and the warehouse in which it is seen."""

    server: DatabaseServer
    client: bigquery.Client

    def measure(self, number: int) -> Round:
        """Add a column and a row, and wait until a query shows both."""
        began = time.time()
        with closing(connect(self.server.address)) as connection:
            query(connection, f"ALTER TABLE shop.customer ADD COLUMN c_{number} INT")
            query(connection, f"INSERT INTO shop.customer (id, name, c_{number}) VALUES ({number}, 'n', {number})")
        sent = time.time()
        self.wait(f"c_{number} = {number} AND id = {number}", began)
        visible = time.time()
        changes = max(self._versions(), key=lambda table: table.created)
        view = self.client.get_table(f"{DATASET}.{VIEW}")
        (row,) = self.client.query(f"SELECT _landed_at AS at FROM {DATASET}.{changes.table_id} WHERE id = {number}").result()
        times = (sent, changes.created.timestamp(), view.modified.timestamp(), row.at.timestamp(), visible)
        return Round(*(at - began for at in times))

    def wait(self, condition: str, began: float) -> None:
        """Wait until the current view shows a row; while there is no such view or column, it shows none.

        Raises:
            SystemExit: the row did not appear in time.
        """
        while time.time() < began + _DEADLINE:
            with suppress(NotFound, BadRequest):  # there is no view yet, or no such column
                if self._is_written_since(began):
                    # Without retries of the client, which would pause longer than this loop.
                    found = self.client.query(f"SELECT 1 FROM {DATASET}.{VIEW} WHERE {condition}", retry=None)  # type: ignore[arg-type]
                    if list(found.result()):
                        return
            time.sleep(_PAUSE)
        raise SystemExit(f"expected a row with {condition} in {VIEW} within {_DEADLINE:.0f} s, got none")

    def _is_written_since(self, began: float) -> bool:
        """Return whether the view was written, by its metadata: a query would take time of the emulator."""
        return bool(self.client.get_table(f"{DATASET}.{VIEW}").modified.timestamp() > began)

    def _versions(self) -> list[bigquery.Table]:
        names = [item.table_id for item in self.client.list_tables(DATASET)]
        return [self.client.get_table(f"{DATASET}.{name}") for name in names if DEFAULT_NAMES.split(name)]


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Run a source with one table, the stack, and capture between them."""
    with ExitStack() as stack:
        server = stack.enter_context(new_server(MariaDb))
        with closing(connect(server.address)) as connection:
            query(connection, "CREATE DATABASE shop")
            query(connection, "CREATE TABLE shop.customer (id INT PRIMARY KEY, name VARCHAR(30))")
            query(connection, "INSERT INTO shop.customer VALUES (0, 'first')")
        hosts = stack.enter_context(local_stack(free_port(3), [DATASET], {}, lambda _: None))
        address, onefold = server.address, Path(sys.executable).with_name("onefold")
        command = (
            f"{onefold} capture --host {address.host} --port {address.port} --user {address.user} "
            f"--source shop --dataset {DATASET} --include shop --checkpoint state --snapshot"
        )
        environ = {**os.environ, **hosts, "ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_SOURCE_PASSWORD": address.password}
        stack.enter_context(background(command, folder, environ, folder / "capture.log"))
        made = Scene(server, emulator_client(DEFAULT_PROJECT, hosts["BIGQUERY_EMULATOR_HOST"]))
        made.wait("id = 0", time.time())
        yield made


def lines(measured: Sequence[Round]) -> list[Sequence[str]]:
    """Return a line for each stage: the median, and the figure that 95 % of the rounds do not pass."""
    found: list[Sequence[str]] = []
    for name, text in STAGES.items():
        figures = sorted(getattr(one, name) for one in measured)
        late = figures[max(0, -(-len(figures) * 95 // 100) - 1)]
        found.append((text, f"{statistics.median(figures):.2f}", f"{late:.2f}"))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="From ALTER and INSERT at a source to the current view.")
    parser.add_argument("--rounds", type=int, default=20)
    add_options(parser)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="visible-") as folder, scene(Path(folder)) as made:
        rounds = Rounds[Round](options.rounds, again=bool(options.page))
        for number in rounds:
            rounds.note("onefold", made.measure(number + 1))
    measured = rounds.figures["onefold"]
    sizes = f"{described([rounds])}, each of which adds a version"
    bars = [Bar(text, spread([getattr(one, name) for one in measured]), True) for name, text in STAGES.items()]
    table, chart = markdown(HEADER, lines(measured)), Chart("Seconds since the ALTER was sent", bars, 2)
    publish(options, HEADING, machine(sizes, versions(bqemulator="bqemulator")), table, (), [rounds], chart)


if __name__ == "__main__":
    main()
