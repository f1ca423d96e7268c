"""The load of a run into Redshift: one transaction that locks, checks, copies and records."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from onefold.adapters.redshift import statements
from onefold.adapters.redshift.connection import RedshiftConnection
from onefold.adapters.redshift.data_api import MAX_BATCH, DataApi, StatementOutcome, connect
from onefold.core.errors import LimitExceeded, OnefoldError, Rejected, TryAgain
from onefold.core.text import reason_of
from onefold.ports.event_tables import EventTableLoad, LoadResult

_FIRST = 2
"""The lock and the check come before the statements of the tables."""
_OF_TABLE = 3
"""COPY, the check of its rows, and the row of the manifest table."""
_CHECK = 1
"""The place of the check among these."""
TABLES = (MAX_BATCH - _FIRST) // _OF_TABLE
"""Tables of one transaction; a run with more of them is loaded in several transactions."""
_ADDRESS = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(?P<name>.+)", re.DOTALL)
_FOLDER = "copy"
"""The folder of a run with the lists of files for COPY: all that the loader writes to the bucket."""

Recorded = Callable[[Collection[str]], frozenset[tuple[str, str]]]


class RunLoader:
    """Loads runs, with the statements of one connection."""

    def __init__(self, api: DataApi, connection: RedshiftConnection, recorded: Recorded) -> None:
        self._api = api
        self._connection = connection
        self._schema = connection.schema
        self._recorded = recorded
        self._s3: Any = None

    def load(self, loads: Sequence[EventTableLoad], wait: float | None) -> Sequence[LoadResult]:
        """Load tables of one run, at most `TABLES` in one transaction.

        Raises:
            TryAgain: nothing was loaded, and the error may pass.
        """
        end = None if wait is None else time.monotonic() + wait
        done: dict[str, LoadResult] = {}
        for start in range(0, len(loads), TABLES):
            done |= self._load(list(loads[start : start + TABLES]), end)
        return [done[load.table.name] for load in loads]

    def _load(self, loads: list[EventTableLoad], end: float | None) -> dict[str, LoadResult]:
        """Load tables in one transaction; again without those that fail, or that somebody has loaded meanwhile."""
        done: dict[str, LoadResult] = {}
        copies = dict(self._copies(loads, done))
        while pending := [load for load in loads if load.table.name not in done]:
            wait = None if end is None else max(0.0, end - time.monotonic())
            outcome = self._api.transaction(self._transaction(pending, copies), wait)
            done |= self._results(pending, outcome)
        return done

    def _copies(self, loads: Sequence[EventTableLoad], done: dict[str, LoadResult]) -> Iterator[tuple[str, str]]:
        for load in loads:
            try:
                yield load.table.name, self._copy(load)
            except (Rejected, LimitExceeded) as error:
                done[load.table.name] = LoadResult(load.table.name, error=error)

    def _copy(self, load: EventTableLoad) -> str:
        """Write the list of the files, and return the statement that loads them; an empty one where no file has rows.

        Every loader writes the same list to the same place, so that it does not matter who does.
        """
        statements.columns_text(load.table)
        if not load.rows:
            return ""
        files = f"{load.run.rstrip('/')}/{_FOLDER}/{load.table.name}.json"
        self._put(files, statements.copy_manifest(load))
        return statements.copy(load, files, self._connection.role, self._schema)

    def _transaction(self, loads: Sequence[EventTableLoad], copies: dict[str, str]) -> list[str]:
        names = [load.table.name for load in loads]
        made = [
            statements.lock_manifest(self._schema),
            statements.check_not_recorded(loads[0].run, names, self._schema),
        ]
        for load in loads:
            copy = copies[load.table.name]
            made += [copy, statements.check_copied(load.rows)] if copy else 2 * ["SELECT 1"]
            made.append(self._record(load))
        return made

    def _record(self, load: EventTableLoad) -> str:
        return statements.record(load.run, "loaded", self._schema, load.registry_read_at, of=load.table, rows=load.rows)

    def _results(self, loads: Sequence[EventTableLoad], outcome: StatementOutcome) -> dict[str, LoadResult]:
        """Return the results that a transaction gives; none for tables that another transaction has to load.

        Raises:
            Rejected: the transaction failed for a reason that no table has.
        """
        if outcome.is_running:
            return {load.table.name: _running(load, outcome.id) for load in loads}
        if outcome.error is None:
            return {load.table.name: LoadResult(load.table.name, outcome.id) for load in loads}
        recorded = self._recorded({loads[0].run})
        loaded = [load.table.name for load in loads if (load.run, load.table.name) in recorded]
        if loaded:
            return {name: LoadResult(name) for name in loaded}
        if outcome.failed is None or outcome.failed < _FIRST:
            raise Rejected(f"Redshift, load of {loads[0].run}: {outcome.error}")
        number, step = divmod(outcome.failed - _FIRST, _OF_TABLE)
        failed = loads[number]
        return {failed.table.name: LoadResult(failed.table.name, outcome.id, self._error(failed, step, outcome))}

    def _error(self, load: EventTableLoad, step: int, outcome: StatementOutcome) -> OnefoldError:
        where = f"{self._connection.database}.{self._schema}.{load.table.name}"
        if step == _CHECK:
            return Rejected(
                f"{where}: expected the {load.rows:,} rows that the manifest of {load.run} lists, got another number from "
                "its files, so nothing was loaded: they were changed after they were written; shred the events again"
            )
        return Rejected(f"{where}: {outcome.error}{self._first_row(outcome)}; run {load.run}")

    def _first_row(self, outcome: StatementOutcome) -> str:
        """Return where the first row is that COPY could not load, as far as Redshift says it."""
        if outcome.query is None:
            return ""
        try:
            found = self._api.rows(statements.load_error_query(outcome.query))
        except (Rejected, TryAgain):
            return ""
        return "".join(f": {file}, line {line}, column {column}: {error}" for file, line, column, error in found)

    def _put(self, address: str, data: bytes) -> None:
        """Write an object of S3.

        Raises:
            Rejected: the address is not in S3, or S3 refuses.
            TryAgain: S3 does not answer.
        """
        match = _ADDRESS.fullmatch(address)
        if not match:
            raise Rejected(f"{address}: expected files in S3, s3://BUCKET/NAME: Redshift's COPY reads from there")
        self._s3 = self._s3 or connect("s3", self._connection.region)
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._s3.put_object(Bucket=match["bucket"], Key=match["name"], Body=data)
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if status >= 500:
                raise TryAgain(f"{address}: {reason_of(error)}: try again") from error
            raise Rejected(f"{address}: {error}; grant s3:PutObject below run=*/{_FOLDER}/") from error
        except BotoCoreError as error:
            raise TryAgain(f"{address}: S3 does not answer: {reason_of(error)}: try again") from error


def _running(load: EventTableLoad, id_: str) -> LoadResult:
    error = TryAgain(f"{load.table.name}: statement {id_} still loads run {load.run}: try again later")
    return LoadResult(load.table.name, id_, error)
