"""The Data API of Redshift: statements that run without a connection, and are asked for until they end.

Limits: a statement of 100 KB, 40 statements in a transaction, 24 hours, results of 100 MB (Amazon Redshift Management Guide,
"Using the Amazon Redshift Data API", https://docs.aws.amazon.com/redshift/latest/mgmt/data-api.html, 2026-11).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from onefold.adapters.redshift.connection import RedshiftConnection
from onefold.adapters.redshift.errors import api_error, is_transient
from onefold.core.errors import InvalidInput, LimitExceeded, Rejected, TryAgain
from onefold.core.extras import how_to_install
from onefold.core.retry import Backoff

MAX_STATEMENT = 100_000
"""Bytes of a statement."""
MAX_BATCH = 40
"""Statements in a transaction."""
POLLS = Backoff(first=0.05, longest=2.0, factor=1.5)
TRIES = 4
_PAUSES = Backoff(first=0.5, longest=8.0, jitter=True)
_PATIENCE = 300.0
"""Seconds that a statement may wait for the locks of others, those that load excepted."""
_CALL_SECONDS = 30
_ENDED = frozenset({"FINISHED", "FAILED", "ABORTED"})

Row = tuple[Any, ...]


@dataclass(frozen=True)
class StatementOutcome:
    """What became of a statement, or of the statements of a transaction.

    Attributes:
        id: the identifier that the Data API gave.
        is_running: whether it still ran when the time was over.
        error: the error of Redshift; None where there was none.
        failed: the index of the statement that failed; None where that is not known.
        query: the number of the query that failed, for Redshift's own logs.
    """

    id: str
    is_running: bool = False
    error: str | None = None
    failed: int | None = None
    query: int | None = None


class DataApi:
    """Statements for one database. The client is created at the first use.

    Args of the constructor: the connection, and a function that waits for some seconds.
    """

    def __init__(self, connection: RedshiftConnection, sleep: Callable[[float], None] = time.sleep) -> None:
        self._connection = connection
        self._sleep = sleep
        self._client: Any = None

    def execute(self, sql: str) -> None:
        """Run a statement on its own, committed when this returns.

        Raises:
            LimitExceeded: the statement is too long.
            Rejected: Redshift refuses the statement.
            TryAgain: an error that may pass.
        """
        self._finished(sql)

    def rows(self, sql: str) -> list[Row]:
        """Return the rows of a query.

        Raises:
            LimitExceeded: the statement is too long.
            Rejected: Redshift refuses the statement.
            TryAgain: an error that may pass.
        """
        return list(self._rows(self._finished(sql).id))

    def transaction(self, statements: Sequence[str], wait: float | None = None) -> StatementOutcome:
        """Run statements in one transaction: all of them, or none.

        Args:
            statements: at most `MAX_BATCH`.
            wait: the seconds after which the transaction is left to go on; None waits for its end.

        Returns:
            The outcome. An error of a statement is in it, unless it may pass.

        Raises:
            LimitExceeded: a statement is too long, or there are too many.
            Rejected: the Data API refuses the call.
            TryAgain: nothing was changed, and the error may pass.
        """
        if len(statements) > MAX_BATCH:
            raise LimitExceeded(f"expected at most {MAX_BATCH} statements in a transaction, got {len(statements)}")
        return self._tried(statements, wait)

    def _finished(self, sql: str) -> StatementOutcome:
        outcome = self._tried([sql], _PATIENCE)
        if outcome.is_running:
            self._cancel(outcome.id)
            raise TryAgain(
                f"a statement waited for {_PATIENCE:.0f} s, and was cancelled: see what locks its tables, "
                f"and try again: {_short(sql)}"
            )
        if outcome.error is not None:
            raise Rejected(f"Redshift: {outcome.error}: {_short(sql)}")
        return outcome

    def _tried(self, statements: Sequence[str], wait: float | None) -> StatementOutcome:
        """Run statements, again where the error may pass: then nothing of them was committed.

        Raises:
            TryAgain: they failed in each try.
        """
        check_lengths(statements)
        error = ""
        for pause in (0.0, *islice(_PAUSES.pauses(), TRIES - 1)):
            self._sleep(pause)
            outcome = self._awaited(self._submit(statements), wait)
            if outcome.error is None or not is_transient(outcome.error):
                return outcome
            error = outcome.error
        raise TryAgain(f"Redshift failed in each of {TRIES} tries: {error}: try again later")

    def _submit(self, statements: Sequence[str]) -> str:
        """Submit an attempt, whose token makes a repeated call the same one, and return its identifier."""
        arguments = {**self._connection.arguments(), "ClientToken": str(uuid.uuid4())}
        if len(statements) == 1:
            return str(self._call("execute_statement", Sql=statements[0], **arguments)["Id"])
        return str(self._call("batch_execute_statement", Sqls=list(statements), **arguments)["Id"])

    def _awaited(self, id_: str, wait: float | None) -> StatementOutcome:
        end = None if wait is None else time.monotonic() + wait
        for pause in POLLS.pauses():
            found = self._call("describe_statement", Id=id_)
            if found["Status"] in _ENDED:
                return _outcome(id_, found)
            if end is not None and time.monotonic() >= end:
                break
            self._sleep(pause)
        return StatementOutcome(id_, is_running=True)

    def _rows(self, id_: str) -> Iterator[Row]:
        token: dict[str, str] = {}
        while True:
            page = self._call("get_statement_result", Id=id_, **token)
            for record in page["Records"]:
                yield tuple(_value(field) for field in record)
            if not page.get("NextToken"):
                return
            token = {"NextToken": page["NextToken"]}

    def _cancel(self, id_: str) -> None:
        try:
            self._call("cancel_statement", Id=id_)
        except (Rejected, TryAgain):
            return  # it has ended meanwhile, or ends by itself

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Call the API, again with the same arguments, token included, where the error may pass.

        Raises:
            TryAgain: it does not answer.
        """
        client = self._connected()
        from botocore.exceptions import BotoCoreError, ClientError

        error: TryAgain | None = None
        for pause in (0.0, *islice(_PAUSES.pauses(), TRIES - 1)):
            self._sleep(pause)
            try:
                return dict(getattr(client, operation)(**arguments))
            except (ClientError, BotoCoreError) as failed:
                error = api_error(operation, failed)
        raise error or TryAgain(f"Redshift does not answer ({operation}): try again")

    def _connected(self) -> Any:
        if self._client is None:
            self._client = connect("redshift-data", self._connection.region)
        return self._client


