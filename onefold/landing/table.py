"""The versioned table of a structure: its name, its columns in BigQuery, and the columns that capture adds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from onefold.changelog.declared_keys import key_to_declare
from onefold.changelog.metadata import CAPTURE_FIELDS, DATABASE_NAME, LANDED_AT, METADATA, SOURCE_NAME, metadata_type
from onefold.core.errors import SchemaConflict
from onefold.core.names import fold_case, table_name, versioned_name
from onefold.landing.version import version_of_columns, version_of_structure
from onefold.mysql.table import BLOBS, GEOMETRIES, INTEGERS, TEXTS, SourceType, Structure
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar

ADDED = (
    Column(SOURCE_NAME, STRING),
    Column(DATABASE_NAME, STRING),
    Column(LANDED_AT, Scalar("TIMESTAMP")),
    Column(METADATA, metadata_type(CAPTURE_FIELDS)),
)

# GoogleSQL, "CREATE TABLE statement", column name restrictions, and the pseudo-columns of change data capture.
_RESERVED = ("_table_", "_file_", "_partition", "_row_timestamp", "__root__", "_colidentifier", "_change_")
_OTHER = re.compile(r"\W")
_MAX_CLUSTERING = 4
_MOST_OF_NAME = 60
"""A name of MySQL has at most 64 characters, and a number is appended."""
HASHED = SourceType("hash")
"""The type as which the keyed hash of a column lands, whatever the column's type at the source."""


class MaskedType(SourceType):
    """The type of a column that lands as NULL. The column has another version than one whose values land."""

    def __str__(self) -> str:
        return f"{super().__str__()} masked"


_CLUSTERS = frozenset({"STRING", "INT64", "NUMERIC", "BIGNUMERIC", "DATE", "DATETIME", "TIMESTAMP"})


@dataclass(frozen=True)
class RenamedColumn:
    """A source column whose name BigQuery does not allow, or which capture uses itself."""

    source: str
    column: str


@dataclass(frozen=True)
class VersionedTable:
    """The table in BigQuery for one structure of a source table."""

    table: str
    version: str
    columns: tuple[Column, ...]
    """The columns of the source in their order, then the added ones."""
    primary_key: tuple[str, ...]
    """Names in BigQuery; empty for a table without a key."""
    renamed: tuple[RenamedColumn, ...] = ()
    hashed: frozenset[str] = frozenset()
    """Names in BigQuery of the columns of which the keyed hash lands."""
    added: tuple[Column, ...] = ADDED
    """The last columns, which the source does not have."""
    former: str = field(default="", compare=False)
    """The version by the rule of earlier releases, which hashed the types of the source and the order of its columns."""

    @property
    def name(self) -> str:
        return versioned_name(self.table, self.version)

    @cached_property
    def source_names(self) -> tuple[str, ...]:
        """The names of the source's columns in BigQuery. They are computed once, because each row needs them."""
        return tuple(column.name for column in self.columns[: -len(self.added)])

    def among(self, versions: Collection[str]) -> VersionedTable:
        """Return the table under the version of earlier releases if it exists only under that; else the table itself.

        So a structure that landed before an upgrade keeps its table.

        Args:
            versions: those that exist.
        """
        kept = self.former in versions and self.version not in versions
        return replace(self, version=self.former) if kept else self

    @property
    def clustering(self) -> tuple[str, ...]:
        """The columns to cluster by: database and key, as far as BigQuery clusters by their types.

        The source is left out: there are few sources, and BigQuery takes at most four columns.
        """
        types = {column.name: str(column.type) for column in self.columns}
        keys = [DATABASE_NAME, *(key for key in self.primary_key if types[key] in _CLUSTERS)]
        return tuple(keys[:_MAX_CLUSTERING])

    @property
    def declared_key(self) -> tuple[str, ...]:
        """The primary key to declare, including the tenant; empty if BigQuery does not allow a key of these types."""
        return key_to_declare(self.columns, self.primary_key)


