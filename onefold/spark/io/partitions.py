"""Columns of partition folders in a frame of files: `onefold.compare.partitions` says which there are."""

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
from onefold.spark.io.filesystem import Entry, Folder
from onefold.spark.values.types import held

_PATH = "_metadata"
"""Spark's struct of what it knows of a row's file."""


@dataclass(frozen=True)
class Partitions:
    """The partition columns of a folder, and how Spark finds the value of each in the path of a row's file."""

    name: str
    folder: Folder
    found: tuple[Partition, ...] = ()

    @classmethod
    def of(cls, folder: Folder, entries: Sequence[Entry]) -> Partitions:
        """Raises InvalidInput where the folders do not make columns."""
        place = folder.qualified()
        paths = {entry.path: folders_above(_root(place, entry, entries), entry.path) for entry in entries}
        return cls(folder.uri, folder, partitions_of(folder.uri, paths))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(partition.name for partition in self.found)

    @property
    def empty(self) -> frozenset[str]:
        """Folded names of columns whose values are all NULL, so that nothing says their type."""
        return frozenset(fold_case(partition.name) for partition in self.found if partition.type is None)

    def added_to(self, frame: DataFrame, as_type: Type | None = None) -> DataFrame:
        """Return the frame of the files with these columns: at its end, or in the place of a column that says the same.

        Args:
            as_type: the type of every value, where the files have no types of their own, as CSV has none.

        Raises:
            InvalidInput: a column of the files has the name, and a type of which no folder can spell a value.
        """
        own = {fold_case(field.name): field for field in frame.schema.fields}
        problems = [
            problem for partition in self.found for problem in self._problems(partition, own.get(fold_case(partition.name)))
        ]
        if problems:
            raise InvalidInput(problems)
        # The path is another column's name where a file has a column `_metadata`.
        path = frame.metadataColumn(_PATH).getField("file_path") if self.found else F.lit("")
        values = {fold_case(partition.name): (partition, self._text(partition, path)) for partition in self.found}
        columns = [
            _checked(field, values[name][1], path) if (name := fold_case(field.name)) in values else named(field.name)
            for field in frame.schema.fields
        ]
        columns += [
            text.cast(held(as_type or partition.type)).alias(partition.name)
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
        # One literal, which is read once: a search through a map costs more than the text as it is.
        values = F.from_json(F.lit(json.dumps(other)), "map<string, string>")
        return F.when(spelled.isin(*other), values[spelled]).otherwise(spelled)

    def _problems(self, partition: Partition, field: t.StructField | None) -> Iterator[str]:
        if field and isinstance(field.dataType, t.ArrayType | t.MapType | t.StructType | t.BinaryType):
            yield (
                f"{self.name}: expected the column {partition.name} in the names of folders or in the files, got both, and "
                f"in the files it is {field.dataType.simpleString()}: rename one"
            )


def _root(place: str, entry: Entry, entries: Sequence[Entry]) -> str:
    """A single file is its own entry: the folders that count are those above it."""
    return place.rpartition("/")[0] if [entry] == list(entries) and place.endswith(f"/{entry.path}") else place


def _checked(field: t.StructField, text: Value, path: Value) -> Value:
    """Return the value that file and folder agree on; NULL in the file says nothing."""
    own, value = named(field.name), text.try_cast(field.dataType)
    problem = F.concat(
        path, F.lit(f": expected one value of the column {field.name}, got "), F.coalesce(own.cast("string"), F.lit("NULL")),
        F.lit(" in the file and "), F.coalesce(text, F.lit("NULL")), F.lit(" in the name of its folder: rename the folder"),
    )  # fmt: skip
    readable = value.isNotNull() | text.isNull()
    agreed = F.when(readable & own.isNull(), value).when(readable & own.eqNullSafe(value), own)
    return agreed.otherwise(F.raise_error(problem)).alias(field.name)
