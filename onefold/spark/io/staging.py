"""The types of a staging table, and the expression that gives a staged value its own type back.

Besides what Spark holds as text, TIMESTAMP and DATETIME are staged as text: the Spark BigQuery connector writes a TIMESTAMP
before 1582 days off, and the emulator misreads a DATETIME that the connector writes.
"""

from __future__ import annotations

from google.cloud import bigquery

from onefold.core.names import quote
from onefold.schema.casts import free_name
from onefold.schema.types import STRING, Array, Field, Range, Scalar, Struct, Type, render_type
from onefold.spark.values.types import text_type

_ALSO_AS_TEXT = frozenset({"TIMESTAMP", "DATETIME"})

_FROM_TEXT = {
    "TIMESTAMP": "TIMESTAMP({x}, 'UTC')",
    # The text is BigQuery's own: rounding changes nothing in it, and anything else would refuse some of its numbers.
    "JSON": "PARSE_JSON({x}, wide_number_mode => 'round')",
    "GEOGRAPHY": "ST_GEOGFROMTEXT({x})",
}

# The names of the REST API, which BigQuery answers with: Google's Java client knows no others.
_REST_NAMES = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN"}


def staged_type(type_: Type) -> Type:
    """The type as which Spark hands a value to BigQuery."""
    return as_text(text_type(type_), _ALSO_AS_TEXT)


def as_text(type_: Type, names: frozenset[str]) -> Type:
    """The type with STRING for the named ones, wherever they are in it."""
    return Array(_part_as_text(type_.element, names)) if isinstance(type_, Array) else _part_as_text(type_, names)


def unstage_sql(x: str, type_: Type, depth: int = 1) -> str:
    """The expression of the type for a value `x` of its `staged_type`; text that stands for no value is an error."""
    if staged_type(type_) == type_:
        return x
    match type_:
        case Array(element):
            staged = staged_type(element)
            e, o = free_name("e", depth, staged), free_name("o", depth, staged)
            value = unstage_sql(e, element, depth + 1)
            return f"ARRAY(SELECT {value} FROM UNNEST({x}) AS {e} WITH OFFSET AS {o} ORDER BY {o})"
        case Struct(fields):
            values = (
                f"{unstage_sql(f'{x}.{quote(field.name)}', field.type, depth)} AS {quote(field.name)}" for field in fields
            )
            return f"IF({x} IS NULL, NULL, STRUCT({', '.join(values)}))"
        case _:
            return _FROM_TEXT.get(str(type_), f"CAST({{x}} AS {render_type(type_)})").format(x=x)


def rest_field(name: str, type_: Type) -> bigquery.SchemaField:
    """A column of a new table."""
    if isinstance(type_, Array):
        inner = rest_field(name, type_.element)
        return bigquery.SchemaField(name, inner.field_type, mode="REPEATED", fields=inner.fields)
    if isinstance(type_, Struct):
        return bigquery.SchemaField(name, "RECORD", fields=[rest_field(field.name, field.type) for field in type_.fields])
    return bigquery.SchemaField(name, _REST_NAMES.get(str(type_), str(type_)))


def _part_as_text(type_: Scalar | Range | Struct, names: frozenset[str]) -> Scalar | Range | Struct:
    if isinstance(type_, Struct):
        return Struct(tuple(Field(field.name, as_text(field.type, names)) for field in type_.fields))
    return STRING if str(type_) in names else type_
