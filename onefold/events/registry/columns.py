"""The table of a model: the columns that its versions make, in the order of addition. No column ever moves or is dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.leaves import LeafChange, Path, SchemaLeaf, column_name, leaf_changes, leaf_order
from onefold.events.registry.schema_key import ModelKey, SchemaVer
from onefold.events.registry.subschemas import Json
from onefold.schema.json_types import compact_json, json_types
from onefold.schema.redshift import MAX_NAME_BYTES, SYSTEM_COLUMNS, RedshiftType, merged_type, recovery_table, redshift_type

ENVELOPE = (
    "schema_vendor", "schema_name", "schema_format", "schema_version", "root_id", "root_tstamp", "ref_root", "ref_tree",
    "ref_parent",
)  # fmt: skip
"""The columns with which each table begins: the schema of a row, and the event that it belongs to."""
_SHORTEST_DIGEST = 8

Merge = Callable[[RedshiftType, RedshiftType], RedshiftType | None]
"""Returns the type of a column that takes the values of a second type, too; None where there is none."""


@dataclass(frozen=True)
class ModelColumn:
    """A column of the data.

    Attributes:
        name: the name in Redshift, unique in its table.
        path: the names of the properties that lead to the value.
        type: the type in Redshift, which holds the values of every version.
        json_types: the JSON types of all versions; empty where a version takes any type.
        nullable: whether the value may be missing or null in some version.
        since: the version that brought the column.
    """

    name: str
    path: Path
    type: RedshiftType
    json_types: frozenset[str]
    nullable: bool
    since: SchemaVer


@dataclass(frozen=True)
class Misfit:
    """A column that cannot hold the values of a version."""

    name: str
    path: Path
    existing: RedshiftType
    new: RedshiftType

    def __str__(self) -> str:
        return f"{self.name} is {self.existing} and cannot hold {self.new}"


@dataclass(frozen=True)
class RecoveryTable:
    """A table of its own for the data of one version, some of which does not fit into the table of the model.

    Attributes:
        name: the name of the table.
        version: the version.
        columns: the columns of the data.
        misfits: the columns of the model's table that cannot hold the data, by name.
    """

    name: str
    version: SchemaVer
    columns: tuple[ModelColumn, ...]
    misfits: tuple[Misfit, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the data does not fit, one reason for each column."""
        return tuple(map(str, self.misfits))


@dataclass(frozen=True)
class ModelTable:
    """The table of a model with some or all of its versions.

    Attributes:
        key: the model.
        columns: the columns of the data, in their order.
        version: the last version by the order of addition whose data the table holds.
        recovered: the versions whose data has a table of its own.
        other_name: the name of the table where another model has that of the key; empty where it is the key's.
    """

    key: ModelKey
    columns: tuple[ModelColumn, ...]
    version: SchemaVer
    recovered: tuple[RecoveryTable, ...] = ()
    other_name: str = ""

    @property
    def name(self) -> str:
        """The name of the table, `com_acme_ad_click_1`."""
        return self.other_name or self.key.table

    @property
    def uri(self) -> str:
        """The URI of the schema that the table is at; the table's comment."""
        return self.key.at(self.version).uri


def table_of(versions: Sequence[JsonSchema], merged: Merge = merged_type) -> ModelTable:
    """Return the table of a model.

    Args:
        versions: the versions of one model, at least one, in the order of their addition.
        merged: the rule for types.
    """
    builder = _Builder(versions[0].key.model_key, merged)
    for schema in versions:
        builder.add(schema)
    return builder.table()


def brought_later(table: ModelTable, first: SchemaVer) -> dict[str, SchemaVer]:
    """Return the columns that the first version of a model does not have, and the version that brought each."""
    return {column.name: column.since for column in table.columns if column.since != first}


def second_names(table: ModelTable) -> list[ModelColumn]:
    """Return the columns that could not have the name of their path: it is taken, or too long.

    Examples:
        >>> from onefold.events.registry.json_schema import parse_schema
        >>> own = {"vendor": "com.acme", "name": "click", "format": "jsonschema", "version": "1-0-0"}
        >>> table = table_of([parse_schema({"self": own, "properties": {"fooBar": {}, "foo_bar": {}}})])
        >>> [(column.path, column.name) for column in second_names(table)]
        [(('foo_bar',), 'foo_bar_e59570e9')]
    """
    return [column for column in table.columns if column.name != column_name(column.path)]