def versioned_table(structure: Structure) -> VersionedTable:
    """Return the versioned table for a structure.

    Examples:
        >>> from onefold.mysql.table import SourceColumn, SourceType
        >>> table = versioned_table(Structure("order line", (SourceColumn("id", SourceType("int")),), ("id",)))
        >>> table.name, table.source_names
        ('order_line_v_a9d31fa15', ('id',))

    Raises:
        SchemaConflict: names all columns that would have the same name, or whose types are unknown.
    """
    names = {column.name: column_name(column.name) for column in structure.columns}
    problems = [*_unknown_types(structure), *_clashes(structure, names)]
    if problems:
        raise SchemaConflict(problems)
    columns = (Column(names[column.name], bigquery_type(column.type)) for column in structure.columns)
    return VersionedTable(
        table_name(structure.table),
        version_of_columns(structure.table, ((names[column.name], _landed(column.type)) for column in structure.columns)),
        (*columns, *ADDED),
        tuple(names[key] for key in structure.primary_key),
        tuple(RenamedColumn(source, name) for source, name in names.items() if source != name),
        frozenset(names[column.name] for column in structure.columns if column.type == HASHED),
        former=version_of_structure(structure),
    )


def column_name(source: str) -> str:
    """Return the name of a column in BigQuery: the source's spelling, changed if BigQuery or capture does not allow it.

    Examples:
        >>> [column_name(name) for name in ("Id", "a-b", "1st", "_table_x", "_landed_at")]
        ['Id', 'a_b', '_1st', 'source_table_x', '_landed_at_']
    """
    name = _OTHER.sub("_", source)
    if not (name[0].isalpha() or name[0] == "_"):
        name = "_" + name
    if fold_case(name).startswith(_RESERVED):
        name = "source" + name
    return f"{name}_" if fold_case(name) in {fold_case(column.name) for column in ADDED} else name


def _unknown_types(structure: Structure) -> Iterator[str]:
    for column in structure.columns:
        if not is_known(column.type):
            subject = f"{structure.table}.{column.name} is of the type {column.type}"
            yield f"{subject}, which cannot be read; change its type, or exclude the table"


def _clashes(structure: Structure, names: Mapping[str, str]) -> Iterator[str]:
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for source, name in names.items():
        sources[fold_case(name)].append(source)
    for clashing in sources.values():
        if len(clashing) > 1:
            columns = " and ".join(repr(source) for source in clashing)
            subject = f"{structure.table}: the columns {columns} would both be {names[clashing[0]]} in BigQuery"
            yield f"{subject}; rename one, or exclude the table"


def free_names(structure: Structure) -> dict[str, str]:
    """Return new names for columns that would share a name in BigQuery, such that all columns have different names.

    Examples:
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
    """Return BigQuery's type for a source type, by the table in docs/reference/source-types.md.

    Examples:
        >>> str(bigquery_type(SourceType("decimal", size=10, scale=2)))
        'NUMERIC'
    """
    return Scalar(_sized(type_) or _BY_NAME[type_.name])


def _landed(type_: SourceType) -> str:
    """Return the type as which values land: hashes and masked values are told from those that land as they are."""
    if type_ == HASHED:
        return HASHED.name
    return f"{bigquery_type(type_)} masked" if isinstance(type_, MaskedType) else str(bigquery_type(type_))


def is_known(type_: SourceType) -> bool:
    """Return whether values of a source type can land."""
    return type_.name in _KNOWN


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
    **dict.fromkeys([*TEXTS, "char", "varchar", "enum", "set", HASHED.name, *GEOMETRIES], "STRING"),
    **dict.fromkeys([*BLOBS, "binary", "varbinary"], "BYTES"),
    "date": "DATE",
    "datetime": "DATETIME",
    "timestamp": "TIMESTAMP",
    "time": "INTERVAL",
    "json": "JSON",
}
_KNOWN = frozenset({*_BY_NAME, "decimal"})


def holder_of_name(name: str, owners: Mapping[str, str], present: Collection[str]) -> str | None:
    """Return the other source table that has the base name of `name`, or None if `name` may have the base name.

    A table that was captured first under an altered name keeps the base name for as long as it exists. Otherwise the base
    name belongs to the table of exactly that name, and without such a table to the first one in alphabetical order.

    Args:
        name: the name of a source table.
        owners: by base name, the source table that is captured under a base name other than its own name.
        present: the names of the captured tables that exist now.

    Examples:
        >>> holder_of_name("a b", {}, {"a b", "a_b"})
        'a_b'
        >>> holder_of_name("a_b", {"a_b": "a b"}, {"a b", "a_b"})
        'a b'
    """
    base = table_name(name)
    owner = owners.get(base)
    if owner == name:
        return None
    if owner is not None and owner in present:
        return owner
    if name == base:
        return None
    if base in present:
        return base
    first = min((other for other in present if table_name(other) == base), default=name)
    return first if first < name else None
