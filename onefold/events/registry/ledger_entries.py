"""Entries of the ledger for schemas that a registry gets, of the origin `registry`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from onefold.changes.entry import Entry
from onefold.changes.ids import digest
from onefold.events.registry.bigquery_columns import bigquery_table
from onefold.events.registry.index import digest_of
from onefold.events.registry.json_schema import JsonSchema
from onefold.schema.columns import Column
from onefold.schema.diff import compare


def schema_entry(existing: Sequence[JsonSchema], schema: JsonSchema, registry: str, now: datetime) -> Entry:
    """Return the entry for a schema that is added, or that takes the place of the one with its key.

    The vendor is in the place of the dataset, the name of the schema in that of the table, and the registry in that of the
    tenant. The operations are those on the columns of its table in BigQuery.

    Args:
        existing: the schemas of its model, in the order of their addition.
        schema: the new one.
        registry: the address of the registry.
        now: the present time.
    """
    key = schema.key
    is_there = any(one.key == key for one in existing)
    after = [schema if one.key == key else one for one in existing] if is_there else [*existing, schema]
    changes = compare(_columns(existing), _columns(after))
    return Entry(
        digest("schema", registry, key.uri, digest_of(schema)),
        now,
        "registry",
        key.vendor,
        key.name,
        tuple(change for change in changes if change.kind != "reordered"),
        tenant=registry,
        version_before=str(existing[-1].key.version) if existing else "",
        version_after=str(key.version),
    )


def _columns(schemas: Sequence[JsonSchema]) -> list[Column]:
    return [one.column for one in bigquery_table(schemas).columns] if schemas else []
