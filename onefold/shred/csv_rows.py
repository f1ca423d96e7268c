"""Rows of the tables as lines of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onefold.registry.leaves import Path, is_nested, leaves
from onefold.registry.subschemas import Json
from onefold.shred.csv_values import NULL, TAB, Convert, csv_converter
from onefold.shred.values import DoesNotFit

_NOTHING: dict[Any, Any] = {}
_ABSENT = object()
"""A key that no object of JSON has."""


class CsvRows:
    """The rows of one version of a schema: what its data has for each column of the table.

    A column that the version does not have is NULL, even where the data has a property of that name: the version does not
    say what it is.
    """

    def __init__(self, schema: Json, columns: Sequence[tuple[str, str]], paths: Sequence[Path]) -> None:
        """Choose the place and the conversion of each column.

        Args:
            schema: the version of the schema.
            columns: name and type of each column of the data.
            paths: the path to the value of each column.
        """
        known = {leaf.path: leaf for leaf in leaves(schema)}
        self._names = [name for name, _ in columns]
        self._parents: list[tuple[int, str]] = []
        self._places: dict[Path, int] = {(): 0}
        self._columns: list[tuple[int, Any, Convert]] = []
        for (_, type_), path in zip(columns, paths, strict=True):
            leaf = known.get(path)
            convert = csv_converter(type_)
            if leaf is None:
                self._columns.append((0, _ABSENT, convert))
            elif is_nested(leaf.schema):
                self._columns.append((self._place(path[:-1]), path[-1], _unless_object(convert)))
            else:
                self._columns.append((self._place(path[:-1]), path[-1], convert))

    def _place(self, path: Path) -> int:
        if path not in self._places:
            self._parents.append((self._place(path[:-1]), path[-1]))
            self._places[path] = len(self._parents)
        return self._places[path]

    def row(self, data: Any) -> str:
        """Return the fields of the data.

        Raises:
            DoesNotFit: a column cannot hold its value.
        """
        objects = self._objects(data)
        fields = [
            NULL if (value := objects[place].get(name)) is None else convert(value) for place, name, convert in self._columns
        ]
        return TAB.join(fields)

    def problems(self, data: Any) -> Iterator[str]:
        """Yield why columns cannot hold their values."""
        objects = self._objects(data)
        for column, (place, name, convert) in zip(self._names, self._columns, strict=True):
            value = objects[place].get(name)
            if value is not None:
                try:
                    convert(value)
                except DoesNotFit as error:
                    yield f"{column}: {error}"

    def _objects(self, data: Any) -> list[dict[Any, Any]]:
        objects = [data if type(data) is dict else _NOTHING]
        for place, name in self._parents:
            value = objects[place].get(name)
            objects.append(value if type(value) is dict else _NOTHING)
        return objects


def _unless_object(convert: Convert) -> Convert:
    """Return the conversion of a union's own column: the properties of an object have columns of their own."""
    return lambda value: NULL if type(value) is dict else convert(value)
