"""The load of a run into Redshift: one transaction that locks, checks, copies and records."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from onefold.adapters.redshift import statements
from onefold.adapters.redshift.connection import RedshiftConnection
from onefold.adapters.redshift.copies import STATEMENTS, TableCopy, drop_temporary, file_list, table_copy
from onefold.adapters.redshift.data_api import MAX_BATCH, DataApi, StatementOutcome, check_lengths, connect
from onefold.core.errors import LimitExceeded, OnefoldError, Rejected, TryAgain
from onefold.core.text import reason_of
from onefold.ports.event_tables import EventTableLoad, LoadResult
from onefold.ports.external_tables import LISTS, lists_address

_FIRST = 2
"""The lock and the check come before the statements of the tables."""
TABLES = {format_: (MAX_BATCH - _FIRST - 1) // (count + 1) for format_, count in STATEMENTS.items()}
"""Tables of one transaction by the format; a run with more of them is loaded in several transactions. Each has a statement
for the row of the manifest table, and the transaction one for the end of temporary tables."""
_ADDRESS = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(?P<name>.+)", re.DOTALL)

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
        size = min((TABLES[load.format] for load in loads), default=1)
        for start in range(0, len(loads), size):
            done |= self._load(list(loads[start : start + size]), end)
        return [done[load.table.name] for load in loads]

    def _load(self, loads: list[EventTableLoad], end: float | None) -> dict[str, LoadResult]:
        """Load tables in one transaction; again without those that fail, or that somebody has loaded meanwhile."""
        done: dict[str, LoadResult] = {}
        copies = dict(self._copies(loads, done))
        while pending := [load for load in loads if load.table.name not in done]:
            wait = None if end is None else max(0.0, end - time.monotonic())
            outcome = self._api.transaction(self._transaction(pending, copies), wait)
            done |= self._results(pending, copies, outcome)
        return done

    def _copies(self, loads: Sequence[EventTableLoad], done: dict[str, LoadResult]) -> Iterator[tuple[str, TableCopy]]:
        for place, load in enumerate(loads):
            try:
                yield load.table.name, self._copy(load, place)
            except (Rejected, LimitExceeded) as error:
                done[load.table.name] = LoadResult(load.table.name, error=error)

    def _copy(self, load: EventTableLoad, place: int) -> TableCopy:
        """Write the list of the files, and return the statements that load them; none where no file has rows.

        Every loader writes the same list to the same place, so that it does not matter who does.
        """
        statements.columns_text(load.table)
        if not load.rows:
            return TableCopy()
        files = lists_address(load.run, load.table.name)
        copy = table_copy(load, files, self._connection.role, self._schema, place)
        check_lengths(copy.statements)
        self._put(files, file_list(load.files))
        return copy

    def _transaction(self, loads: Sequence[EventTableLoad], copies: Mapping[str, TableCopy]) -> list[str]:
        names = [load.table.name for load in loads]
        made = [
            statements.lock_manifest(self._schema),
            statements.check_not_recorded(loads[0].run, names, self._schema),
        ]
        for load in loads:
            made += [*copies[load.table.name].statements, self._record(load)]
        temporary = [copy.temporary for load in loads if (copy := copies[load.table.name]).temporary]
        return [*made, drop_temporary(temporary)] if temporary else made

    def _record(self, load: EventTableLoad) -> str:
        return statements.record(load.run, "loaded", self._schema, load.registry_read_at, of=load.table, rows=load.rows)

    def _results(
        self, loads: Sequence[EventTableLoad], copies: Mapping[str, TableCopy], outcome: StatementOutcome
    ) -> dict[str, LoadResult]:
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
        steps = [(load, step) for load in loads for step in range(len(copies[load.table.name].statements) + 1)]
        if outcome.failed is None or not _FIRST <= outcome.failed < _FIRST + len(steps):
            raise Rejected(f"Redshift, load of {loads[0].run}: {outcome.error}")
        failed, step = steps[outcome.failed - _FIRST]
        error = self._error(failed, outcome, is_check=step == copies[failed.table.name].check)
        return {failed.table.name: LoadResult(failed.table.name, outcome.id, error)}

    def _error(self, load: EventTableLoad, outcome: StatementOutcome, *, is_check: bool) -> OnefoldError:
        where = f"{self._connection.database}.{self._schema}.{load.table.name}"
        if is_check:
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
            raise Rejected(f"{address}: {error}; grant s3:PutObject below run=*/{LISTS}/") from error
        except BotoCoreError as error:
            raise TryAgain(f"{address}: S3 does not answer: {reason_of(error)}: try again") from error


def _running(load: EventTableLoad, id_: str) -> LoadResult:
    error = TryAgain(f"{load.table.name}: statement {id_} still loads run {load.run}: try again later")
    return LoadResult(load.table.name, id_, error)
