"""The table of a model in BigQuery, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.events.registry.leaves import Path, column_name
from onefold.events.registry.schema_key import ModelKey, SchemaVer
from onefold.schema.columns import Column
from onefold.schema.types import Type


@dataclass(frozen=True)
class PropertySource:
    """The property that a column or a field of a STRUCT takes its values from.

    Attributes:
        name: the name of the property.
        others: whether the column takes what is not an object, because another column takes the objects.
        fields: the sources of the nested fields, in their order.
        json: whether the items of an array are JSON texts, in every version: then the text a is "a" with its quotes.
    """

    name: str
    others: bool
    fields: tuple[PropertySource, ...] = ()
    json: bool = False


@dataclass(frozen=True)
class BigQueryMisfit:
    """A column that cannot hold the values of a version; `path` has the names of the properties that lead to it."""

    path: Path
    existing: Type
    new: Type

    def __str__(self) -> str:
        return f"{column_name(self.path)} is {self.existing} and cannot hold {self.new}"


@dataclass(frozen=True)
class MixedItems:
    """An array of plain texts whose items may be something else in a version, and become texts then.

    Attributes:
        path: the names of the properties that lead to the array.
        nullable: whether an item may be null.
    """

    path: Path
    nullable: bool

    def __str__(self) -> str:
        alike = "an item that is null becomes the text null" if self.nullable else "1 and the text 1 become the same text"
        return f"the items of the column {column_name(self.path)} are plain texts: {alike}"


@dataclass(frozen=True)
class BigQueryColumn:
    """A column of the data.

    Attributes:
        column: its name and type.
        nullable: whether the value may be missing or null in some version.
        since: the version that brought the column.
        source: the property that has the values.
    """

    column: Column
    nullable: bool
    since: SchemaVer
    source: PropertySource


@dataclass(frozen=True)
class BigQueryRecovery:
    """A table of its own for the data of one version, some of which does not fit into the table of the model."""

    name: str
    version: SchemaVer
    columns: tuple[BigQueryColumn, ...]
    misfits: tuple[BigQueryMisfit, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the data does not fit, one reason for each column."""
        return tuple(map(str, self.misfits))


@dataclass(frozen=True)
class BigQueryTable:
    """The table of a model, with the versions that it holds; the attributes are those of a ModelTable, and `mixed`.

    Attributes:
        mixed: the arrays of plain texts that versions put something else into, in the order of addition.
    """

    key: ModelKey
    columns: tuple[BigQueryColumn, ...]
    version: SchemaVer
    recovered: tuple[BigQueryRecovery, ...] = ()
    mixed: tuple[MixedItems, ...] = ()
    other_name: str = ""

    @property
    def name(self) -> str:
        """The name of the table, `com_acme_ad_click_1`."""
        return self.other_name or self.key.table

    @property
    def uri(self) -> str:
        """The URI of the schema that the table is at; the table's description."""
        return self.key.at(self.version).uri
