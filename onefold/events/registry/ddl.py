"""The table of a model as a value for programs, and as statements for Redshift and BigQuery."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from onefold.core.errors import LimitExceeded
from onefold.core.names import TableId
from onefold.events.registry.bigquery_columns import bigquery_table
from onefold.events.registry.bigquery_table import BigQueryColumn, BigQueryRecovery, BigQueryTable
from onefold.events.registry.columns import ENVELOPE, ModelColumn, ModelTable, RecoveryTable, table_of
from onefold.events.registry.json_schema import JsonSchema
from onefold.schema.bigquery import MAX_COLUMNS, create_statement
from onefold.schema.columns import Column
from onefold.schema.redshift_ddl import create_table
from onefold.schema.types import STRING, Scalar, Struct, Type
from onefold.schema.types import Array as ArrayType

Target = Literal["redshift", "bigquery"]
TARGETS: tuple[Target, ...] = ("redshift", "bigquery")
_PARTITION = "root_tstamp"


def build_table(versions: Sequence[JsonSchema], target: Target, name: str | None = None) -> ModelTable | BigQueryTable:
    """Return the table of a model for a target.

    Args:
        versions: the versions of one model, at least one, in the order of their addition.
        target: the warehouse.
        name: the name of the table by `table_names`; None where no other model can have that of the key.
    """
    if target == "redshift":
        table = table_of(versions)
        return replace(table, recovered=_renamed(table, name), other_name=name or "")
    nested = bigquery_table(versions)
    return replace(nested, recovered=_renamed(nested, name), other_name=name or "")


def _renamed(table: Any, name: str | None) -> tuple[Any, ...]:
    """Return the recovery tables of a model that has another name."""
    plain = table.name
    return tuple(replace(one, name=(name or plain) + one.name.removeprefix(plain)) for one in table.recovered)


def create_statements(table: ModelTable | BigQueryTable, dataset: str | None = None) -> list[str]:
    """Return the statements that create the table of a model, and its recovery tables.

    Args:
        table: the table.
        dataset: the dataset of BigQuery or the schema of Redshift; None for the default one.

    Raises:
        LimitExceeded: the warehouse would refuse a table.
    """
    return create_own(table, dataset) + list(create_recovery(table, table.recovered, dataset))


def create_own(table: ModelTable | BigQueryTable, dataset: str | None = None) -> list[str]:
    """Return the statements that create the table of a model without its recovery tables.

    Args:
        table: the table.
        dataset: the dataset of BigQuery or the schema of Redshift; None for the default one.

    Raises:
        LimitExceeded: the warehouse would refuse the table.
    """
    return _creator(table)(table.name, table.columns, table.uri, dataset)


def create_recovery(
    table: ModelTable | BigQueryTable, recoveries: Sequence[RecoveryTable | BigQueryRecovery], dataset: str | None = None
) -> Iterator[str]:
    """Yield the statements that create some of the recovery tables of a model.

    Args:
        table: the table of the model.
        recoveries: the recovery tables.
        dataset: the dataset of BigQuery or the schema of Redshift; None for the default one.

    Raises:
        LimitExceeded: the warehouse would refuse a table.
    """
    create = _creator(table)
    for recovery in recoveries:
        yield from create(recovery.name, recovery.columns, table.key.at(recovery.version).uri, dataset)


def table_as_dict(table: ModelTable | BigQueryTable) -> dict[str, Any]:
    """Return the table of a model for programs: the columns of the data, without those of the envelope."""
    return {"table": table.name, "columns": [_as_dict(column) for column in table.columns]}


def named_types(columns: Sequence[ModelColumn | BigQueryColumn]) -> list[tuple[str, str]]:
    """Return the name and the type of each column, as the target writes them."""
    return [
        (one.name, str(one.type)) if isinstance(one, ModelColumn) else (one.column.name, str(one.column.type))
        for one in columns
    ]


def bigquery_columns(columns: Sequence[BigQueryColumn]) -> list[Column]:
    """Return all columns of a table in BigQuery: those of the envelope, then the data."""
    envelope = [Column(name, Scalar("TIMESTAMP") if name == _PARTITION else STRING) for name in ENVELOPE]
    return [*envelope, *(one.column for one in columns)]


def _creator(table: ModelTable | BigQueryTable) -> Callable[[str, Sequence[Any], str, str | None], list[str]]:
    return _create_in_redshift if isinstance(table, ModelTable) else _create_in_bigquery


def _create_in_redshift(name: str, columns: Sequence[Any], uri: str, dataset: str | None) -> list[str]:
    return create_table(name, named_types(columns), uri, dataset)


def _create_in_bigquery(name: str, columns: Sequence[Any], uri: str, dataset: str | None) -> list[str]:
    all_columns = bigquery_columns(columns)
    count = sum(_count(column.type) for column in all_columns)
    if count > MAX_COLUMNS:
        raise LimitExceeded(f"{name} has {count:,} columns, and BigQuery allows {MAX_COLUMNS:,}: split the schema")
    return [create_statement(TableId(None, dataset, name), all_columns, ["root_id"], _PARTITION, uri)]


def _count(type_: Type) -> int:
    """Return how many columns BigQuery counts for a type: the nested ones as well."""
    inner = type_.element if isinstance(type_, ArrayType) else type_
    return 1 + (sum(_count(one.type) for one in inner.fields) if isinstance(inner, Struct) else 0)


def _as_dict(column: ModelColumn | BigQueryColumn) -> dict[str, Any]:
    (named,) = named_types([column])
    return {"name": named[0], "type": named[1], "nullable": column.nullable, "since": str(column.since)}
