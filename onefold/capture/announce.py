"""New versions: the table is created, then announced, both before the first row of the version is on its way.

Both are repeated at every start, for every version that is met: a table that is there stays as it is, and a message is a
hint. So nothing needs to be remembered.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from onefold.capture.versioned_table import VersionedTable, versioned_table
from onefold.changelog.declared_keys import same_columns, source_key
from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import Rejected, SchemaConflict, TableRefused, TryAgain
from onefold.core.log import log
from onefold.core.names import TableId, fold_case, quote
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.messages.table_created import table_message
from onefold.mysql.table import Structure
from onefold.ports.publisher import Message, Publisher
from onefold.ports.warehouse import StoredTable
from onefold.schema.columns import Column

_DENIED = (401, 403)
"""HTTP's codes where an account has no right: it is the same for all tables."""


class TableWarehouse(Protocol):
    """What announcing needs of a warehouse."""

    project: str

    def read_table(self, id_: TableId) -> StoredTable | None: ...

    def create_table(
        self,
        id_: TableId,
        columns: Sequence[Column],
        clustering: Sequence[str] = (),
        partition: str | None = None,
        primary_key: Sequence[str] = (),
    ) -> None: ...


@dataclass(frozen=True)
class Destination:
    """Where rows are to land, and who is told of a new table."""

    warehouse: TableWarehouse
    publisher: Publisher
    dataset: str
    topic: str
    """For new tables."""


class Announcer:
    """Knows which versions this process has announced. Several threads may ask at once."""

    def __init__(self, target: Destination, stop: Stop) -> None:
        self._target = target
        self._stop = stop
        self._lock = threading.Lock()
        self._known: dict[Structure, VersionedTable] = {}
        self._declared: dict[VersionedTable, tuple[str, ...]] = {}
        self._reported: set[tuple[str, str, VersionedTable]] = set()

    def table(self, structure: Structure) -> VersionedTable:
        """The versioned table of a structure, which is there and announced when this returns.

        Raises:
            SchemaConflict: columns with one name, or another table of that name.
            TableRefused: the warehouse refuses this table.
            NotFound, Rejected: the dataset or the topic is not there.
            Stopped: the end came first.
        """
        with self._lock:
            if structure not in self._known:
                table = versioned_table(structure)
                if table not in self._declared:
                    self._declared[table] = announce(self._target, table, self._stop)
                self._known[structure] = table
            return self._known[structure]

    def tenant_table(self, source: str, database: str, structure: Structure) -> VersionedTable:
        """As `table`, for rows of a tenant. One whose key is not the declared one is reported: once by each process."""
        table = self.table(structure)
        declared = source_key(self._declared[table])
        if declared and not same_columns(declared, table.primary_key):
            with self._lock:
                is_new = (source, database, table) not in self._reported
                self._reported.add((source, database, table))
            if is_new:
                id_ = TableId(self._target.warehouse.project, self._target.dataset, table.name)
                _report_key(id_, source, database, table, declared)
        return table


def announce(target: Destination, table: VersionedTable, stop: Stop) -> tuple[str, ...]:
    """Create the table where it is not there, and say so.

    Returns:
        The key that it declares: this one's, or that of whoever made it.
    """
    id_ = TableId(target.warehouse.project, target.dataset, table.name)
    for renamed in table.renamed:
        log(
            "WARNING",
            f"{table.table}: the column {renamed.source!r} is {renamed.column} in BigQuery",
            event="column_renamed",
            table=table.table,
            version=table.version,
            source_column=renamed.source,
            column=renamed.column,
        )
    declared = retry_until_stopped(lambda: _create(target.warehouse, id_, table), stop)
    message = Message(table_message(target.dataset, table.table, table.version))
    retry_until_stopped(lambda: target.publisher.publish(target.topic, [message]), stop)
    log(
        "NOTICE",
        f"{target.dataset}.{table.name} is there and announced",
        event="table_announced",
        dataset=target.dataset,
        table=table.table,
        version=table.version,
        columns=len(table.columns),
        primary_key=list(table.primary_key),
        declared_key=list(declared),
    )
    return declared


def table_problems(id_: TableId, wanted: Sequence[Column], found: Sequence[Column]) -> Iterator[str]:
    """What keeps a table from taking the rows: columns that people added to it do not."""
    types = {fold_case(column.name): column.type for column in found}
    for column in wanted:
        type_ = types.get(fold_case(column.name))
        if type_ is None:
            yield f"{id_} has no column {column.name}"
        elif type_ != column.type:
            yield f"{id_}: {column.name} is {type_}, not {column.type}"


def _make(warehouse: TableWarehouse, id_: TableId, table: VersionedTable) -> None:
    """Create a versioned table.

    Raises:
        TableRefused: the warehouse refuses this table. Where it refuses us, nothing can land: that is `Rejected`.
    """
    try:
        warehouse.create_table(id_, table.columns, table.clustering, LANDED_AT, table.declared_key)
    except Rejected as error:
        if getattr(error.__cause__, "code", None) in _DENIED:
            raise
        remedy = "change the table at the source, or leave it out with --exclude"
        raise TableRefused(f"the warehouse refuses the table {id_}: {error}", remedy) from error


def _create(warehouse: TableWarehouse, id_: TableId, table: VersionedTable) -> tuple[str, ...]:
    """Create the table where it is not there, and return the key that it declares."""
    found = warehouse.read_table(id_)
    if found is None:
        _make(warehouse, id_, table)
        found = warehouse.read_table(id_)
    if found is None:
        raise TryAgain(f"{id_} was created, but does not show yet")
    problems = list(table_problems(id_, table.columns, found.columns))
    if problems:
        # BigQuery renames no table with a primary key.
        drop = "drop its primary key, " if found.primary_key else ""
        raise SchemaConflict([*problems, f"{id_} is not the table of this version: {drop}rename it, and start again"])
    return found.primary_key


def _report_key(id_: TableId, source: str, database: str, table: VersionedTable, declared: Sequence[str]) -> None:
    """Report a tenant whose rows another key identifies than the one by which they are merged."""
    own = f"the key {', '.join(table.primary_key)}" if table.primary_key else "no key"
    log(
        "ERROR",
        f"{source}/{database}: {table.table} has {own}, and {id_} declares the key {', '.join(declared)}, by which its rows "
        "are merged: give the table that key there; or leave it out with --exclude, and delete its rows; or, if the "
        f"declared key is the wrong one, run in BigQuery: {_redeclaration(id_, table)}",
        event="key_differs",
        source=source,
        database=database,
        dataset=id_.dataset,
        table=table.table,
        version=table.version,
        declared_key=list(declared),
        primary_key=list(table.primary_key),
    )


def _redeclaration(id_: TableId, table: VersionedTable) -> str:
    """The statements that let a table declare another key, or none where it cannot be declared."""
    dropped = f"ALTER TABLE {id_.quoted} DROP PRIMARY KEY"
    if not table.declared_key:
        return dropped
    return f"{dropped}; ALTER TABLE {id_.quoted} ADD PRIMARY KEY ({', '.join(map(quote, table.declared_key))}) NOT ENFORCED"
