"""A MariaDB of the tests' own: Debian's package, started on a free port with a data folder that is thrown away."""

from __future__ import annotations

import getpass
import itertools
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
import pytest

from onefold.capture.binlog import follow
from onefold.capture.log_events import LogEvent, Place, RowsChanged
from onefold.capture.patterns import Patterns
from onefold.capture.server import Address, connect, query

_START_SECONDS = 60
_SETTINGS = (
    "--log-bin=mysql-bin", "--binlog-format=ROW", "--binlog-row-image=FULL", "--binlog-row-metadata=FULL", "--server-id=1",
    "--character-set-server=utf8mb4", "--skip-name-resolve", "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0", "--key-buffer-size=1M", "--innodb-use-native-aio=0",
)  # fmt: skip
_numbers = itertools.count(1)
_server_ids = itertools.count(1000)


@dataclass
class MariaDb:
    """A server that can be stopped, killed and started again on the same data."""

    folder: Path
    port: int
    settings: tuple[str, ...] = ()
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self.port, "root")

    def install(self) -> None:
        """The data folder, with a root who needs no password."""
        command = ["mariadb-install-db", "--no-defaults", f"--user={getpass.getuser()}", f"--datadir={self._data}"]
        options = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        places = [f"--datadir={self._data}", f"--socket={self.folder / 'socket'}", f"--pid-file={self.folder / 'pid'}"]
        # Not /tmp: a server that starts clears away the temporary tables of others there.
        places.append(f"--tmpdir={self.folder}")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "mariadbd", "--no-defaults", f"--user={getpass.getuser()}", f"--port={self.port}", *places,
                    *_SETTINGS, *self.settings,
                ],
                stdout=log, stderr=log,
            )  # fmt: skip
        self._wait()

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait()

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _wait(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                connect(self.address).close()
            except pymysql.err.OperationalError:
                if time.monotonic() > end:
                    pytest.fail(f"MariaDB does not answer:\n{(self.folder / 'log').read_text()}")
                time.sleep(0.1)
            else:
                return


@contextmanager
def mariadb_server(*settings: str) -> Iterator[MariaDb]:
    """A new server; skips where there is none to start."""
    if not shutil.which("mariadbd"):
        pytest.skip("mariadbd is missing: .ci/mariadb installs it")
    with tempfile.TemporaryDirectory(prefix="mariadb-") as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = MariaDb(Path(folder), probe.getsockname()[1], settings)
        probe.close()
        server.install()
        server.start()
        try:
            yield server
        finally:
            server.kill()


@dataclass(frozen=True)
class SourceDatabase:
    """A database of its own, and what its log has held since the test began."""

    server: MariaDb
    connection: pymysql.Connection
    name: str
    start: Place

    def run(self, *statements: str) -> None:
        for statement in statements:
            query(self.connection, statement)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return query(self.connection, sql)

    def log(self, patterns: Patterns | None = None) -> list[LogEvent]:
        chosen = patterns or Patterns((f"{self.name}.*",))
        return list(follow(self.server.address, self.start, chosen, next(_server_ids), blocking=False))

    def changes(self, patterns: Patterns | None = None) -> list[RowsChanged]:
        return [event for event in self.log(patterns) if isinstance(event, RowsChanged)]


def end_of_log(connection: pymysql.Connection) -> Place:
    file, offset, *_ = query(connection, "SHOW MASTER STATUS")[0]
    return Place(1, file, offset)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """One server for the session: it takes seconds to start."""
    with mariadb_server() as server:
        yield server


@pytest.fixture
def source(mariadb: MariaDb) -> Iterator[SourceDatabase]:
    """An empty database, with its log read from here on."""
    connection = connect(mariadb.address)
    name = f"shop{next(_numbers)}"
    query(connection, f"CREATE DATABASE {name}")
    connection.select_db(name)
    yield SourceDatabase(mariadb, connection, name, end_of_log(connection))
    connection.close()
