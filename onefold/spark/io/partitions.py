"""Columns of partition folders in a frame of files; `onefold.compare.partitions` finds the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.compare.partitions import Partition, folders_above, partitions_of
from onefold.core.errors import InvalidInput
from onefold.core.names import fold_case
from onefold.schema.types import Type
from onefold.spark.columns import named
from onefold.spark.io.filesystem import Folder, FolderEntry
from onefold.spark.values.types import spark_type

_PATH = "_metadata"
"""Spark's hidden column: a struct with the path and other facts about a row's file."""


@dataclass(frozen=True)
class Partitions:
    """The partition columns of a folder, whose values Spark reads from the path of a row's file."""

    name: str
    folder: Folder
    found: tuple[Partition, ...] = ()

    @classmethod
    def of(cls, folder: Folder, entries: Sequence[FolderEntry]) -> Partitions:
        """Return the columns that the names of the folders give.

        Raises:
            InvalidInput: the names of the folders make no columns.
        """
        uri = folder.qualified()
        paths = {entry.path: folders_above(_root(uri, entry, entries), entry.path) for entry in entries}
        return cls(folder.uri, folder, partitions_of(folder.uri, paths))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(partition.name for partition in self.found)

    @property
    def empty(self) -> frozenset[str]:
        """The folded names of columns whose values are all NULL, so that their type is unknown."""
        return frozenset(fold_case(partition.name) for partition in self.found if partition.type is None)

    def added_to(self, frame: DataFrame, as_type: Type | None = None) -> DataFrame:
        """Return the frame with these columns: at its end, or in place of a column of the same name with the same values.

        Args:
            frame: the rows of the files.
            as_type: the type of every value, for files without types of their own (CSV).

        Raises:
            InvalidInput: a column of the files has the same name and a type whose values cannot be in a folder's name.
        """
        own = {fold_case(field.name): field for field in frame.schema.fields}
        problems = [
            problem for partition in self.found for problem in self._problems(partition, own.get(fold_case(partition.name)))
        ]
        if problems:
            raise InvalidInput(problems)
        # `_metadata` by name would be a column of the files, if they have one of that name.
        path = frame.metadataColumn(_PATH).getField("file_path") if self.found else F.lit("")
        values = {fold_case(partition.name): (partition, self._text(partition, path)) for partition in self.found}
        columns = [
            _checked(field, values[name][1], path) if (name := fold_case(field.name)) in values else named(field.name)
            for field in frame.schema.fields
        ]
        columns += [
            text.cast(spark_type(as_type or partition.type)).alias(partition.name)
            for name, (partition, text) in values.items()
            if name not in own and partition.type is not None
        ]
        return frame.select(*columns) if self.found else frame

    def _text(self, partition: Partition, path: Value) -> Value:
        """Return the value of a row's folder as text."""
        mark = f"/{self.folder.spelled_in_uris(partition.name)}="
        above = F.left(path, F.length(path) - F.length(F.substring_index(path, "/", -1)))
        spelled = F.substring_index(F.substring_index(above, mark, -1), "/", 1)
        escaped = {self.folder.spelled_in_uris(name): value for name, value in partition.values.items()}
        other = {name: value for name, value in escaped.items() if name != value}
        if not other:
            return spelled
        # One literal, parsed once. Most values need no look-up in the map, which costs more than using the text itself.
        values = F.from_json(F.lit(json.dumps(other)), "map<string, string>")
        return F.when(spelled.isin(*other), values[spelled]).otherwise(spelled)

    def _problems(self, partition: Partition, field: t.StructField | None) -> Iterator[str]:
        if field and isinstance(field.dataType, t.ArrayType | t.MapType | t.StructType | t.BinaryType):
            yield (
                f"{self.name}: expected the column {partition.name} in the names of folders or in the files, got both, and "
                f"in the files it is {field.dataType.simpleString()}: rename one"
            )


def _root(uri: str, entry: FolderEntry, entries: Sequence[FolderEntry]) -> str:
    """Return the folder that an entry's path begins at: the folder itself, or the one above a single file."""
    return uri.rpartition("/")[0] if [entry] == list(entries) and uri.endswith(f"/{entry.path}") else uri


def _checked(field: t.StructField, text: Value, path: Value) -> Value:
    """Return the value that file and folder agree on; NULL in the file agrees with every folder."""
    own, value = named(field.name), text.try_cast(field.dataType)
    problem = F.concat(
        path, F.lit(f": expected one value of the column {field.name}, got "), F.coalesce(own.cast("string"), F.lit("NULL")),
        F.lit(" in the file and "), F.coalesce(text, F.lit("NULL")), F.lit(" in the name of its folder: rename the folder"),
    )  # fmt: skip
    is_readable = value.isNotNull() | text.isNull()
    agreed = F.when(is_readable & own.isNull(), value).when(is_readable & own.eqNullSafe(value), own)
    return agreed.otherwise(F.raise_error(problem)).alias(field.name)
