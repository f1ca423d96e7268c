"""The types of a staging table, and the SQL that gives a staged value its own type back.

Types whose Spark form is text are staged as text. So are TIMESTAMP and DATETIME: the Spark BigQuery connector writes a
TIMESTAMP before 1582 some days off, and the emulator misreads a DATETIME that the connector writes.
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
    # BigQuery wrote the text: rounding changes none of its numbers, and the other mode ('exact') refuses some of them.
    "JSON": "PARSE_JSON({x}, wide_number_mode => 'round')",
    "GEOGRAPHY": "ST_GEOGFROMTEXT({x})",
}

# Names of types in the REST API, which is what BigQuery answers with; Google's Java client knows no other names.
_REST_NAMES = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN"}


def staged_type(type_: Type) -> Type:
    """Return the type as which Spark delivers a value to BigQuery.

    Examples:
        >>> str(staged_type(Array(Scalar("TIMESTAMP")))), str(staged_type(Scalar("DATE")))
        ('ARRAY<STRING>', 'DATE')
    """
    return as_text(text_type(type_), _ALSO_AS_TEXT)


def as_text(type_: Type, names: frozenset[str]) -> Type:
    """Return the type with STRING in place of the types of these names, at any depth."""
    return Array(_part_as_text(type_.element, names)) if isinstance(type_, Array) else _part_as_text(type_, names)


def unstage_sql(x: str, type_: Type, depth: int = 1) -> str:
    """Return a SQL expression that converts a staged value back; text that is no value of the type is an error in BigQuery.

    Args:
        x: an expression of the `staged_type` of `type_`.
        type_: the type of the result.
        depth: the number of arrays around the value, plus one: names within subqueries differ by it.

    Examples:
        >>> unstage_sql("x", Scalar("TIMESTAMP"))
        "TIMESTAMP(x, 'UTC')"
    """
    if staged_type(type_) == type_:
        return x
    match type_:
        case Array(element):
            staged = staged_type(element)
            # Names that no field of the element has: UNNEST of structs brings the fields' names into scope.
            e, o = free_name("e", depth, staged), free_name("o", depth, staged)
            value = unstage_sql(e, element, depth + 1)
            return f"ARRAY(SELECT {value} FROM UNNEST({x}) AS {e} WITH OFFSET AS {o} ORDER BY {o})"
        case Struct(fields):
            values = (
                f"{unstage_sql(f'{x}.{quote(field.name)}', field.type, depth)} AS {quote(field.name)}" for field in fields
            )
            # Without the condition, a NULL struct would become a struct of NULLs.
            return f"IF({x} IS NULL, NULL, STRUCT({', '.join(values)}))"
        case _:
            return _FROM_TEXT.get(str(type_), f"CAST({{x}} AS {render_type(type_)})").format(x=x)


def rest_field(name: str, type_: Type) -> bigquery.SchemaField:
    """Return a column of a new table, as the REST API describes it."""
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
