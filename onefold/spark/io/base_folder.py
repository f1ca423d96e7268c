"""A base in a folder: the rows that an earlier batch has written, or a plain copy of the source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING, Scalar, Type
from onefold.spark.io.files import read_folder, reading, rows_in
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.frames import LandedFrame
from onefold.spark.io.manifest import POSITIONS, OutputManifest, read_manifest

BASE_COLUMNS = (POSITION, DELETED)
"""The columns that a base has besides those of the source."""


@dataclass(frozen=True)
class BaseFolder:
    """The rows of a base, and the manifest of the batch that wrote them (None: a plain copy of the source)."""

    frame: LandedFrame
    manifest: OutputManifest | None = None

    @property
    def columns(self) -> Schema:
        """The columns of the source."""
        return Schema(column for column in self.frame.columns if column.name not in BASE_COLUMNS)

    @property
    def has_present_positions(self) -> bool:
        """Whether all positions are written as this release writes them."""
        return self.manifest is not None and self.manifest.positions == POSITIONS

    def landed_types(self) -> Mapping[str, tuple[Type, ...]]:
        """Return by folded name the types in which the values of a column landed before they came into the base."""
        known = self.manifest.landed_types if self.manifest and self.manifest.landed_types else {}
        return {fold_case(column.name): known.get(column.name) or (column.type,) for column in self.columns}

    def is_known_unique(self, keys: Sequence[str], unified: Schema) -> bool:
        """Return whether no key can be repeated: a batch wrote the base by the same keys, whose types are still the same."""
        key_columns = ((column, unified.get(column.name)) for column in self.columns if column.name in keys)
        same_types = all(now is not None and column.type == now.type for column, now in key_columns)
        return self.manifest is not None and folded_names(self.manifest.keys) == folded_names(keys) and same_types


def find_base(spark: SparkSession, uri: str, keys: Sequence[str]) -> BaseFolder | None:
    """Return the base in a folder; None if there is none.

    Args:
        spark: the session.
        uri: the folder.
        keys: columns that count as columns even if no row has a value in them.

    Raises:
        InvalidInput: the base is unfinished or cannot be read.
    """
    folder = Folder(spark, uri)
    manifest = read_manifest(folder)
    if manifest is not None:
        columns = Schema((*manifest.columns, Column(POSITION, STRING), Column(DELETED, Scalar("BOOL"))))
        with reading(uri):
            return BaseFolder(LandedFrame(uri, spark.read.parquet(uri), columns), manifest)
    return BaseFolder(read_folder(spark, uri, keys)) if rows_in(folder) else None


def folded_names(names: Iterable[str]) -> set[str]:
    """Return names as they are compared, without case."""
    return {fold_case(name) for name in names}
