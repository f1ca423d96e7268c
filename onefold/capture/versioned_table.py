"""The versioned table of a structure: BigQuery's columns for it, and those that capture adds."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

from onefold.changelog.declared_keys import key_to_declare
from onefold.changelog.metadata import CAPTURE_FIELDS, DATABASE_NAME, LANDED_AT, METADATA, SOURCE_NAME, metadata_type
from onefold.core.errors import SchemaConflict
from onefold.core.names import fold_case, versioned_name
from onefold.mysql.table import BLOBS, GEOMETRIES, INTEGERS, TEXTS, SourceType, Structure
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar

ADDED = (
    Column(SOURCE_NAME, STRING),
    Column(DATABASE_NAME, STRING),
    Column(LANDED_AT, Scalar("TIMESTAMP")),
    Column(METADATA, metadata_type(CAPTURE_FIELDS)),
)

# "CREATE TABLE statement" of GoogleSQL, column name restrictions, and the pseudo-columns of change data capture.
_RESERVED = ("_table_", "_file_", "_partition", "_row_timestamp", "__root__", "_colidentifier", "_change_")
_OTHER = re.compile(r"\W")
_MAX_CLUSTERING = 4
_MOST_OF_NAME = 60
"""MySQL's names have 64 characters; a number needs some of them."""
_CLUSTERS = frozenset({"STRING", "INT64", "NUMERIC", "BIGNUMERIC", "DATE", "DATETIME", "TIMESTAMP"})


@dataclass(frozen=True)
class RenamedColumn:
    """A source column whose name no column of BigQuery can have here."""

    source: str
    column: str


@dataclass(frozen=True)
class VersionedTable:
    """What a structure is in BigQuery."""

    table: str
    version: str
    columns: tuple[Column, ...]
    """The source's, in its order, then those that are added."""
    primary_key: tuple[str, ...]
    """Names in BigQuery; empty for a table without a key."""
    renamed: tuple[RenamedColumn, ...] = ()

    @property
    def name(self) -> str:
        return versioned_name(self.table, self.version)

    @cached_property
    def source_names(self) -> tuple[str, ...]:
        """Computed once: they are asked for with every row."""
        return tuple(column.name for column in self.columns[: -len(ADDED)])

    @property
    def clustering(self) -> tuple[str, ...]:
        """The key of a row among all databases, as far as BigQuery clusters by it. Sources are too few to need a place."""
        types = {column.name: str(column.type) for column in self.columns}
        keys = [DATABASE_NAME, *(key for key in self.primary_key if types[key] in _CLUSTERS)]
        return tuple(keys[:_MAX_CLUSTERING])

    @property
    def declared_key(self) -> tuple[str, ...]:
        """The key that the table declares when it is made, tenant included; none where BigQuery takes none of its kind."""
        return key_to_declare(self.columns, self.primary_key)


def versioned_table(structure: Structure) -> VersionedTable:
    """The versioned table for a structure.

    Raises:
        SchemaConflict: names all columns that would end up with one name.
    """
    names = {column.name: column_name(column.name) for column in structure.columns}
    problems = [*_unknown_types(structure), *_clashes(structure, names)]
    if problems:
        raise SchemaConflict(problems)
    columns = (Column(names[column.name], bigquery_type(column.type)) for column in structure.columns)
    return VersionedTable(
        table_name(structure.table),
        version_of(structure),
        (*columns, *ADDED),
        tuple(names[key] for key in structure.primary_key),
        tuple(RenamedColumn(source, name) for source, name in names.items() if source != name),
    )


def table_name(source: str) -> str:
    """The base name of the versioned tables: two tables of a source that differ in other characters only share it."""
    return re.sub(r"[^\w-]", "_", source)


