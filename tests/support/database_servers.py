"""Database servers of the tests' own: each on a free port, with a data folder that is thrown away.

MariaDB is Debian's package, MySQL what `.ci/mysql` has unpacked. A data folder is a copy of one that was made once.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pymysql
import pytest

from onefold.mysql.connection import Address, connect, query
from onefold_lab.processes import free_port

MYSQL = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "onefold" / "mysql" / "mysqld"
_START_SECONDS = 600
_OF_ONE_SERVER = "auto.cnf"
"""Holds the UUID by which MySQL tells servers apart; without the file, a new one is made."""
READER = "onefold"
"""The user of capture: it has the rights that docs/how-to/run-capture.md names, and no others."""
_READER = (
    # Not in the log: a replica has a user of its own.
    "SET SESSION sql_log_bin = 0", f"CREATE USER {READER}@'%' IDENTIFIED BY ''",
    f"GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {READER}@'%'",
)  # fmt: skip
_SETTINGS = (
    "--log-bin=mysql-bin", "--binlog-format=ROW", "--binlog-row-image=FULL", "--binlog-row-metadata=FULL", "--server-id=1",
    "--character-set-server=utf8mb4", "--skip-name-resolve", "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=16M",
    "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--key-buffer-size=1M", "--innodb-use-native-aio=0",
)  # fmt: skip


@dataclass
class DatabaseServer(ABC):
    """A server that can be stopped, killed and started again on the same data."""

    folder: Path
    port: int
    settings: tuple[str, ...] = ()
    user: str = READER
    """The user of capture."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @staticmethod
    @abstractmethod
    def missing() -> str | None:
        """Return why no server can be started; None if one can."""

    @abstractmethod
    def install(self) -> None:
        """The data folder, with a root who needs no password."""

    @abstractmethod
    def command(self) -> list[str]:
        """The server's program, with settings that only it has."""

    @property
    def address(self) -> Address:
        # Making ready for TLS takes longer than all that is asked.
        return Address("127.0.0.1", self.port, "root", tls={"ssl_disabled": True})

    @property
    def reader(self) -> Address:
        """The address with the user of capture."""
        return replace(self.address, user=self.user)

    def create_reader(self) -> None:
        with closing(connect(self.address)) as connection:
            for statement in _READER:
                query(connection, statement)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        places = [f"--datadir={self.data}", f"--socket={self.folder / 'socket'}", f"--pid-file={self.folder / 'pid'}"]
        # Not /tmp: a server that starts clears away the temporary tables of others there.
        places += [f"--tmpdir={self.folder}", f"--user={getpass.getuser()}", f"--port={self.port}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*self.command(), *places, *_SETTINGS, *self.settings], stdout=log, stderr=log)
        self._wait()

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait()

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def _wait(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                connect(self.address).close()
            except pymysql.err.OperationalError:
                if time.monotonic() > end or (self._process and self._process.poll() is not None):
                    pytest.fail(f"the server does not answer:\n{(self.folder / 'log').read_text()}")
                time.sleep(0.1)
            else:
                return


class MariaDb(DatabaseServer):
    @staticmethod
    def missing() -> str | None:
        return None if shutil.which("mariadbd") else "mariadbd is missing: .ci/mariadb installs it"

    def install(self) -> None:
        command = ["mariadb-install-db", "--no-defaults", f"--user={getpass.getuser()}", f"--datadir={self.data}"]
        _run([*command, "--auth-root-authentication-method=normal", "--skip-test-db"])

    def command(self) -> list[str]:
        return ["mariadbd", "--no-defaults", "--innodb-log-file-size=8M"]


class MySql(DatabaseServer):
    @staticmethod
    def missing() -> str | None:
        return None if MYSQL.exists() else "MySQL is missing: .ci/mysql unpacks it"

    def install(self) -> None:
        user = "root@'127.0.0.1'"
        (self.folder / "first.sql").write_text(f"CREATE USER {user}; GRANT ALL ON *.* TO {user} WITH GRANT OPTION;\n")
        words = ["--initialize-insecure", f"--init-file={self.folder / 'first.sql'}", "--skip-log-bin"]
        _run([*self.command(), *words, f"--user={getpass.getuser()}", f"--datadir={self.data}"])

    def command(self) -> list[str]:
        own = [
            "--innodb-flush-method=nosync",
            "--innodb-doublewrite=OFF",
            "--mysqlx=OFF",
            "--secure-file-priv=",
            "--innodb-redo-log-capacity=8M",
        ]
        return [str(MYSQL), "--no-defaults", *own, "--gtid-mode=ON", "--enforce-gtid-consistency=ON"]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def new_server(kind: type[DatabaseServer], *settings: str) -> Iterator[DatabaseServer]:
    """Start a new server; skips the test if no server can be started."""
    if reason := kind.missing():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="database-") as folder:
        server = kind(Path(folder), free_port(), settings)
        shutil.copytree(installed(kind), server.data, ignore=shutil.ignore_patterns(_OF_ONE_SERVER))
        server.start()
        server.create_reader()
        try:
            yield server
        finally:
            server.kill()


def installed(kind: type[DatabaseServer]) -> Path:
    """Return a data folder as installed, for copies: to make one takes a processor some seconds, and MySQL ten.

    It is kept between runs in the folder for temporary files, for this file and this version of the server.
    """
    program = Path(shutil.which(kind(Path(), 0).command()[0]) or "").resolve()
    state = f"{program} {program.stat().st_mtime_ns} {program.stat().st_size}".encode() + Path(__file__).read_bytes()
    home = Path(tempfile.gettempdir()) / f"onefold-databases-{getpass.getuser()}"
    home.mkdir(mode=0o700, exist_ok=True)
    folder = home / f"{kind.__name__}-{hashlib.sha256(state).hexdigest()[:16]}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=home) as new:
                server = kind(Path(new), 0)
                server.install()
                server.data.rename(folder)
    return folder