def connect(service: str, region: str | None) -> Any:
    """Return a client of AWS, with the credentials and the endpoint of the environment.

    Raises:
        InvalidInput: boto3 is not installed, or there is no region.
    """
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import NoRegionError
    except ModuleNotFoundError as error:
        raise InvalidInput(f"Redshift needs boto3: {how_to_install('aws')}") from error
    config = Config(connect_timeout=_CALL_SECONDS, read_timeout=_CALL_SECONDS, retries={"mode": "standard"})
    try:
        return boto3.client(service, region_name=region, config=config)
    except NoRegionError as error:
        raise InvalidInput("expected a region of AWS: name it with --region, or in AWS_DEFAULT_REGION") from error


def check_lengths(statements: Sequence[str]) -> None:
    """Check statements before they are sent.

    Raises:
        LimitExceeded: a statement is too long.
    """
    for statement in statements:
        if (length := len(statement.encode())) > MAX_STATEMENT:
            raise LimitExceeded(
                f"expected a statement of at most {MAX_STATEMENT:,} bytes, got {length:,}: split the schema: "
                f"{_short(statement)}"
            )


def _outcome(id_: str, found: dict[str, Any]) -> StatementOutcome:
    if found["Status"] == "FINISHED":
        return StatementOutcome(id_)
    parts = found.get("SubStatements") or []
    failed = next((index for index, part in enumerate(parts) if part.get("Status") == "FAILED"), None)
    part = found if failed is None else parts[failed]
    error = part.get("Error") or found.get("Error") or f"the statement is {found['Status']}"
    return StatementOutcome(id_, error=str(error), failed=failed, query=part.get("RedshiftQueryId"))


def _value(field: dict[str, Any]) -> Any:
    return None if field.get("isNull") else next(iter(field.values()))


def _short(sql: str) -> str:
    line = " ".join(sql.split())
    return line if len(line) <= 200 else f"{line[:200]}..."
