"""A MariaDB of this machine for the demo: empty, on a free port, and deleted at the end."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql

from onefold.core.errors import Rejected
from onefold.mysql.connection import Address, connect
from onefold_lab.processes import end_process, free_port, last_errors

INSTALL_MARIADB = "sudo apt-get update && sudo apt-get install --yes mariadb-server"
_SERVER, _INSTALLER = "mariadbd", "mariadb-install-db"
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin")
"""Where packages put a server, though the PATH of a user may lack them."""
# Little memory, no waiting for the disk, and reachable from this machine alone.
_SETTINGS = (
    "--bind-address=127.0.0.1", "--skip-name-resolve", "--character-set-server=utf8mb4", "--innodb-buffer-pool-size=16M",
    "--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=8M",
)  # fmt: skip
_START_SECONDS = 300.0


def mariadb_hint() -> str | None:
    """Return why no MariaDB can be started, with the command that installs it; None if one can."""
    missing = [name for name in (_SERVER, _INSTALLER) if _program(name) is None]
    return (
        f"{' and '.join(missing)} cannot be found, so there is no MariaDB here. Run: {INSTALL_MARIADB}" if missing else None
    )


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_FOLDERS]))


@contextlib.contextmanager
def mariadb_server() -> Iterator[Address]:
    """Run an empty MariaDB. Yields its address, with a root who needs no password.

    Raises:
        Rejected: MariaDB is not installed, or does not start.
    """
    if hint := mariadb_hint():
        raise Rejected(hint)
    with tempfile.TemporaryDirectory(prefix="onefold-mariadb-") as name:
        folder, port = Path(name), free_port()
        own = [f"--user={getpass.getuser()}", f"--datadir={folder / 'data'}"]
        _install(own)
        places = [f"--socket={folder / 'socket'}", f"--pid-file={folder / 'pid'}", f"--tmpdir={folder}", f"--port={port}"]
        command = [str(_program(_SERVER)), "--no-defaults", *own, *places, *_SETTINGS]
        with (folder / "log").open("w+b") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603
            try:
                address = Address("127.0.0.1", port, "root", tls={"ssl_disabled": True})
                if not _answers(process, address):
                    raise Rejected(f"MariaDB does not start:\n{last_errors(log)}")
                yield address
            finally:
                end_process(process)


def _install(own: list[str]) -> None:
    """Create the data folder.

    Raises:
        Rejected: MariaDB's own program fails.
    """
    words = ["--no-defaults", *own, "--auth-root-authentication-method=normal", "--skip-test-db"]
    done = subprocess.run(  # noqa: S603
        [str(_program(_INSTALLER)), *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Rejected(f"{_INSTALLER} failed:\n{(done.stderr or done.stdout).strip()}")


def _answers(process: subprocess.Popen[bytes], address: Address) -> bool:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(pymysql.err.OperationalError):
            connect(address).close()
            return True
        time.sleep(0.1)
    return False
