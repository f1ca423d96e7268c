"""Redshift's Data API on a real PostgreSQL, behind moto's server, whose S3 COPY reads.

moto keeps statements and never runs them. Here they run, each in a thread of its own, in the order of Redshift's states:
SUBMITTED, STARTED, then FINISHED, FAILED or ABORTED. What the server does as Redshift does:

- a batch is one transaction, which an error rolls back; the snapshot is that of its first query, not that of LOCK;
- a ClientToken that is known gives the statement that it belongs to, and nothing runs again;
- results come in pages; a batch has 1 to 40 statements, and a statement at most 100,000 bytes;
- COPY reads exactly the files of a manifest, all rows or none, and leaves the first bad row in SYS_LOAD_ERROR_DETAIL;
- what `support.postgres` and `support.redshift_copy` say that Redshift refuses, is refused.

It does not know permissions, except that COPY needs the role of the server, nor anything of SUPER or VACUUM. Of Spectrum it
knows what `support.fake_spectrum` says.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from moto.redshiftdata.responses import RedshiftDataAPIServiceResponse
from support.fake_spectrum import FakeSpectrum, SpectrumError
from support.postgres import RedshiftOnPostgres, Refused, new_database
from support.redshift_copy import CopyFailed, copy_into

from onefold.adapters.redshift.connection import RedshiftConnection

ROLE = "arn:aws:iam::123456789012:role/onefold-copy"
DATABASE, SCHEMA, WORKGROUP = "dev", "atomic", "events"
CONNECTION = RedshiftConnection(DATABASE, SCHEMA, ROLE, workgroup=WORKGROUP)
PAGE = 3
_MAX_STATEMENT, _MAX_BATCH = 100_000, 40
_VIEWS = """
CREATE FUNCTION getdate() RETURNS timestamp LANGUAGE sql AS 'SELECT localtimestamp';
CREATE FUNCTION pg_last_copy_count() RETURNS bigint LANGUAGE sql AS
  'SELECT COALESCE(current_setting(''onefold.copied'', true), ''0'')::bigint';
CREATE VIEW svv_columns AS SELECT * FROM information_schema.columns;
CREATE VIEW svv_tables AS SELECT table_catalog, table_schema, table_name, table_type,
  obj_description(format('%I.%I', table_schema, table_name)::regclass, 'pg_class') AS remarks FROM information_schema.tables;
CREATE TABLE sys_load_error_detail
  (query_id bigint, file_name char(256), line_number bigint, column_name char(127), error_message char(512));