class _Builder:
    """The columns so far. Each version changes only the columns in which it differs from the version before it."""

    def __init__(self, key: ModelKey, merged: Merge = merged_type) -> None:
        self._key = key
        self._merged = merged
        self._columns: list[ModelColumn] = []
        self._places: dict[Path, int] = {}
        self._names = {*ENVELOPE, *SYSTEM_COLUMNS}
        self._version: SchemaVer | None = None
        self._json: Json | None = None
        self._recovered: list[RecoveryTable] = []

    def table(self) -> ModelTable:
        version = self._version or SchemaVer(self._key.model, 0, 0)
        return ModelTable(self._key, tuple(self._columns), version, tuple(self._recovered))

    def add(self, schema: JsonSchema) -> None:
        version, changes = schema.key.version, list(leaf_changes(self._json, schema.json))
        misfits = self._misfits(changes)
        if misfits:
            self._recovered.append(recovery_of(schema, misfits))
            return
        for change in changes:
            if change.path in self._places:
                self._change(change)
        new = sorted((change.new for change in changes if change.new and change.path not in self._places), key=leaf_order)
        for leaf in new:
            self._append(leaf, version)
        self._version, self._json = version, schema.json

    def _misfits(self, changes: Iterable[LeafChange]) -> tuple[Misfit, ...]:
        """Return the columns that cannot hold the values of a version."""
        known = [(self._columns[self._places[one.path]], one.new) for one in changes if one.new and one.path in self._places]
        typed = [(column, redshift_type(leaf.schema)) for column, leaf in known]
        misfits = (
            Misfit(column.name, column.path, column.type, type_)
            for column, type_ in typed
            if self._merged(column.type, type_) is None
        )
        return tuple(sorted(misfits, key=lambda misfit: misfit.name))

    def _change(self, change: LeafChange) -> None:
        place = self._places[change.path]
        column = self._columns[place]
        if change.new is None:
            self._columns[place] = replace(column, nullable=True)
            return
        types = json_types(change.new.schema)
        self._columns[place] = replace(
            column,
            type=self._merged(column.type, redshift_type(change.new.schema)) or column.type,
            json_types=types | column.json_types if types and column.json_types else frozenset(),
            nullable=column.nullable or change.new.nullable,
        )

    def _append(self, leaf: SchemaLeaf, version: SchemaVer) -> None:
        name = _unique_name(leaf.path, self._names)
        self._names.add(name)
        self._places[leaf.path] = len(self._columns)
        # Rows of earlier versions have no value.
        nullable = leaf.nullable or self._version is not None
        type_, types = redshift_type(leaf.schema), json_types(leaf.schema)
        self._columns.append(ModelColumn(name, leaf.path, type_, types, nullable, version))


def recovery_of(schema: JsonSchema, misfits: tuple[Misfit, ...]) -> RecoveryTable:
    """Return the table for the data of one version alone.

    Args:
        schema: the version.
        misfits: the columns of the model's table that cannot hold its data.
    """
    builder = _Builder(schema.key.model_key)
    builder.add(schema)
    columns, version = builder.table().columns, schema.key.version
    types = [(column.name, str(column.type)) for column in columns]
    name = recovery_table(schema.key.model_key.table, version.revision, version.addition, types)
    return RecoveryTable(name, version, columns, misfits)


def _unique_name(path: Path, taken: set[str]) -> str:
    """Return the name of a path's column, or one with a digest of the path where that name is taken or too long."""
    name = column_name(path)
    digest = hashlib.sha256(compact_json(path).encode()).hexdigest()
    length = _SHORTEST_DIGEST
    unique = name
    while unique in taken or len(unique.encode()) > MAX_NAME_BYTES:
        short = name.encode()[: MAX_NAME_BYTES - length - 1].decode(errors="ignore")
        unique = f"{short}_{digest[:length]}"
        length += 1
    return unique
