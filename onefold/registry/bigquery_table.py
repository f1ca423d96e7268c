"""The table of a model in BigQuery, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.registry.schema_key import ModelKey, SchemaVer
from onefold.schema.columns import Column


@dataclass(frozen=True)
class PropertySource:
    """The property that a column or a field of a STRUCT takes its values from.

    Attributes:
        name: the name of the property.
        others: whether the column takes what is not an object, because another column takes the objects.
        fields: the sources of the nested fields, in their order.
    """

    name: str
    others: bool
    fields: tuple[PropertySource, ...] = ()


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
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class BigQueryTable:
    """The table of a model, with the versions that it holds; the attributes are those of a ModelTable."""

    key: ModelKey
    columns: tuple[BigQueryColumn, ...]
    version: SchemaVer
    recovered: tuple[BigQueryRecovery, ...] = ()

    @property
    def name(self) -> str:
        """The name of the table, `com_acme_ad_click_1`."""
        return self.key.table

    @property
    def uri(self) -> str:
        """The URI of the schema that the table is at; the table's description."""
        return self.key.at(self.version).uri
