"""A dataset of Datastream through the history of a real schema: what people see is the source, after every stage."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.database_servers import MariaDb
from support.pages import ROOT
from support.source_database import SourceDatabase, on

from onefold.changelog.generator import METADATA_TYPE
from onefold.changelog.metadata import CHANGE_TYPES, METADATA
from onefold.core.names import TableId
from onefold.mysql.binlog.events import RowsChanged
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

HISTORY = ROOT.parent / "shared" / "data" / "opencart_history.json"
TABLES_OF_EACH, STAGES = 1, 3
pytestmark = [
    on(MariaDb),
    pytest.mark.emulator,
    pytest.mark.long,
    pytest.mark.skipif(not HISTORY.exists(), reason=f"no histories: {HISTORY.parent} is absent"),
]
Row = dict[str, Any]


@dataclass
class Replayed:
    """A table of the source, and what of its log has not arrived yet.

    Attributes:
        name: of the table.
        versions: its columns in each stage: {"name", "type", "mysql_type", "primary_key"}.
        arrived: the columns that BigQuery has.
        late: changes of an earlier stage, each with a newer one of its key.
    """

    name: str
    versions: list[list[Row]]
    arrived: list[str] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        return [column["name"] for column in self.versions[0] if column["primary_key"]]


def histories() -> list[Replayed]:
    """The tables with the fewest columns, of one key and of several: keys that are numbers and never change."""
    found: dict[int, list[Replayed]] = {1: [], 2: []}
    for table in json.loads(HISTORY.read_text())["tables"]:
        versions = [version["columns"] for version in table["versions"]][:STAGES]
        keys = [[(one["name"], one["type"]) for one in version if one["primary_key"]] for version in versions]
        is_fit = (
            len(versions) == STAGES and all(key == keys[0] for key in keys) and {type_ for _, type_ in keys[0]} == {"INT64"}
        )
        if is_fit and len(keys[0]) in found:
            found[len(keys[0])].append(Replayed(table["table"], versions))
    return [one for some in found.values() for one in sorted(some, key=lambda one: len(one.versions[-1]))[:TABLES_OF_EACH]]


def literal(rng: random.Random, column: Row) -> str:
    """A value of a column that is no key, often the same."""
    number = rng.randrange(9)
    kind = column["mysql_type"].partition("(")[0]
    texts = {"date": f"'2026-11-1{number}'", "datetime": f"'2026-11-1{number} 10:00:00'"}
    return texts.get(kind, f"'{number}'" if kind != "tinyint" else str(number % 2))


def statements(rng: random.Random, table: Replayed, stage: int) -> Iterator[str]:
    """The change of structure with which a stage begins, and its operations."""
    columns, before = table.versions[stage], table.versions[stage - 1] if stage else []
    declared = {column["name"]: f"`{column['name']}` {column['mysql_type']}" for column in columns}
    if stage == 0:
        yield f"CREATE TABLE `{table.name}` ({', '.join(declared.values())}, PRIMARY KEY ({', '.join(table.keys)}))"
    else:
        known, names = {column["name"] for column in before}, {column["name"] for column in columns}
        yield from (f"ALTER TABLE `{table.name}` ADD COLUMN {declared[name]} NULL" for name in declared if name not in known)
        yield from (f"ALTER TABLE `{table.name}` DROP COLUMN `{name}`" for name in sorted(known - names))
    values = [column for column in columns if not column["primary_key"]]
    for _ in range(25):
        where = " AND ".join(f"`{key}` = {rng.randrange(1, 7)}" for key in table.keys)
        into = ", ".join(f"`{name}`" for name in [*table.keys, *(column["name"] for column in values)])
        row = [*(str(rng.randrange(1, 7)) for _ in table.keys), *(literal(rng, column) for column in values)]
        one = rng.choice(values)
        yield rng.choice(
            (
                f"INSERT IGNORE INTO `{table.name}` ({into}) VALUES ({', '.join(row)})",
                f"UPDATE `{table.name}` SET `{one['name']}` = {literal(rng, one)} WHERE {where}",
                f"UPDATE IGNORE `{table.name}` SET `{table.keys[0]}` = {rng.randrange(1, 7)} WHERE {where}",
                f"DELETE FROM `{table.name}` WHERE {where}",
            )
        )


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


def arrive(rng: random.Random, dataset: EmulatedDataset, table: Replayed, rows: list[Row], stage: int) -> None:
    """Append changes in any order, some twice; a tenth of those with a newer one come a stage later."""
    id_, warehouse = TableId(DEFAULT_PROJECT, dataset.name, table.name), EmulatedWarehouse(dataset.client)
    types = {column["name"]: column["type"] for version in table.versions[: stage + 1] for column in version}
    new = [Column(name, parse_type(type_)) for name, type_ in types.items() if name not in table.arrived]
    if not table.arrived:
        warehouse.create_table(id_, [*new, Column(METADATA, parse_type(METADATA_TYPE))])
    elif new:
        warehouse.add_columns(id_, new)
    table.arrived = list(types)
    newest = {tuple(row[key] for key in table.keys): row for row in rows}
    held = [row for row in rows if row not in newest.values() and rng.random() < 0.3]
    sent = [*table.late, *(row for row in rows if row not in held for _ in range(1 + (rng.random() < 0.2)))]
    table.late = held
    rng.shuffle(sent)
    assert not sent or dataset.client.insert_rows_json(str(id_), sent) == []


def rows_of(source: SourceDatabase, table: Replayed) -> list[Row]:
    structure = structure_of(source.connection, TableName(source.name, table.name))
    assert structure
    names = [column.name for column in structure.columns]
    rows = read_selected(structure, source.rows(f"SELECT {select_list(structure)} FROM `{table.name}`")).rows
    return [dict(zip(names, row, strict=True)) for row in rows]


def backfill(source: SourceDatabase, table: Replayed) -> list[Row]:
    """The whole table as insertions of one time, without a sequence."""
    metadata = {"uuid": "b", "source_timestamp": 1, "change_type": "INSERT", "change_sequence_number": None, "sort_keys": []}
    return [{**row, METADATA: metadata} for row in rows_of(source, table)]


def check_views(run: Run, source: SourceDatabase, dataset: EmulatedDataset, table: Replayed, stage: int, file: Path) -> None:
    """Compare the current view with the source, in the columns that the source has now."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows_of(source, table)))
    dropped = {*table.arrived} - {column["name"] for column in table.versions[stage]}
    options = ["--keys", ",".join(table.keys), *(["--except", ",".join(dropped)] if dropped else [])]
    same = run("compare", f"bigquery:{dataset.name}.{table.name}_current", file, *options)
    assert same.code == 0, (stage, table.name, same.out)


def test_views_and_bases_are_the_source_after_every_stage(
    run: Run, source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path
) -> None:
    rng, tables, read = random.Random(7), histories(), 0
    config, kinds = tmp_path / "onefold.yaml", set()
    config.write_text(json.dumps({"tables": {f"{dataset.name}.{one.name}": {"keys": one.keys} for one in tables}}))
    for stage in range(STAGES):
        for table in tables:
            source.run(*statements(rng, table, stage))
        changes = source.changes()
        for table in tables:
            mine = [change for change in changes[read:] if change.structure.table == table.name]
            rows = [row for change in mine for row in streamed(change, table.keys)]
            kinds |= {row[METADATA]["change_type"] for row in rows}
            arrive(rng, dataset, table, [*(backfill(source, table) if stage else []), *rows], stage)
        read = len(changes)
        for words in (["current", "--all"], ["merge", "--all"]):
            done = run("--config", config, *words, "--dataset", dataset.name)
            assert done.code == 0, done.err
            for table in tables:
                check_views(run, source, dataset, table, stage, tmp_path / f"{table.name}.jsonl")
    assert kinds == set(CHANGE_TYPES)
    assert len(tables) == 2 * TABLES_OF_EACH
