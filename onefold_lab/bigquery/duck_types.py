"""A parser of DuckDB's type names, as `typeof` writes them."""

from __future__ import annotations

import functools
import re

from onefold.schema.types import Array, Field, Range, Scalar, Struct, Type
from onefold_lab.bigquery.bignumeric import FIELD

_SCALARS = {
    "VARCHAR": "STRING",
    "BLOB": "BYTES",
    "BOOLEAN": "BOOL",
    "TINYINT": "INT64",
    "SMALLINT": "INT64",
    "INTEGER": "INT64",
    "BIGINT": "INT64",
    "HUGEINT": "INT64",
    "UTINYINT": "INT64",
    "USMALLINT": "INT64",
    "UINTEGER": "INT64",
    "UBIGINT": "INT64",
    "FLOAT": "FLOAT64",
    "DOUBLE": "FLOAT64",
    "DECIMAL": "NUMERIC",
    "DATE": "DATE",
    "TIME": "TIME",
    "TIMESTAMP": "DATETIME",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "INTERVAL": "INTERVAL",
    "JSON": "JSON",
    "GEOMETRY": "GEOGRAPHY",
    '"NULL"': "INT64",  # the type that BigQuery gives an untyped NULL
}
_RANGE_FIELDS = ("start", "end")


@functools.cache
def read_type(name: str) -> Type:
    """Return the BigQuery type that is stored as a DuckDB type.

    Raises:
        ValueError: no BigQuery type is stored so.

    Examples:
        >>> str(read_type('STRUCT(a BIGINT, "b c" VARCHAR[])'))
        'STRUCT<a INT64, `b c` ARRAY<STRING>>'
    """
    reader = _Reader(name)
    type_ = reader.type()
    reader.expect_end()
    return type_


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = name

    def type(self) -> Type:
        found: Type = self._struct() if self._rest.startswith("STRUCT(") else self._scalar()
        if self._rest.startswith("[]") and not isinstance(found, Array):
            self._rest = self._rest[2:]
            return Array(found)
        return found

    def expect_end(self) -> None:
        if self._rest:
            raise ValueError(f"expected a type that BigQuery has, got {self._name}")

    def _struct(self) -> Type:
        self._rest = self._rest.removeprefix("STRUCT(")
        fields: list[Field] = []
        while not fields or self._rest.startswith(", "):
            self._rest = self._rest.removeprefix(", ")
            name = self._identifier()
            self._rest = self._rest.removeprefix(" ")
            fields.append(Field(name, self.type()))
        self._rest = self._rest.removeprefix(")")
        return _struct_of(tuple(fields))

    def _identifier(self) -> str:
        match = re.match(r'"((?:[^"]|"")*)"|[^ ]+', self._rest)
        if match is None:
            raise ValueError(f"expected a type that BigQuery has, got {self._name}")
        self._rest = self._rest[match.end() :]
        return match[1].replace('""', '"') if match[1] is not None else match[0]

    def _scalar(self) -> Scalar:
        match = re.match(r'"NULL"|[A-Z ]+', self._rest)
        name = match[0] if match else ""
        if name not in _SCALARS:
            raise ValueError(f"expected a type that BigQuery has, got {self._name}")
        self._rest = re.sub(r"^\(\d+,\d+\)", "", self._rest[len(name) :])
        return Scalar(_SCALARS[name])


def _struct_of(fields: tuple[Field, ...]) -> Type:
    names = tuple(field.name for field in fields)
    if names == (FIELD,):
        return Scalar("BIGNUMERIC")
    if names == _RANGE_FIELDS and fields[0].type == fields[1].type and isinstance(fields[0].type, Scalar):
        return Range(fields[0].type)
    return Struct(fields)