"""
Answer = tuple[int, dict[str, str], str]


@dataclass
class Statement:
    """A statement, or several of a transaction, with what became of them."""

    id: str
    texts: list[str]
    is_batch: bool
    query: int
    status: str = "SUBMITTED"
    errors: dict[int, str] = field(default_factory=dict)
    results: dict[int, tuple[list[str], list[tuple[Any, ...]]]] = field(default_factory=dict)
    connection: psycopg.Connection[Any] | None = None
    is_cancelled: bool = False

    def described(self) -> dict[str, Any]:
        parts = [
            {
                "Id": f"{self.id}:{index + 1}",
                "Status": self._status_of(index),
                "QueryString": text,
                "HasResultSet": index in self.results,
                "RedshiftQueryId": self.query + index,
                **({"Error": self.errors[index]} if index in self.errors else {}),
            }
            for index, text in enumerate(self.texts)
        ]
        whole = {"Id": self.id, "Status": self.status, "HasResultSet": bool(self.results), "RedshiftQueryId": self.query}
        if self.errors:
            (index, error), *_ = self.errors.items()
            whole["Error"] = f"Query #{index + 1} failed with {error}" if self.is_batch else error
        return {**whole, **({"SubStatements": parts} if self.is_batch else {"QueryString": self.texts[0]})}

    def _status_of(self, index: int) -> str:
        if self.status in ("FAILED", "ABORTED"):
            return "FAILED" if index in self.errors else "ABORTED"
        return self.status


class ApiError(Exception):
    """An error of the API, by its code."""


@dataclass
class RedshiftServer:
    """The statements that were submitted, and what a test makes the server do.

    Attributes:
        refusals: codes of errors with which the next calls are answered, before anything is done.
        lost: how many of the next submitted statements are taken while the answer is lost.
        before: called with each statement before it runs; its exception is the statement's error.
        calls: called with the name of each operation before it is answered.
        log: every statement that began to run.
    """

    folder: str
    name: str
    encodings: dict[str, str] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    lost: int = 0
    before: Callable[[str], None] = lambda _: None
    calls: Callable[[str], None] = lambda _: None
    log: list[str] = field(default_factory=list)
    statements: dict[str, Statement] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    threads: list[threading.Thread] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    idle: list[psycopg.Connection[tuple[Any, ...]]] = field(default_factory=list)
    spectrum: FakeSpectrum = field(default_factory=FakeSpectrum)

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        # Redshift reads backslashes in texts as PostgreSQL once did, and isolates by snapshots.
        settings = "standard_conforming_strings=off", "escape_string_warning=off"
        options = " ".join(f"-c {one}" for one in (*settings, r"default_transaction_isolation=repeatable\ read"))
        return psycopg.connect(
            host=self.folder, user="postgres", dbname=self.name, autocommit=True, options=options, prepare_threshold=None
        )

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(sql.encode()).fetchall()

    def run(self, *statements: str) -> None:
        """Run statements as somebody else would."""
        with self.connect() as connection:
            session = RedshiftOnPostgres(connection, encodings=self.encodings)
            for statement in statements:
                session.run(statement)

    def answer(self, operation: str, arguments: Mapping[str, Any]) -> Answer:
        try:
            self.calls(operation)
            if self.refusals:
                raise ApiError(self.refusals.pop(0))
            found = getattr(self, f"_{operation}")(arguments)
        except ApiError as error:
            code, _, text = str(error).partition(": ")
            return 400, {"status": "400", "x-amzn-errortype": code}, json.dumps({"__type": code, "message": text})
        if operation.endswith("execute_statement") and self.lost:
            self.lost -= 1
            return 500, {"status": "500"}, json.dumps({"__type": "InternalServerException", "message": "the answer is lost"})
        return 200, {}, json.dumps(found)

    def _execute_statement(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._submit([arguments["Sql"]], False, arguments)

    def _batch_execute_statement(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._submit(arguments["Sqls"], True, arguments)

    def _submit(self, texts: list[str], is_batch: bool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if arguments.get("WorkgroupName") != WORKGROUP or arguments.get("Database") != DATABASE:
            raise ApiError("ValidationException: Redshift endpoint doesn't exist in this region.")
        if len(texts) > _MAX_BATCH or any(len(text.encode()) > _MAX_STATEMENT for text in texts):
            raise ApiError("ValidationException: a statement or the batch is too long")
        with self.lock:
            token = arguments["ClientToken"]
            if token not in self.tokens:
                statement = Statement(str(uuid.uuid4()), texts, is_batch, 1000 + 50 * len(self.statements))
                self.tokens[token] = statement.id
                self.statements[statement.id] = statement
                self.threads.append(threading.Thread(target=self._run, args=[statement], daemon=True))
                self.threads[-1].start()
            return {"Id": self.tokens[token], "Database": DATABASE}

    def _describe_statement(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._statement(arguments["Id"]).described()

    def _get_statement_result(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        id_, _, part = arguments["Id"].partition(":")
        statement = self._statement(id_)
        index = int(part or len(statement.texts)) - 1
        if statement.status != "FINISHED" or index not in statement.results:
            raise ApiError("ResourceNotFoundException: Query does not have result. Please check query status.")
        names, rows = statement.results[index]
        start = int(arguments.get("NextToken") or 0)
        page = [[_field(value) for value in row] for row in rows[start : start + PAGE]]
        more = {"NextToken": str(start + PAGE)} if start + PAGE < len(rows) else {}
        columns = [{"name": name} for name in names]
        return {"Records": page, "ColumnMetadata": columns, "TotalNumRows": len(rows), **more}

    def _cancel_statement(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        statement = self._statement(arguments["Id"])
        if statement.status in ("FINISHED", "FAILED", "ABORTED"):
            raise ApiError(f"ValidationException: Could not cancel a query that is already in {statement.status} state")
        statement.is_cancelled = True
        if statement.connection:
            statement.connection.cancel()
        return {"Status": True}

    def _statement(self, id_: str) -> Statement:
        if id_ not in self.statements:
            raise ApiError("ResourceNotFoundException: Query does not exist.")
        return self.statements[id_]

    def _run(self, statement: Statement) -> None:
        statement.status = "STARTED"
        with self.lock:
            connection = self.idle.pop() if self.idle else self.connect()
        statement.connection = connection
        session = RedshiftOnPostgres(connection, encodings=self.encodings)
        if statement.is_batch:
            session.run("BEGIN")
        done = all(self._ran(session, statement, index) for index in range(len(statement.texts)))
        if statement.is_batch:
            connection.execute(b"COMMIT" if done else b"ROLLBACK")
        statement.connection = None
        self.idle.append(connection)
        statement.status = "FINISHED" if done else "ABORTED" if statement.is_cancelled else "FAILED"

    def _ran(self, session: RedshiftOnPostgres, statement: Statement, index: int) -> bool:
        text = statement.texts[index]
        self.log.append(text)
        try:
            self.before(text)
            if text.startswith("COPY "):
                copy_into(session.connection, text, ROLE)
                return True
            if self.spectrum.run(session.connection, text, is_batch=statement.is_batch):
                return True
            session.check(text)
            cursor = session.connection.execute(session.translated(text).encode())
            if cursor.description:
                statement.results[index] = [one.name for one in cursor.description], cursor.fetchall()
        except CopyFailed as failed:
            statement.errors[index] = str(failed)
            self._keep(statement.query + index, failed)
        except (psycopg.Error, Refused, RuntimeError, SpectrumError) as error:
            statement.errors[index] = "ERROR: " + re.sub("division by zero", "Divide by zero", str(error))
        return index not in statement.errors

    def _keep(self, query: int, failed: CopyFailed) -> None:
        with self.connect() as connection:
            values = [query, failed.file, failed.line, failed.column, failed.reason]
            connection.execute("INSERT INTO sys_load_error_detail VALUES (%s, %s, %s, %s, %s)", values)


def _field(value: Any) -> dict[str, Any]:
    if value is None:
        return {"isNull": True}
    kinds = {bool: "booleanValue", int: "longValue", float: "doubleValue"}
    kind = kinds.get(type(value), "stringValue")
    return {kind: value if kind != "stringValue" else str(value)}


_OPERATIONS = (
    "execute_statement",
    "batch_execute_statement",
    "describe_statement",
    "get_statement_result",
    "cancel_statement",
)


@pytest.fixture(scope="session")
def redshift_database(postgres_server: str) -> str:
    """The name of a database with Redshift's catalog: one for the session, since a new one takes half a second."""
    name = new_database(postgres_server)
    with RedshiftServer(postgres_server, name).connect() as connection:
        connection.execute(_VIEWS.encode())
    return name


@pytest.fixture
def redshift(
    postgres_server: str, redshift_database: str, s3_server: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RedshiftServer]:
    """A database whose schema `atomic` is empty, which the real client finds by the environment."""
    assert s3_server
    server = RedshiftServer(postgres_server, redshift_database)
    server.run(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE", f"CREATE SCHEMA {SCHEMA}", "TRUNCATE sys_load_error_detail")
    for name in _OPERATIONS:

        def answer(self: RedshiftDataAPIServiceResponse, operation: str = name) -> Answer:
            return server.answer(operation, json.loads(self.body))

        monkeypatch.setattr(RedshiftDataAPIServiceResponse, name, answer, raising=False)
    yield server
    for thread in server.threads:
        thread.join(timeout=300)
    for connection in server.idle:
        connection.close()
