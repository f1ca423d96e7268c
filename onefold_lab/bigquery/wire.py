"""Conversion of columns and values between the REST API and DuckDB, where `bqemulator` loses a type or a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from onefold.schema.types import Array, Range, Scalar, Struct, Type
from onefold_lab.bigquery.bignumeric import FIELD, decode, encode
from onefold_lab.bigquery.duck_types import read_type
from onefold_lab.bigquery.intervals import read_interval, write_interval
from onefold_lab.bigquery.query_errors import missing_dataset, query_text

if TYPE_CHECKING:
    from bqemulator.catalog.models import TableFieldSchema, TableSchema
    from bqemulator.domain.errors import DomainError

_BIGNUMERIC = pa.struct([pa.field(FIELD, pa.string())])
_RANGE_FIELDS = ["start", "end"]
_WIRE_NAMES = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN"}
_NO_ARITHMETIC = (
    "the embedded BigQuery cannot compute with BIGNUMERIC, nor compare it with another type or take another type for it: "
    "CAST both sides to BIGNUMERIC to compare them, or to FLOAT64 to compute"
)
_FUNCTION_ERROR = re.compile(r"while executing the UDF: ValueError: (.*)")
_TYPE_OF_COLUMN = b"bqemu.duckdb_type"
_READ_ONE_BY_ONE = ("GEOGRAPHY", "INTERVAL")
"""The types of which the server reads an array as one value."""


def stored_columns(fields: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return names and DuckDB types of the columns of a REST schema. Names of nested fields are quoted."""
    return [(field["name"], _stored_type(field)) for field in fields]


def _stored_type(field: Mapping[str, Any]) -> str:
    from bqemulator.storage.type_map import bq_to_duckdb

    kind = field["type"].upper()
    if kind in ("RECORD", "STRUCT"):
        inner = stored_columns(field.get("fields") or ())
        stored = f"STRUCT({', '.join(f'{_quoted(name)} {type_}' for name, type_ in inner)})"
    elif kind == "RANGE":
        element = field.get("rangeElementType") or field["range_element_type"]
        stored = bq_to_duckdb(f"RANGE<{element['type']}>")
    else:
        stored = bq_to_duckdb(kind)
    return f"{stored}[]" if (field.get("mode") or "").upper() == "REPEATED" else stored


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def introspected_schema(project_id: str, dataset_id: str, table_id: str, ctx: Any) -> TableSchema:
    """Return the columns of a table that a statement has just created, with their declared types.

    Args:
        project_id: the project of the table.
        dataset_id: the dataset of the table.
        table_id: the name of the table.
        ctx: the context of the server, with the connection to DuckDB.
    """
    from bqemulator.catalog import ddl_sync
    from bqemulator.catalog.models import TableSchema
    from bqemulator.storage.sql_identifiers import quoted_table_ref

    table = quoted_table_ref(project_id, dataset_id, table_id)
    required = ddl_sync._column_notnull_map(table, ctx)
    columns = ctx.engine.execute(f"SELECT * FROM {table} LIMIT 0").description
    fields = (rest_field(name, read_type(str(type_)), bool(required.get(name))) for name, type_, *_ in columns)
    return TableSchema(fields=tuple(_catalog_field(field) for field in fields))


def _catalog_field(field: Mapping[str, Any]) -> TableFieldSchema:
    from bqemulator.catalog.models import TableFieldSchema

    range_ = field.get("rangeElementType")
    element = TableFieldSchema(name=f"{field['name']}__range_element", type=range_["type"]) if range_ else None
    return TableFieldSchema(
        name=field["name"],
        type=field["type"],
        mode=field["mode"],
        fields=tuple(_catalog_field(inner) for inner in field.get("fields", ())),
        range_element_type=element,
    )


def rest_field(name: str, type_: Type, required: bool = False) -> dict[str, Any]:
    """Return a column as the REST API describes it.

    Args:
        name: the name of the column or field.
        type_: its type.
        required: the column is NOT NULL.
    """
    match type_:
        case Array(element):
            return {**rest_field(name, element), "mode": "REPEATED"}
        case Struct(fields):
            parts: dict[str, Any] = {"type": "RECORD", "fields": [rest_field(field.name, field.type) for field in fields]}
        case Range(element):
            parts = {"type": "RANGE", "rangeElementType": {"type": str(element)}}
        case Scalar(kind):
            parts = {"type": _WIRE_NAMES.get(kind, kind)}
    return {"name": name, **parts, "mode": "REQUIRED" if required else "NULLABLE"}


def schema_entry(usual: Callable[[pa.Field], dict[str, Any]], field: pa.Field) -> dict[str, Any]:
    """Return a column of a result, with its type in DuckDB: Arrow has neither JSON nor BIGNUMERIC."""
    known = (field.metadata or {}).get(_TYPE_OF_COLUMN)
    return rest_field(field.name, read_type(known.decode())) if known else usual(field)


