"""Redshift: the types of JSON values, what a later version may do to a column, and statements.

Source of the limits: Amazon Redshift, "Quotas and limits" and "Character types",
https://docs.aws.amazon.com/redshift/latest/dg/r_Character_types.html, 2026-11.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onefold.schema.json_types import compact_json, json_types

MAX_VARCHAR = 65_535
MAX_CHAR = 4_096
MAX_COLUMNS = 1_600
MAX_NAME_BYTES = 127
SYSTEM_COLUMNS = frozenset({"ctid", "oid", "tableoid", "xmin", "xmax", "cmin", "cmax", "insertxid", "deletexid"})
"""Columns that each table has already: a column of this name is refused ("conflicts with a system column name").

Source: PostgreSQL 8.0, "System Columns", of which Redshift's engine is made, https://www.postgresql.org/docs/8.0/ddl-system-columns.html;
`insertxid` and `deletexid`, of Redshift alone: Redshift Research Project, "Static and Dynamic Column Ordinals in System
Tables", https://www.redshiftresearchproject.org/slblog/2022-08.html."""
FIXED_ENCODINGS = frozenset({"bytedict", "runlength", "text255", "text32k"})
"""A VARCHAR column with one of these encodings cannot be made longer ("ALTER TABLE", ALTER COLUMN TYPE)."""

_DEFAULT_VARCHAR = 4_096
_INTEGERS = ((32_767, "SMALLINT"), (2_147_483_647, "INT"))
_RANKS = {"SMALLINT": 1, "INT": 2, "BIGINT": 3}
_FORMATS = {"date-time": "TIMESTAMP", "date": "DATE"}
_LENGTHS_OF_TEXT = {"SMALLINT": 5, "INT": 10, "BIGINT": 19, "DATE": 10, "TIMESTAMP": 25, "BOOLEAN": 5}
"""The least length of a VARCHAR column that takes values of another type. These are the limits that registries and loaders
of this format have in common: a table made by one of them is read alike by the other."""


@dataclass(frozen=True)
class RedshiftType:
    """A type of Redshift.

    Attributes:
        name: the type without its parameters.
        length: the length of a VARCHAR or CHAR, in bytes; 0 for other types.
    """

    name: str
    length: int = 0

    def __str__(self) -> str:
        return f"{self.name}({self.length})" if self.length else self.name


def varchar(length: int) -> RedshiftType:
    """Return VARCHAR of a length within Redshift's limits.

    Examples:
        >>> str(varchar(0)), str(varchar(100_000))
        ('VARCHAR(1)', 'VARCHAR(65535)')
    """
    return RedshiftType("VARCHAR", min(max(length, 1), MAX_VARCHAR))


def redshift_type(schema: Mapping[str, Any]) -> RedshiftType:
    """Return the type of a column that holds the values of a JSON Schema.

    Examples:
        >>> str(redshift_type({"type": ["integer", "null"], "maximum": 100}))
        'SMALLINT'
        >>> str(redshift_type({"enum": ["card", "cash"]}))
        'VARCHAR(4)'
        >>> str(redshift_type({"type": ["string", "integer"]}))
        'VARCHAR(4096)'
    """
    schema = {} if "$ref" in schema else schema
    types = json_types(schema)
    if (longest := _longest_of_enum(schema.get("enum", ()))) is not None:
        return varchar(longest)
    if len(types) > 1:
        return varchar(10 if types == {"boolean", "integer"} else _DEFAULT_VARCHAR)
    return _TYPES.get(next(iter(types), ""), _other)(schema)


def merged_type(existing: RedshiftType, new: RedshiftType) -> RedshiftType | None:
    """Return the type that a column gets when values of another type come; None where Redshift cannot do it in place.

    Examples:
        >>> str(merged_type(varchar(10), varchar(20)))
        'VARCHAR(20)'
        >>> str(merged_type(RedshiftType("BIGINT"), RedshiftType("SMALLINT")))
        'BIGINT'
        >>> merged_type(RedshiftType("SMALLINT"), RedshiftType("INT")) is None
        True
    """
    if holds(existing, new):
        return existing
    if existing.name == "VARCHAR" and new.name in ("VARCHAR", "CHAR"):
        return varchar(new.length)
    return None


def holds(existing: RedshiftType, new: RedshiftType) -> bool:
    """Return whether a column takes every value of another type as it is."""
    if existing.name == "VARCHAR" and new.name in _LENGTHS_OF_TEXT:
        return existing.length >= _LENGTHS_OF_TEXT[new.name]
    if existing.name == "VARCHAR" and new.name == "CHAR":
        return existing.length >= new.length
    if existing.name == "DOUBLE PRECISION" and new.name in ("SMALLINT", "INT"):
        return True
    if existing.name in _RANKS and new.name in _RANKS:
        return _RANKS[existing.name] >= _RANKS[new.name]
    return existing.name == new.name and existing.length >= new.length


def recovery_table(table: str, revision: int, addition: int, columns: Iterable[tuple[str, str]]) -> str:
    """Return the name of the table for the data of a version that does not fit into the table of its model.

    Args:
        table: the table of the model.
        revision: the REVISION of the version.
        addition: the ADDITION of the version.
        columns: the names and types of the data's columns: other columns give another name.

    Examples:
        >>> recovery_table("com_acme_ad_click_1", 0, 2, [("id", "INT")])
        'com_acme_ad_click_1_0_2_recovered_0f0b3ce0'
    """
    digest = hashlib.sha256(json.dumps([list(column) for column in columns]).encode()).hexdigest()
    return f"{table}_{revision}_{addition}_recovered_{digest[:8]}"


def _longest_of_enum(values: Iterable[Any]) -> int | None:
    """Return the length of the longest value in bytes; None unless all values are texts, or of several types."""
    given = [value for value in values if value is not None]
    kinds = {_kind(value) for value in given}
    if not given or (len(kinds) == 1 and kinds != {"string"}):
        return None
    return max(len((value if isinstance(value, str) else compact_json(value)).encode()) for value in given)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string" if isinstance(value, str) else "structure"


def _integer(schema: Mapping[str, Any]) -> RedshiftType:
    maximum = schema.get("maximum")
    fitting = (name for limit, name in _INTEGERS if maximum is not None and maximum <= limit)
    return RedshiftType(next(fitting, "BIGINT"))


def _number(schema: Mapping[str, Any]) -> RedshiftType:
    named = {1: "INT", 0.01: "DECIMAL(36,2)"}
    return RedshiftType(named.get(schema.get("multipleOf", 0), "DOUBLE PRECISION"))


def _string(schema: Mapping[str, Any]) -> RedshiftType:
    format_, most = schema.get("format"), schema.get("maxLength")
    if format_ in _FORMATS:
        return RedshiftType(_FORMATS[format_])
    if most is not None and schema.get("minLength") == most and 1 <= most <= MAX_CHAR:
        return RedshiftType("CHAR", most)
    known = {"uuid": RedshiftType("CHAR", 36), "ipv4": varchar(15), "ipv6": varchar(39)}
    if format_ in known:
        return known[format_]
    if most is not None:
        return varchar(most)
    return varchar(255 if format_ == "email" else _DEFAULT_VARCHAR)


def _other(schema: Mapping[str, Any]) -> RedshiftType:  # noqa: ARG001
    return varchar(_DEFAULT_VARCHAR)


_TYPES: dict[str, Callable[[Mapping[str, Any]], RedshiftType]] = {
    "integer": _integer,
    "number": _number,
    "string": _string,
    "boolean": lambda _: RedshiftType("BOOLEAN"),
    "array": lambda _: varchar(MAX_VARCHAR),
}
