"""The statements for Redshift, run by a real PostgreSQL with Redshift's own limits."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.postgres import RedshiftOnPostgres, Refused
from support.schemas import fields, histories, versions
from support.seeding import examples

from onefold.events.registry.columns import ENVELOPE, ModelTable, table_of
from onefold.events.registry.ddl import create_statements
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.migrations import migration

_POSTGRES = {"character varying": "VARCHAR", "character": "CHAR", "integer": "INT", "numeric": "DECIMAL"}
_OTHERS = {"timestamp without time zone": "TIMESTAMP"}
TABLE = "com_acme_ad_click_1"


def redshift_name(type_: str) -> str:
    """Return a type of PostgreSQL's catalog as Redshift writes it."""
    kind, _, rest = type_.partition("(")
    return _OTHERS.get(type_) or (_POSTGRES.get(kind, kind) + (f"({rest}" if rest else "")).upper()


def data(database: RedshiftOnPostgres, table: str) -> list[tuple[str, str]]:
    """Return the columns of the data, after those of the envelope."""
    columns = database.columns(table)
    assert [name for name, _ in columns[: len(ENVELOPE)]] == list(ENVELOPE)
    assert all(type_.endswith(" NOT NULL") for _, type_ in columns[: len(ENVELOPE)])
    return [(name, redshift_name(type_)) for name, type_ in columns[len(ENVELOPE) :]]


def expected(table: ModelTable) -> list[tuple[str, str]]:
    return [(column.name, str(column.type)) for column in table.columns]


def test_a_table_is_created_as_it_was_described(postgres: RedshiftOnPostgres) -> None:
    schema = fields(["größe"], **{"größe": "number", 'quo"te': "string", "at": {"type": "string", "format": "date"}})
    table = table_of(versions(schema))
    postgres.run(*create_statements(table))
    postgres.run(*create_statements(table))  # once more: it stays as it is
    assert data(postgres, TABLE) == expected(table)
    assert [name for name, _ in expected(table)] == ["größe", "at", 'quo"te']
    assert postgres.comment(TABLE) == "iglu:com.acme/ad_click/jsonschema/1-0-0"


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories(), data_=st.data())
def test_any_sequence_of_migrations_gives_the_table_that_is_created_at_the_end(
    postgres: RedshiftOnPostgres, history: list[JsonSchema], data_: st.DataObject
) -> None:
    for table in postgres.tables():
        postgres.connection.execute(f'DROP TABLE "{table}"'.encode())
    last = len(history)
    stops = sorted({1, last, *data_.draw(st.lists(st.integers(1, last)))})
    tables = [table_of(history[:count]) for count in stops]
    postgres.run(*create_statements(tables[0]))
    for before, after in pairwise(tables):
        postgres.run(*migration(before, after).statements())
    migrated = {name: (postgres.columns(name), postgres.comment(name)) for name in postgres.tables()}
    assert data(postgres, TABLE) == expected(tables[-1])
    for name in migrated:
        postgres.connection.execute(f'DROP TABLE "{name}"'.encode())
    postgres.run(*create_statements(tables[-1]))
    assert migrated == {name: (postgres.columns(name), postgres.comment(name)) for name in postgres.tables()}


def test_rows_of_before_a_migration_stay_readable(postgres: RedshiftOnPostgres) -> None:
    history = versions(
        fields(["id"], id="integer", text={"type": "string", "maxLength": 3}),
        fields(id="integer", text={"type": "string", "maxLength": 9}, more="boolean"),
    )
    before, after = table_of(history[:1]), table_of(history)
    postgres.run(*create_statements(before))
    envelope = "'v', 'n', 'f', '1-0-0', 'id', '2026-01-01', 'events', '[]', 'events'"
    postgres.connection.execute(f"INSERT INTO {TABLE} VALUES ({envelope}, 1, 'abc')".encode())
    postgres.run(*migration(before, after).statements())
    # A file of the first version, with its own list of columns, loads after the migration, and so does a value without id.
    columns = ", ".join(f'"{name}"' for name in (*ENVELOPE, "id", "text"))
    postgres.connection.execute(f"INSERT INTO {TABLE} ({columns}) VALUES ({envelope}, NULL, 'abcdefghi')".encode())
    rows = postgres.connection.execute(f"SELECT id, text, more FROM {TABLE} ORDER BY 1".encode()).fetchall()
    assert rows == [(1, "abc", None), (None, "abcdefghi", None)]


def test_a_longer_varchar_comes_before_the_transaction_and_the_comment_is_last_in_it() -> None:
    history = versions(
        fields(a={"type": "string", "maxLength": 3}), fields(a={"type": "string", "maxLength": 4}, b={}, c={})
    )
    statements = migration(table_of(history[:1]), table_of(history)).statements("atomic")
    assert [re.sub(r'"atomic"\S+ ', "", statement)[:22] for statement in statements] == [
        "ALTER TABLE ALTER COLU", "BEGIN", *["ALTER TABLE ADD COLUMN"] * 2, "COMMENT ON TABLE IS 'i", "COMMIT",
    ]  # fmt: skip
    assert migration(table_of(history), table_of(history)).statements() == []


@pytest.mark.parametrize(
    "statement",
    [
        'ALTER TABLE "t" ALTER COLUMN "n" TYPE BIGINT',
        'ALTER TABLE "t" ALTER COLUMN "v" TYPE VARCHAR(10)',
        'ALTER TABLE "t" ALTER COLUMN "v" TYPE VARCHAR(65536)',
        'ALTER TABLE "t" ALTER COLUMN "r" TYPE VARCHAR(20)',
        'ALTER TABLE "t" ALTER COLUMN "n" DROP NOT NULL',
        'ALTER TABLE "t" ADD COLUMN "x" INT ENCODE ZSTD, ADD COLUMN "y" INT ENCODE ZSTD',
        'ALTER TABLE "t" ADD COLUMN "x" INT ENCODE ZSTD NOT NULL',
        'ALTER TABLE "t" ADD COLUMN "x" VARCHAR(65536) ENCODE ZSTD',
        'ALTER TABLE "t" ADD COLUMN "x" CHAR(5000) ENCODE ZSTD',
    ],
)
def test_the_translation_holds_what_redshift_forbids(postgres: RedshiftOnPostgres, statement: str) -> None:
    columns = '"n" INT ENCODE ZSTD NOT NULL,\n  "v" VARCHAR(10) ENCODE ZSTD,\n  "r" VARCHAR(10) ENCODE TEXT255'
    postgres.run(f'CREATE TABLE "t" (\n  {columns}\n)')
    with pytest.raises(Refused):
        postgres.run(statement)
    postgres.run('ALTER TABLE "t" ALTER COLUMN "v" TYPE VARCHAR(20)', "BEGIN")
    with pytest.raises(Refused):
        postgres.run('ALTER TABLE "t" ALTER COLUMN "v" TYPE VARCHAR(30)')
