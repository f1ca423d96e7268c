"""Tables of a real server whose schemas change as those of OpenCart did, and their changes as Datastream writes them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from support.appended_tables import COMMITTED, AppendedTables
from support.schema_histories import FOLDER, chosen, tables_of_projects
from support.source_database import SourceDatabase

from onefold.changelog.generator import METADATA_TYPE
from onefold.changelog.metadata import METADATA
from onefold.core.names import TableId
from onefold.mysql.binlog.events import RowsChanged
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.schema.columns import Column
from onefold.schema.types import Scalar, parse_type
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

OPERATIONS = (120, 10)
"""The operations on each table in the first stage, and in each later one."""
Row = dict[str, Any]


@dataclass
class ReplayedTable:
    """A table of the source, and what of its log has not arrived yet.

    Attributes:
        name: of the table.
        versions: its columns in each stage: {"name", "type", "mysql_type", "primary_key"}.
        known: the columns that BigQuery has.
        late: changes of an earlier stage, each with a newer one of its key.
        sent: the rows that arrived in each stage.
    """

    name: str
    versions: list[list[Row]]
    known: dict[str, Column] = field(default_factory=dict)
    late: list[Row] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        return [column["name"] for column in self.versions[0] if column["primary_key"]]

    def columns(self, stage: int) -> list[Column]:
        """The columns that the source has in a stage, with their types in BigQuery."""
        return [self.known[column["name"]] for column in self.versions[stage]]

    def is_altered(self, stage: int) -> bool:
        """Whether a stage begins with a change of structure."""
        names = [{column["name"] for column in self.versions[number]} for number in (stage - 1, stage)]
        return names[0] != names[1]

    def statements(self, rng: random.Random, stage: int) -> Iterator[str]:
        """The change of structure with which a stage begins, and its operations."""
        yield from self._alter(stage)
        columns = self.versions[stage]
        values = [column for column in columns if not column["primary_key"]]
        for _ in range(OPERATIONS[min(stage, 1)]):
            where = " AND ".join(f"`{key}` = {rng.randrange(1, 9)}" for key in self.keys)
            into = ", ".join(f"`{name}`" for name in [*self.keys, *(column["name"] for column in values)])
            row = [*(str(rng.randrange(1, 9)) for _ in self.keys), *(literal(rng, column) for column in values)]
            one = rng.choice(values or columns)
            insertion = f"INSERT IGNORE INTO `{self.name}` ({into}) VALUES ({', '.join(row)})"
            yield rng.choice(
                (
                    insertion,
                    insertion,
                    f"UPDATE IGNORE `{self.name}` SET `{one['name']}` = {literal(rng, one)} WHERE {where}",
                    f"UPDATE IGNORE `{self.name}` SET `{self.keys[0]}` = {rng.randrange(1, 9)} WHERE {where}",
                    f"DELETE FROM `{self.name}` WHERE {where}",
                )
            )

    def _alter(self, stage: int) -> Iterator[str]:
        columns, before = self.versions[stage], self.versions[stage - 1] if stage else []
        declared = {column["name"]: f"`{column['name']}` {column['mysql_type']}" for column in columns}
        if stage == 0:
            yield f"CREATE TABLE `{self.name}` ({', '.join(declared.values())}, PRIMARY KEY ({', '.join(self.keys)}))"
            return
        known = {column["name"] for column in before}
        yield from (f"ALTER TABLE `{self.name}` ADD COLUMN {declared[name]} NULL" for name in declared if name not in known)
        yield from (f"ALTER TABLE `{self.name}` DROP COLUMN `{name}`" for name in sorted(known - declared.keys()))

    def arrive(
        self, rng: random.Random, warehouse: AppendedTables, source: SourceDatabase, dataset: str,
        events: Sequence[RowsChanged], stage: int, committed: datetime,
    ) -> set[str]:  # fmt: skip
        """Append the changes of a stage in any order, some twice and some a stage later; return the kinds of changes.

        From the second stage on the whole table is backfilled first.
        """
        id_ = TableId(DEFAULT_PROJECT, dataset, self.name)
        self._prepare(warehouse, id_, stage)
        mine = (event for event in events if event.structure.table == self.name)
        changes = [row for event in mine for row in streamed(event, self.keys)]
        rows = [*(self._backfill(source) if stage else []), *changes]
        newest = {tuple(row[key] for key in self.keys): row for row in rows}
        held = [row for row in rows if row not in newest.values() and rng.random() < 0.3]
        sent = [*self.late, *(row for row in rows if row not in held for _ in range(1 + (rng.random() < 0.2)))]
        self.late = held
        self.sent.append(len(sent))
        rng.shuffle(sent)
        stamped = [{**row, COMMITTED: committed.isoformat()} for row in sent]
        assert not sent or warehouse.client.insert_rows_json(str(id_), stamped) == []
        return {row[METADATA]["change_type"] for row in rows}

    def _prepare(self, warehouse: AppendedTables, id_: TableId, stage: int) -> None:
        """Make the table, or add the columns that it lacks; a column that the source has dropped stays."""
        types = {column["name"]: column["type"] for version in self.versions[: stage + 1] for column in version}
        new = [Column(name, parse_type(type_)) for name, type_ in types.items() if name not in self.known]
        if not self.known:
            added = (Column(METADATA, parse_type(METADATA_TYPE)), Column(COMMITTED, Scalar("TIMESTAMP")))
            warehouse.create_table(id_, [*new, *added])
        elif new:
            warehouse.add_columns(id_, new)
        self.known.update({column.name: column for column in new})

    def _backfill(self, source: SourceDatabase) -> list[Row]:
        """The whole table as insertions of one time, without a sequence."""
        structure = structure_of(source.connection, TableName(source.name, self.name))
        assert structure
        names = [column.name for column in structure.columns]
        rows = read_selected(structure, source.rows(f"SELECT {select_list(structure)} FROM `{self.name}`")).rows
        metadata = {"uuid": "b", "source_timestamp": 1, "change_type": "INSERT", "change_sequence_number": None}
        return [{**dict(zip(names, row, strict=True)), METADATA: {**metadata, "sort_keys": []}} for row in rows]


def histories(stages: int) -> list[ReplayedTable]:
    """The first stages of the tables that together have every kind of change, of those that can be replayed."""
    projects = tables_of_projects()
    if not projects:
        pytest.skip(f"no histories: {FOLDER} is absent")
    first = [{**table, "versions": table["versions"][:stages]} for table in projects["opencart"]]
    found = []
    for table in chosen(filter(_can_be_replayed, first)):
        versions = [version["columns"] for version in table["versions"]]
        found.append(ReplayedTable(table["table"], versions + versions[-1:] * (stages - len(versions))))
    return found


def _can_be_replayed(table: dict[str, Any]) -> bool:
    """Whether a key of numbers stays, and no column comes again: of that the source has NULL, which no change tells."""
    versions = [version["columns"] for version in table["versions"]]
    keys = [[(one["name"], one["type"]) for one in columns if one["primary_key"]] for columns in versions]
    names = [{one["name"] for one in columns} for columns in versions]
    comes_again = any((first - second) & third for first, second, third in itertools.combinations(names, 3))
    return not comes_again and all(key == keys[0] for key in keys) and {type_ for _, type_ in keys[0]} == {"INT64"}


def literal(rng: random.Random, column: Row) -> str:
    """A value of a column, often the same."""
    number = rng.randrange(1, 9)
    kind = column["mysql_type"].partition("(")[0]
    texts = {"date": f"'2026-11-1{number}'", "datetime": f"'2026-11-1{number} 10:00:00'"}
    return texts.get(kind, f"'{number}'" if kind != "tinyint" else str(number % 2))


def streamed(change: RowsChanged, keys: list[str]) -> Iterator[Row]:
    """The rows that Datastream writes of an event; of a deletion nothing but the key, as of a PostgreSQL."""
    names = [column.name for column in change.structure.columns]
    for number, (before, after) in enumerate(itertools.zip_longest(change.before, change.after)):
        old, new = (dict(zip(names, row, strict=True)) if row else None for row in (before, after))
        moved = old and new and [old[key] for key in keys] != [new[key] for key in keys]
        metadata = {
            "uuid": "u", "source_timestamp": change.timestamp * 1000, "sort_keys": [],
            "change_sequence_number": change.position.sequence(number),
        }  # fmt: skip
        if old and (moved or not new):
            gone = {key: old[key] for key in keys}
            yield {**gone, METADATA: {**metadata, "change_type": "UPDATE-DELETE" if moved else "DELETE"}}
        if new:
            yield {**new, METADATA: {**metadata, "change_type": "UPDATE-INSERT" if old else "INSERT"}}
