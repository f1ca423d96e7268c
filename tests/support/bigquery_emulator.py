"""Fixtures over the embedded BigQuery: one for the session, a dataset for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from google.cloud import bigquery

from onefold.core.names import quote
from onefold_lab.processes import bigquery_emulator, free_port
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client

_numbers = itertools.count(1)


@dataclass(frozen=True)
class EmulatedDataset:
    """A dataset of its own."""

    host: str
    client: bigquery.Client
    name: str

    def run(self, sql: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self.client.query(sql).result()]

    def land(self, table: str, columns: Mapping[str, str], *rows: str) -> None:
        """A new table, with rows as SQL literals."""
        fields = ", ".join(f"{quote(column)} {type_}" for column, type_ in columns.items())
        self.run(f"CREATE TABLE {self.quoted(table)} ({fields})")
        if rows:
            self.run(f"INSERT INTO {self.quoted(table)} VALUES {', '.join(f'({row})' for row in rows)}")

    def rows(self, table: str) -> list[tuple[object, ...]]:
        return self.run(f"SELECT * FROM {self.quoted(table)} ORDER BY 1")

    def quoted(self, table: str) -> str:
        return quote(f"{DEFAULT_PROJECT}.{self.name}.{table}")


@pytest.fixture(scope="session")
def emulator_storage() -> str:
    """Where the emulator serves the Storage API, over gRPC."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="session")
def emulator_host(emulator_storage: str) -> Iterator[str]:
    """The embedded BigQuery: it takes seconds to start, so one serves the whole session."""
    with bigquery_emulator(storage_port=int(emulator_storage.rpartition(":")[2])) as host:
        yield host


@pytest.fixture
def dataset(emulator_host: str, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """An empty dataset, in an environment that leads to the emulator."""
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", emulator_host)
    monkeypatch.setenv("ONEFOLD_PROJECT", DEFAULT_PROJECT)
    # Bases and views of plain change tables lie beside them, but in the tests of where they lie.
    monkeypatch.setenv("ONEFOLD_PLAIN_DATASET", "{dataset}")
    client = emulator_client(DEFAULT_PROJECT)
    name = f"shop_{next(_numbers)}"
    client.create_dataset(name)
    return EmulatedDataset(emulator_host, client, name)
