"""Redshift's statements on a real PostgreSQL, which is where Redshift comes from.

The translation takes off what only Redshift has (DISTSTYLE, DISTKEY, SORTKEY, ENCODE), and refuses what PostgreSQL allows
and Redshift does not:

- ALTER COLUMN TYPE, except for a longer VARCHAR, outside of a transaction, whose encoding allows it, and of another length;
- more than one ADD COLUMN in a statement, and ADD COLUMN NOT NULL;
- VARCHAR above 65,535 and CHAR above 4,096;
- names of more than 127 bytes; PostgreSQL cuts names at 63, so that tests use shorter ones.

It knows the statements that onefold writes and no others.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

_NOBODY = 65534
_START_SECONDS = 600
_numbers = itertools.count(1)
_COLUMN = re.compile(r'"((?:[^"]|"")+)" ([A-Z ]+?(?:\([0-9,]+\))?)(?: ENCODE (\w+))?(?: NOT NULL)?,?$', re.MULTILINE)
_ADD = re.compile(r'ALTER TABLE \S+ ADD COLUMN ("(?:[^"]|"")+" [A-Z ]+?(?:\([0-9,]+\))? ENCODE \w+)')
_WIDEN = re.compile(r'ALTER TABLE (\S+) ALTER COLUMN "((?:[^"]|"")+)" TYPE VARCHAR\(([0-9]+)\)')
_ONLY_REDSHIFT = re.compile(r" ENCODE \w+|^(?:DISTSTYLE|DISTKEY|SORTKEY).*$", re.MULTILINE)


class Refused(AssertionError):
    """Redshift would refuse a statement that PostgreSQL takes."""


@dataclass
class RedshiftOnPostgres:
    """An empty database, and what Redshift knows of its columns beyond PostgreSQL: their encodings."""

    connection: psycopg.Connection[tuple[object, ...]]
    in_transaction: bool = False
    encodings: dict[str, str] = field(default_factory=dict)

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.check(statement)
            self.connection.execute(self.translated(statement).encode())
            self.in_transaction = {"BEGIN": True, "COMMIT": False}.get(statement, self.in_transaction)

    def translated(self, statement: str) -> str:
        """Return a statement without what only Redshift has."""
        return _ONLY_REDSHIFT.sub("", statement) if statement.startswith(("CREATE TABLE", "ALTER TABLE")) else statement

    def check(self, statement: str) -> None:
        """Refuse what Redshift refuses; a refusal is an assertion that fails."""
        if not statement.startswith(("CREATE TABLE", "ALTER TABLE")):
            return
        if "ALTER COLUMN" in statement:
            self._check_wider(statement)
            return
        for name, type_, encoding in _COLUMN.findall(statement):
            if len(name.encode()) > 63:
                raise Refused(f"{name}: longer than PostgreSQL's names")
            kind, _, size = type_.rstrip(")").partition("(")
            if int(size.partition(",")[0] or 0) > {"VARCHAR": 65_535, "CHAR": 4_096}.get(kind, 38):
                raise Refused(f"{type_}: too long")
            self.encodings[name] = encoding.lower()
        if "ADD COLUMN" in statement and not _ADD.fullmatch(statement):
            raise Refused(f"{statement}: expected one column, which may be NULL")

    def _check_wider(self, statement: str) -> None:
        found = _WIDEN.fullmatch(statement)
        if not found or self.in_transaction:
            raise Refused(f"{statement}: only VARCHAR can change its length, and not in a transaction")
        name, length = found[2].replace('""', '"'), int(found[3])
        if self.encodings.get(found[2]) in ("bytedict", "runlength", "text255", "text32k"):
            raise Refused(f"{statement}: the encoding of {name} does not allow it")
        before = dict(self.columns(found[1].strip('"')))[name]
        size = re.fullmatch(r"character varying\(([0-9]+)\)", before)
        if not size or int(size[1]) >= length or length > 65_535:
            raise Refused(f"{statement}: {name} is {before}")

    def columns(self, table: str) -> list[tuple[str, str]]:
        """Return names and types of a table's columns, in their order."""
        sql = (
            "SELECT attname, format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END "
            "FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        return [(str(name), str(type_)) for name, type_ in self.connection.execute(sql, [f'"{table}"'])]

    def comment(self, table: str) -> str | None:
        (row,) = self.connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [f'"{table}"'])
        return str(row[0]) if row[0] is not None else None

    def tables(self) -> set[str]:
        return {
            str(name) for (name,) in self.connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        }


def _program(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


def _as_nobody() -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"] if os.getuid() == 0 else []


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The folder of a server's socket; it takes half a second to start, so one serves the whole session."""
    initdb, postgres = _program("initdb"), _program("postgres")
    if not initdb or not postgres:
        pytest.skip("PostgreSQL is missing: .ci/postgres installs it")
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "data"
        if os.getuid() == 0:
            os.chown(folder, _NOBODY, _NOBODY)
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        made = subprocess.run(
            [*_as_nobody(), initdb, "-D", data, *options], capture_output=True, text=True, cwd="/", check=False
        )
        assert made.returncode == 0, made.stderr
        settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=40"]
        with (Path(folder) / "log").open("wb") as log:
            command = [*_as_nobody(), postgres, "-D", str(data), "-k", folder, *settings]
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
        try:
            _wait(folder, process)
            yield folder
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: its data is deleted
            process.wait()


def _wait(folder: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(host=folder, user="postgres", dbname="postgres").close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, (Path(folder) / "log").read_text()
            assert time.monotonic() < deadline, (Path(folder) / "log").read_text()
            time.sleep(0.05)


def new_database(folder: str) -> str:
    """Create an empty database of a server, and return its name."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(host=folder, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    return name


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[RedshiftOnPostgres]:
    """An empty database of its own."""
    name = new_database(postgres_server)
    with psycopg.connect(host=postgres_server, user="postgres", dbname=name, autocommit=True) as connection:
        yield RedshiftOnPostgres(connection)
