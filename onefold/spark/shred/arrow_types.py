"""The types of Arrow, and so of Parquet, that hold the values of the types of a warehouse."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from onefold.core.shred_options import Warehouse
from onefold.events.shred.redshift_values import WITH_SIZE
from onefold.schema.types import Array, Struct, Type, parse_type

_SCALARS = {
    "STRING": pa.string(), "JSON": pa.string(), "BYTES": pa.binary(), "BOOL": pa.bool_(), "INT64": pa.int64(),
    "FLOAT64": pa.float64(), "NUMERIC": pa.decimal128(38, 9), "BIGNUMERIC": pa.decimal256(76, 38), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
}  # fmt: skip
_OF_REDSHIFT = {
    "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(), "REAL": pa.float32(), "DOUBLE PRECISION": pa.float64(),
    "BOOLEAN": pa.bool_(), "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
}  # fmt: skip


def arrow_type(type_: Type) -> pa.DataType:
    """Return the type of Arrow that holds the values of a type of BigQuery.

    Examples:
        >>> arrow_type(parse_type("ARRAY<INT64>"))
        ListType(list<element: int64>)
    """
    if isinstance(type_, Array):
        return pa.list_(pa.field("element", arrow_type(type_.element)))
    if isinstance(type_, Struct):
        return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in type_.fields])
    return _SCALARS[str(type_)]


def redshift_arrow_type(type_: str) -> pa.DataType:
    """Return the type of Arrow that holds the values of a type of Redshift, as COPY and Spectrum read it from Parquet.

    A column of a file has to have the physical type of the column of the table; a decimal its precision, from which the
    length of its bytes follows. Neither knows times with a zone, so that TIMESTAMPTZ is a time in UTC, too
    ("CREATE EXTERNAL TABLE", https://docs.aws.amazon.com/redshift/latest/dg/r_CREATE_EXTERNAL_TABLE.html, 2026-11).

    Examples:
        >>> redshift_arrow_type("SMALLINT"), redshift_arrow_type("DECIMAL(36,2)"), redshift_arrow_type("CHAR(36)")
        (DataType(int16), Decimal128Type(decimal128(36, 2)), DataType(string))
    """
    if found := WITH_SIZE.fullmatch(type_):
        return pa.decimal128(int(found[2]), int(found[3] or 0)) if found[1] == "DECIMAL" else pa.string()
    return _OF_REDSHIFT[type_]


def arrow_schema(columns: Iterable[tuple[str, str]], warehouse: Warehouse) -> pa.Schema:
    """Return columns as Arrow has them; all may be NULL, since a load job refuses others for columns that may."""
    of = redshift_arrow_type if warehouse == "redshift" else lambda type_: arrow_type(parse_type(type_))
    return pa.schema([pa.field(name, of(type_)) for name, type_ in columns])
