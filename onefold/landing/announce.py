"""New versions: the table is created and then announced, both before the first row of the version is published.

A process does both for every version that it reads. That is safe to repeat, so that nothing has to be stored: an existing
table stays as it is, and the message is only a hint. Versions that are read at the same time share a message: a process that
starts reads all of its tables.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onefold.changelog.declared_keys import same_columns, source_key
from onefold.changelog.metadata import LANDED_AT
from onefold.changes.versions import ReportedChange
from onefold.core.errors import Rejected, SchemaConflict, TableRefused, TryAgain
from onefold.core.log import log
from onefold.core.names import TableId, quote
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.core.text import shown_list
from onefold.landing.reported_changes import Reported, ReportedChanges, versions_of
from onefold.landing.table import VersionedTable, versioned_table
from onefold.messages.table_created import tables_messages
from onefold.mysql.table import Structure
from onefold.ports.publisher import Message, Publisher
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Column, Schema

_DENIED = (401, 403)
"""HTTP codes for a missing right of the account, which concerns all tables."""


@dataclass(frozen=True)
class Destination:
    """Where rows land, and the topic for new tables."""

    warehouse: BaseWarehouse
    publisher: Publisher
    dataset: str
    topic: str
    """For messages about new tables."""


class Announcer:
    """Creates and announces versions, each once per process. Every method may be called by any thread."""

    def __init__(self, destination: Destination, stop: Stop) -> None:
        self._destination = destination
        self._stop = stop
        self._lock = threading.Lock()
        self._publishing = threading.Lock()
        self._unpublished: list[VersionedTable] = []
        self._known: dict[Structure, VersionedTable] = {}
        self._declared: dict[VersionedTable, tuple[str, ...]] = {}
        self._reported: set[tuple[str, str, VersionedTable]] = set()
        self.reported = ReportedChanges()

    def table(self, structure: Structure) -> VersionedTable:
        """Return the versioned table of a structure. It exists when this returns, and the next `publish` announces it.

        Raises:
            SchemaConflict: two columns would have one name, or another table has the name of the version.
            TableRefused: the warehouse refuses this table.
            NotFound: the dataset does not exist.
            Rejected: the account has no right to it.
            Stopped: the process ends.
        """
        with self._lock:
            if structure not in self._known:
                table, declared = create(self._destination, versioned_table(structure), self._stop)
                if table not in self._declared:
                    self._declared[table] = declared
                    self._unpublished.append(table)
                self._known[structure] = table
            return self._known[structure]

    def publish(self) -> None:
        """Announce the versions that exist since the last call, before a row of theirs is published.

        Raises:
            NotFound: the topic does not exist.
            Rejected: the account has no right to it.
            Stopped: the process ends.
        """
        # Another thread that publishes rows of these versions waits here until they are announced.
        with self._publishing:
            tables, reported = self._unpublished[:], self.reported.reached()
            if tables or reported:
                retry_until_stopped(lambda: _publish(self._destination, tables, reported), self._stop)
                del self._unpublished[: len(tables)]
                self.reported.published(len(reported))
            for table in tables:
                _log_announced(self._destination, table, self._declared[table])

    def tenant_table(self, source: str, database: str, structure: Structure) -> VersionedTable:
        """Return the versioned table of a structure as `table` does, and report a tenant whose key is not the declared one.

        Each process reports a tenant and version once.

        Args:
            source: the name of the source.
            database: the tenant.
            structure: the tenant's structure of a table.
        """
        table = self.table(structure)
        self.reported.reach(database, table, structure.table)
        declared = source_key(self._declared[table])
        if declared and not same_columns(declared, table.primary_key):
            with self._lock:
                is_new = (source, database, table) not in self._reported
                self._reported.add((source, database, table))
            if is_new:
                id_ = TableId(self._destination.warehouse.project, self._destination.dataset, table.name)
                _report_key(id_, source, database, table, declared)
        return table


def create(destination: Destination, table: VersionedTable, stop: Stop) -> tuple[VersionedTable, tuple[str, ...]]:
    """Create a versioned table unless it exists, be it under the version of earlier releases.

    Args:
        destination: where the table is created.
        table: the versioned table.
        stop: ends the retries.

    Returns:
        The table that exists, and the key that it declares: its creator may have declared another one.

    Raises:
        SchemaConflict: another table has the name of the version.
        TableRefused: the warehouse refuses this table.
        Stopped: the process ends.
    """
    _log_renamed(table)
    return retry_until_stopped(lambda: _create(destination, NewTable(table)), stop)


@dataclass(frozen=True)
class NewTable:
    """A versioned table that is to exist.

    Attributes:
        table: its name, columns and key.
        partition: the column by whose day it is partitioned.
        labels: its labels.
    """

    table: VersionedTable
    partition: str = LANDED_AT
    labels: Mapping[str, str] | None = None


def announce_once(destination: Destination, new: NewTable, reported: ReportedChange | None = None) -> None:
    """Create a versioned table unless it exists, and publish a message about it, without a retry.

    Args:
        destination: where the table is created, and the topic.
        new: the table.
        reported: what is known of the change that led to the version; None where nothing is.

    Raises:
        SchemaConflict: another table has the name of the version.
        TableRefused: the warehouse refuses this table.
        TryAgain: an error that may pass.
    """
    _log_renamed(new.table)
    _, declared = _create(destination, new)
    _publish(destination, [new.table], [(new.table, reported)] if reported else [])
    _log_announced(destination, new.table, declared)


def _publish(destination: Destination, tables: Sequence[VersionedTable], reported: Sequence[Reported] = ()) -> None:
    versions = versions_of(tables, reported)
    messages = [Message(data) for data in tables_messages(destination.dataset, versions)]
    destination.publisher.publish(destination.topic, messages)


def _log_announced(destination: Destination, table: VersionedTable, declared: Sequence[str]) -> None:
    log(
        "NOTICE", f"{destination.dataset}.{table.name} exists and is announced", event="table_announced",
        dataset=destination.dataset, table=table.table, version=table.version, columns=len(table.columns),
        primary_key=list(table.primary_key), declared_key=list(declared),
    )  # fmt: skip


def _log_renamed(table: VersionedTable) -> None:
    for renamed in table.renamed:
        log(
            "WARNING", f"{table.table}: the column {renamed.source!r} is {renamed.column} in BigQuery",
            event="column_renamed", table=table.table, version=table.version, source_column=renamed.source,
            column=renamed.column,
        )  # fmt: skip


def table_problems(id_: TableId, expected: Sequence[Column], found: Sequence[Column]) -> Iterator[str]:
    """Yield what keeps a table from taking rows. Additional columns do not.

    Args:
        id_: of the table.
        expected: the columns of the rows.
        found: the columns of the table.
    """
    schema = Schema(found)
    for column in expected:
        existing = schema.get(column.name)
        if existing is None:
            yield f"{id_} has no column {column.name}"
        elif existing.type != column.type:
            yield f"{id_}: expected the column {column.name} to be {column.type}, got {existing.type}"


def _make(warehouse: BaseWarehouse, id_: TableId, new: NewTable) -> None:
    """Create a versioned table.

    Raises:
        TableRefused: the warehouse refuses this table.
        Rejected: the warehouse refuses the account, so that nothing can land.
    """
    table = new.table
    try:
        warehouse.create_table(id_, table.columns, table.clustering, new.partition, table.declared_key, new.labels)
    except Rejected as error:
        if getattr(error.__cause__, "code", None) in _DENIED:
            raise
        remedy = "change the table at the source, or leave it out with --exclude"
        raise TableRefused(f"the warehouse refuses the table {id_}: {error}", remedy) from error


def existing(warehouse: BaseWarehouse, dataset: str, table: VersionedTable) -> tuple[VersionedTable, StoredTable | None]:
    """Return a versioned table under the version that exists, and what is stored; the table itself, where none does.

    Args:
        warehouse: where rows land.
        dataset: of the versioned tables.
        table: the versioned table of a structure.
    """
    for one in (table, table.among({table.former})):
        found = warehouse.read_table(TableId(warehouse.project, dataset, one.name))
        if found is not None or not table.former:
            return one, found
    return table, None


def _create(destination: Destination, new: NewTable) -> tuple[VersionedTable, tuple[str, ...]]:
    """Create a table unless it exists, and return the one that exists with the key that it declares.

    Raises:
        SchemaConflict: the existing table cannot take the rows.
        TryAgain: the new table cannot be read yet.
    """
    warehouse = destination.warehouse
    table, found = existing(warehouse, destination.dataset, new.table)
    id_ = TableId(warehouse.project, destination.dataset, table.name)
    if found is None:
        _make(warehouse, id_, new)
        found = warehouse.read_table(id_)
    if found is None:
        raise TryAgain(f"{id_} was created, but cannot be read yet: try again in a minute")
    problems = list(table_problems(id_, table.columns, found.columns))
    if problems:
        # ALTER TABLE RENAME fails in BigQuery while the table has a primary key.
        drop = "drop its primary key, " if found.primary_key else ""
        raise SchemaConflict([*problems, f"{id_} is not the table of this version: {drop}rename it, and start again"])
    return table, found.primary_key


def _report_key(id_: TableId, source: str, database: str, table: VersionedTable, declared: Sequence[str]) -> None:
    """Report a tenant whose own key is not the declared key: no view and no base has both."""
    own = f"the key {shown_list(table.primary_key)}" if table.primary_key else "no key"
    log(
        "CRITICAL",
        f"{source}/{database}: {table.table} has {own}, and {id_} declares the key {shown_list(declared)}: by "
        "either of them rows may hide each other, so current views and merges refuse the table: give it that key there; or "
        "leave it out with --exclude, and delete its rows; or name the columns of both as `keys` of the table in "
        f"onefold.yaml; or, if the declared key is the wrong one, run in BigQuery: {redeclaration(id_, table)}",
        event="key_differs",
        source=source,
        database=database,
        dataset=id_.dataset,
        table=table.table,
        version=table.version,
        declared_key=list(declared),
        primary_key=list(table.primary_key),
    )


def redeclaration(id_: TableId, table: VersionedTable) -> str:
    """Return the statements that replace the declared key, or drop it where BigQuery cannot declare the new one.

    Args:
        id_: the id of the versioned table.
        table: the table with its present key.
    """
    dropped = f"ALTER TABLE {id_.quoted} DROP PRIMARY KEY"
    if not table.declared_key:
        return dropped
    return f"{dropped}; ALTER TABLE {id_.quoted} ADD PRIMARY KEY ({', '.join(map(quote, table.declared_key))}) NOT ENFORCED"
