"""Tables of events in a schema of Redshift, by the port `EventWarehouse`."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

from onefold.adapters.redshift import statements
from onefold.adapters.redshift.connection import RedshiftConnection
from onefold.adapters.redshift.data_api import DataApi
from onefold.adapters.redshift.loads import RunLoader
from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.core.names import quote_redshift
from onefold.core.shred_options import Warehouse
from onefold.ports.event_tables import (
    MANIFEST_TABLE,
    EventTable,
    EventTableLoad,
    FoundTable,
    KnownColumns,
    LoadResult,
)
from onefold.schema.redshift_catalog import catalog_type, grown_type
from onefold.schema.redshift_ddl import ENVELOPE, comment_on, create_events_table, create_table, table_sql

_TEXTS = 80_000
"""Bytes of the names that one query asks for."""
_FIELDS = ("column_name", "data_type", "character_maximum_length", "numeric_precision", "numeric_scale")


class RedshiftEventTables:
    """The tables of events of one schema. The files are in S3, and COPY reads them by a role of Redshift."""

    def __init__(self, connection: RedshiftConnection, sleep: Callable[[float], None] = time.sleep) -> None:
        self._connection = connection
        self._schema = connection.schema
        self._api = DataApi(connection, sleep)
        self._has_manifest = False

    @property
    def place(self) -> str:
        """The names of the database and the schema, for people."""
        return f"{self._connection.database}.{self._schema}"

    @property
    def warehouse(self) -> Warehouse:
        """Redshift, which takes CSV and Parquet."""
        return "redshift"

    def grown(self, existing: str, new: str) -> str | None:
        """Return the type that a column of one type gets so that it also takes the values of another type."""
        return grown_type(existing, new)

    def prepare(self) -> None:
        """Create the manifest table unless it exists.

        Raises:
            NotFound: the schema does not exist, or the user may not see it.
        """
        if self._manifest_exists():
            return
        if not self._api.rows(statements.schema_query(self._schema)):
            raise NotFound(
                f"{self.place} does not exist: run CREATE SCHEMA {self._schema}, and grant it to the loader's user"
            )
        self._once(statements.create_manifest(self._schema), self._manifest_exists)

    def recorded(self, runs: Collection[str]) -> frozenset[tuple[str, str]]:
        """Return what is `loaded` and `finished` of some runs."""
        if not runs or not self._manifest_exists():
            return frozenset()
        queries = (statements.recorded_query(group, self._schema) for group in statements.batches_of_texts(runs, _TEXTS))
        return frozenset((str(run), str(table)) for query in queries for run, table in self._api.rows(query))

    def find(self, name: str) -> FoundTable | None:
        """Return a table as it really is, by SVV_COLUMNS; None where there is none.

        Raises:
            Rejected: something else than a table has the name.
        """
        kinds = self._api.rows(statements.table_query(self._schema, name))
        if not kinds:
            return None
        kind, comment = kinds[0]
        if kind != "BASE TABLE":
            raise Rejected(f"{self.place}.{name} is a {kind}: expected a table: rename or drop it")
        rows = self._api.rows(statements.columns_query(self._schema, name))
        return FoundTable(tuple(_column(dict(zip(_FIELDS, row, strict=True))) for row in rows), comment or "")

    def histories(self, names: Collection[str]) -> Mapping[str, Sequence[KnownColumns]]:
        """Return the columns of `planned` and `loaded` for some tables."""
        found: dict[str, list[KnownColumns]] = defaultdict(list)
        if names and self._manifest_exists():
            for group in statements.batches_of_texts(names, _TEXTS):
                for name, state, columns, uri, read_at in self._api.rows(statements.histories_query(group, self._schema)):
                    known = statements.parse_columns(columns)
                    found[name].append(KnownColumns(known, uri or "", _time(read_at), state == "loaded"))
        return found

    def record_plan(self, run: str, registry_read_at: datetime, tables: Sequence[EventTable]) -> None:
        """Record that tables may have these columns from now on.

        A table whose columns are too many for that is left out: `create` and `change` refuse it.
        """
        for table in filter(statements.fits, tables):
            self._api.execute(statements.record(run, "planned", self._schema, registry_read_at, of=table))

    def create(self, table: EventTable) -> None:
        """Create a table, empty, with data columns that may all be NULL; a table of this name stays as it is.

        Raises:
            LimitExceeded: Redshift, or the manifest table, would refuse the table.
        """
        statements.columns_text(table)
        envelope = tuple((name, type_) for name, type_, _ in ENVELOPE)
        if table.columns[: len(envelope)] == envelope:
            made = create_table(table.name, table.columns[len(envelope) :], table.uri, self._schema)
        else:
            made = [create_events_table(table.name, table.columns, self._schema)]
        if self.find(table.name) is None:
            self._once(made[0], lambda: self.find(table.name) is not None)
            for comment in made[1:]:
                self._api.execute(comment)

    def change(self, name: str, before: FoundTable, after: EventTable) -> None:
        """Bring a table to more columns, longer texts or another comment, one statement each, committed alone.

        Raises:
            LimitExceeded: the manifest table cannot list the columns.
            TryAgain: another process changed the table in another way; look at it again.
        """
        statements.columns_text(after)
        types = dict(before.columns)
        place = f"ALTER TABLE {table_sql(name, self._schema)}"
        for column, type_ in after.columns:
            quoted = quote_redshift(column)
            if column not in types:
                self._change(name, column, type_, f"{place} ADD COLUMN {quoted} {type_} ENCODE ZSTD")
            elif types[column] != type_:
                self._change(name, column, type_, f"{place} ALTER COLUMN {quoted} TYPE {type_}")
        if after.uri and after.uri != before.uri:
            self._api.execute(comment_on(name, after.uri, self._schema))

    def load(self, loads: Sequence[EventTableLoad], wait: float | None = None) -> Sequence[LoadResult]:
        """Load the rows of one run into its tables, and record them, in one transaction.

        Raises:
            TryAgain: no table was loaded, or not all of what was is recorded: call this again.
        """
        return RunLoader(self._api, self._connection, self.recorded).load(loads, wait)

    def finish(self, run: str) -> None:
        """Record that all tables of a run are loaded."""
        self._api.execute(statements.record(run, "finished", self._schema, of=EventTable("", ())))

    def _manifest_exists(self) -> bool:
        if not self._has_manifest:
            self._has_manifest = bool(self._api.rows(statements.table_query(self._schema, MANIFEST_TABLE)))
        return self._has_manifest

    def _once(self, statement: str, is_done: Callable[[], bool]) -> None:
        """Run a statement that another process may run at the same time; one of the two may fail.

        Raises:
            Rejected: Redshift refuses the statement, and its effect is not there.
        """
        try:
            self._api.execute(statement)
        except Rejected:
            if not is_done():
                raise

    def _change(self, name: str, column: str, type_: str, statement: str) -> None:
        try:
            self._api.execute(statement)
        except Rejected as error:
            there = dict(found.columns).get(column) if (found := self.find(name)) else None
            if there is not None and grown_type(there, type_) == there:
                return  # another process was faster
            if there is not None and there != type_ and " ADD COLUMN " in statement:
                raise TryAgain(f"{self.place}.{name}: another process added {column} as {there}: look again") from error
            raise


def _column(row: Mapping[str, object]) -> tuple[str, str]:
    try:
        return str(row["column_name"]), str(catalog_type(row))
    except ValueError:
        return str(row["column_name"]), str(row["data_type"]).upper()


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