def column_name(source: str) -> str:
    """The source's spelling, but for what BigQuery refuses and for the names of the columns that are added."""
    name = _OTHER.sub("_", source)
    if not (name[0].isalpha() or name[0] == "_"):
        name = "_" + name
    if fold_case(name).startswith(_RESERVED):
        name = "source" + name
    return f"{name}_" if fold_case(name) in {fold_case(column.name) for column in ADDED} else name


def _unknown_types(structure: Structure) -> Iterator[str]:
    for column in structure.columns:
        if column.type.name not in _KNOWN:
            what = f"{structure.table}.{column.name} is of the type {column.type}"
            yield f"{what}, which cannot be read; change its type, or exclude the table"


def _clashes(structure: Structure, names: Mapping[str, str]) -> Iterator[str]:
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for source, name in names.items():
        sources[fold_case(name)].append(source)
    for clashing in sources.values():
        if len(clashing) > 1:
            columns = " and ".join(repr(source) for source in clashing)
            what = f"{structure.table}: the columns {columns} would both be {names[clashing[0]]} in BigQuery"
            yield f"{what}; rename one, or exclude the table"


def free_names(structure: Structure) -> dict[str, str]:
    """New names for the columns that clash, without which all columns have names of their own in BigQuery.

    >>> from onefold.mysql.table import SourceColumn, SourceType
    >>> free_names(Structure("t", (SourceColumn("a b", SourceType("int")), SourceColumn("a_b", SourceType("int")))))
    {'a b': 'a_b_2'}
    """
    taken = {fold_case(column_name(column.name)) for column in structure.columns}
    seen: set[str] = set()
    found: dict[str, str] = {}
    # A column whose name can stay as it is keeps it.
    for column in sorted(structure.columns, key=lambda one: column_name(one.name) != one.name):
        name = column_name(column.name)
        if fold_case(name) in seen:
            tried = (f"{name[:_MOST_OF_NAME]}_{number}" for number in count(2))
            free = next(one for one in tried if fold_case(one) not in taken)
            taken.add(fold_case(free))
            found[column.name] = free
        seen.add(fold_case(name))
    return found


def bigquery_type(type_: SourceType) -> Scalar:
    """By the table in docs/reference/source-types.md."""
    return Scalar(_sized(type_) or _BY_NAME[type_.name])


def _sized(type_: SourceType) -> str | None:
    if type_.name == "bigint" and type_.unsigned:
        return "NUMERIC"
    if type_.name == "bit" and type_.size == 64:
        return "NUMERIC"
    if type_.name == "decimal":
        return _decimal(type_.size or 0, type_.scale or 0)
    return None


def _decimal(precision: int, scale: int) -> str:
    whole = precision - scale
    if whole <= 29 and scale <= 9:
        return "NUMERIC"
    return "BIGNUMERIC" if whole <= 38 and scale <= 38 else "STRING"


_BY_NAME = {
    **dict.fromkeys([*INTEGERS, "year", "bit"], "INT64"),
    **dict.fromkeys(["float", "double"], "FLOAT64"),
    **dict.fromkeys([*TEXTS, "char", "varchar", "enum", "set", *GEOMETRIES], "STRING"),
    **dict.fromkeys([*BLOBS, "binary", "varbinary"], "BYTES"),
    "date": "DATE",
    "datetime": "DATETIME",
    "timestamp": "TIMESTAMP",
    "time": "INTERVAL",
    "json": "JSON",
}
_KNOWN = frozenset({*_BY_NAME, "decimal"})


LENGTH = 9


def version_of(structure: Structure) -> str:
    """The first digits of the SHA-256 of the canonical text."""
    return hashlib.sha256(canonical_text(structure).encode()).hexdigest()[:LENGTH]


def canonical_text(structure: Structure) -> str:
    """Table name, then name and type of each column in order; before each text, its length in UTF-8 and a colon."""
    columns = chain.from_iterable((column.name, str(column.type)) for column in structure.columns)
    return "".join(f"{len(text.encode())}:{text}" for text in (structure.table, *columns))
