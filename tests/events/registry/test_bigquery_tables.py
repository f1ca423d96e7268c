"""The statements for BigQuery: judged by Google's analyzer, and run by the embedded BigQuery."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from support.bigquery_emulator import EmulatedDataset
from support.schemas import fields, histories, versions
from support.seeding import examples
from support.zetasql_judge import Judge

from onefold.adapters.bigquery.schema import columns_of as schema_columns
from onefold.events.registry.bigquery_columns import bigquery_table
from onefold.events.registry.columns import ENVELOPE
from onefold.events.registry.ddl import bigquery_columns, create_statements
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.migrations import migration

TABLE = "com_acme_ad_click_1"


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histories())
def test_the_analyzer_accepts_each_table(judge: Judge, history: list[JsonSchema]) -> None:
    table = bigquery_table(history)
    for statement in create_statements(table):
        judge.accept(statement)
    columns = [one.name for one in bigquery_columns(table.columns)]
    assert columns[: len(ENVELOPE)] == list(ENVELOPE)
    assert len({name.lower() for name in columns}) == len(columns)


def test_a_migrated_table_is_the_one_that_is_created_at_the_end(dataset: EmulatedDataset) -> None:
    history = versions(
        fields(["id"], id="integer", o=fields(x="string")),
        fields(id="integer", o=fields(x="string"), tags={"type": "array", "items": {"type": "number"}}),
        fields(id="integer", o=fields(x="string"), größe="number", a=fields(b={"type": "string", "format": "date"})),
    )
    tables = [bigquery_table(history[: count + 1]) for count in range(len(history))]
    run(dataset, create_statements(tables[0], dataset.name))
    for before, after in pairwise(tables):
        run(dataset, migration(before, after).statements(dataset.name))
    migrated = columns_of(dataset)
    assert migrated == [(one.name, str(one.type)) for one in bigquery_columns(tables[-1].columns)]
    dataset.run(f"DROP TABLE {dataset.quoted(TABLE)}")
    run(dataset, create_statements(tables[-1], dataset.name))
    assert columns_of(dataset) == migrated


def run(dataset: EmulatedDataset, statements: list[str]) -> None:
    for statement in statements:
        dataset.run(statement)


def columns_of(dataset: EmulatedDataset) -> list[tuple[str, str]]:
    """Return names and types of the table's columns, in the order in which a query returns them."""
    table = dataset.client.query(f"SELECT * FROM {dataset.quoted(TABLE)} LIMIT 0").result()
    return [(column.name, str(column.type)) for column in schema_columns(table.schema)]