def written_value(usual: Callable[..., Any], value: Any, arrow_type: pa.DataType, *, field: pa.Field | None = None) -> Any:
    """Return a value of a result as the REST API writes it.

    Args:
        usual: the function of the server.
        value: the value as Arrow gives it.
        arrow_type: its type.
        field: its column.
    """
    if arrow_type == _BIGNUMERIC:
        return None if value is None or value[FIELD] is None else decode(value[FIELD])
    if pa.types.is_interval(arrow_type) and value is not None:
        return write_interval(value.months, value.days, value.nanoseconds)
    if pa.types.is_struct(arrow_type) and value is not None and _is_range(arrow_type):
        return _range_text(value, arrow_type.field(0).type)
    return usual(value, arrow_type, field=field)


def _is_range(arrow_type: pa.StructType) -> bool:
    fields = [arrow_type.field(index) for index in range(arrow_type.num_fields)]
    return [field.name for field in fields] == _RANGE_FIELDS and all(pa.types.is_temporal(field.type) for field in fields)


def _range_text(value: Mapping[str, Any], element: pa.DataType) -> str:
    from bqemulator.storage.arrow_bridge import _format_range_value

    name = "DATE" if pa.types.is_date(element) else "TIMESTAMP" if element.tz else "DATETIME"
    return _format_range_value(value, name) or ""


def read_value(usual: Callable[..., Any], value: Any, arrow_type: pa.DataType, *, field: pa.Field | None = None) -> Any:
    """Return a value of `tabledata.insertAll` for Arrow.

    Args:
        usual: the function of the server.
        value: the value of the request.
        arrow_type: the type of its column.
        field: its column.
    """
    if isinstance(value, list) and pa.types.is_list(arrow_type) and _type_name(field) in _READ_ONE_BY_ONE:
        return [read_value(usual, one, arrow_type.value_type, field=field) for one in value]
    if arrow_type == _BIGNUMERIC and value is not None:
        return {FIELD: encode(str(value))}
    if pa.types.is_interval(arrow_type) and isinstance(value, str) and (parts := read_interval(value)):
        return parts
    return usual(value, arrow_type, field=field)


def _type_name(field: pa.Field | None) -> str:
    metadata: Mapping[bytes, bytes] = (field.metadata if field else None) or {}
    return metadata.get(b"bq_type", b"").decode()


def inserted_columns(fields: Sequence[TableFieldSchema], rows: str) -> str:
    """Return the columns that `tabledata.insertAll` selects: each GEOGRAPHY, also in an array, from its hexadecimal form.

    Args:
        fields: the columns of the table.
        rows: the name of the rows of the request.
    """
    return ", ".join(f"{_inserted(field, f'{rows}.{_quoted(field.name)}')} AS {_quoted(field.name)}" for field in fields)


def _inserted(field: TableFieldSchema, column: str) -> str:
    if field.type.upper() != "GEOGRAPHY":
        return column
    is_array = (field.mode or "").upper() == "REPEATED"
    return f"list_transform({column}, x -> ST_GeomFromHEXWKB(x))" if is_array else f"ST_GeomFromHEXWKB({column})"


def arrow_type(usual: Callable[[str], pa.DataType], bq_type: str) -> pa.DataType:
    """Return the Arrow type of a BigQuery type."""
    return _BIGNUMERIC if bq_type.upper() == "BIGNUMERIC" else usual(bq_type)


def failed(error: Mapping[str, str]) -> DomainError:
    """Return the error of a job as an error of the request, with the same reason."""
    from bqemulator.domain import errors

    kinds = {kind.bq_reason: kind for kind in errors.DomainError.__subclasses__()}
    kind = kinds.get(error["reason"], errors.InvalidQueryError)
    return kind(error["message"], location=error.get("location"))


def named_error(usual: Callable[..., Exception], error: Exception, **options: Any) -> Exception:
    """Return an error of DuckDB with a text for the author of the statement.

    Args:
        usual: the function of the server.
        error: the error of DuckDB.
        options: further arguments of the function.
    """
    from bqemulator.domain.errors import InvalidQueryError, NotFoundError

    text = str(error)
    if FIELD in text:
        return InvalidQueryError(_NO_ARITHMETIC, location="query")
    if match := _FUNCTION_ERROR.search(text):
        return InvalidQueryError(match[1], location="query")
    if missing := missing_dataset(text):
        return NotFoundError(missing)
    found = usual(error, **options)
    words = query_text(text, str(found))
    return InvalidQueryError(words, location="query") if words else found


def read_session(usual: Callable[..., Any], *, arrow_table: pa.Table, **parts: Any) -> Any:
    """Return the answer of the Storage Read API to a new session.

    Raises:
        ValueError: a column is BIGNUMERIC, which the answer would give in its stored form.
    """
    if any(FIELD in str(field.type) for field in arrow_table.schema):
        raise ValueError("the embedded BigQuery cannot return BIGNUMERIC from the Storage Read API: query the table instead")
    return usual(arrow_table=arrow_table, **parts)
