"""BigQuery's schemas: columns as type strings, and as fields of the REST API."""

from __future__ import annotations

from collections.abc import Iterable

from google.cloud.bigquery import SchemaField

from onefold.core.names import quote
from onefold.schema.columns import Column, Schema
from onefold.schema.types import Array, Range, Struct, parse_landed_type, parse_type


def type_string(field: SchemaField) -> str:
    """Return the type of a field of a schema as the type string that INFORMATION_SCHEMA would give.

    Examples:
        >>> type_string(SchemaField("a", "RECORD", "REPEATED", fields=[SchemaField("b", "INTEGER")]))
        'ARRAY<STRUCT<`b` INTEGER>>'
    """
    if field.field_type in ("RECORD", "STRUCT"):
        inner = ", ".join(f"{quote(part.name)} {type_string(part)}" for part in field.fields)
        type_ = f"STRUCT<{inner}>"
    elif field.field_type == "RANGE":
        type_ = f"RANGE<{field.range_element_type.element_type}>"
    else:
        type_ = field.field_type
    return f"ARRAY<{type_}>" if field.mode == "REPEATED" else type_


def columns_of(schema: Iterable[SchemaField]) -> Schema:
    """Return the columns that the fields of the REST API describe."""
    return Schema(Column(field.name, parse_type(type_string(field))) for field in schema)


def view_columns(schema: Iterable[SchemaField]) -> Schema:
    """Return the columns of a view, which keep a type that this release does not know."""
    return Schema(Column(field.name, parse_landed_type(type_string(field))) for field in schema)


def rest_field(column: Column) -> SchemaField:
    """Return a column as the REST API describes it."""
    if isinstance(column.type, Array):
        inner = rest_field(Column(column.name, column.type.element))
        element = inner.range_element_type
        return SchemaField(column.name, inner.field_type, mode="REPEATED", fields=inner.fields, range_element_type=element)
    if isinstance(column.type, Struct):
        fields = [rest_field(Column(field.name, field.type)) for field in column.type.fields]
        return SchemaField(column.name, "RECORD", fields=fields)
    if isinstance(column.type, Range):
        return SchemaField(column.name, "RANGE", range_element_type=str(column.type.element))
    return SchemaField(column.name, str(column.type))
