"""Rows of flat columns, as Redshift has them: the fields of a line of CSV, or values for Parquet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from onefold.events.registry.leaves import Path, is_nested, leaves
from onefold.events.registry.subschemas import Json
from onefold.events.shred.compiled_row import ABSENT, RowColumn, compile_row, usual_value
from onefold.events.shred.redshift_values import Convert
from onefold.events.shred.row_format import RowFormat
from onefold.events.shred.values import DoesNotFit

_NOTHING: dict[Any, Any] = {}


class FlatRows:
    """The rows of one version of a schema: what its data has for each column of the table.

    A column that the version does not have is NULL, even where the data has a property of that name: the version does not
    say what it is.
    """

    def __init__(
        self,
        form: RowFormat,
        schema: Json,
        columns: Sequence[tuple[str, str]],
        paths: Sequence[Path],
        required: Collection[str] = (),
    ) -> None:
        """Choose the place and the conversion of each column.

        Args:
            form: how the rows are written.
            schema: the version of the schema.
            columns: name and type of each column of the data.
            paths: the path to the value of each column.
            required: the columns that are NOT NULL.
        """
        unions = {leaf.path: is_nested(leaf.schema) for leaf in leaves(schema)}
        self._form, self._null = form, form.null
        self._names = [name for name, _ in columns]
        self._required = [number for number, name in enumerate(self._names) if name in required]
        self._parents: list[tuple[int, str]] = []
        self._places: dict[Path, int] = {(): 0}
        typed = [(type_, path) for (_, type_), path in zip(columns, paths, strict=True)]
        self._careful = self._columns(typed, unions, plain=not form.is_csv)
        self._careful_row = compile_row(self._parents, self._careful, self._null)
        self._plain_row = compile_row(self._parents, self._columns(typed, unions, plain=True), self._null)

    def _columns(self, typed: Sequence[tuple[str, Path]], unions: dict[Path, bool], *, plain: bool) -> list[RowColumn]:
        return [self._column(type_, path, unions, plain=plain) for type_, path in typed]

    def _column(self, type_: str, path: Path, unions: dict[Path, bool], *, plain: bool) -> RowColumn:
        convert = self._form.converter(type_, plain)
        if path not in unions:
            return RowColumn(0, ABSENT, convert)
        place = self._place(path[:-1])
        whole = self._unless_object(convert) if unions[path] else convert
        return RowColumn(place, path[-1], whole, usual_value(type_, self._form, plain=plain))

    def _place(self, path: Path) -> int:
        if path not in self._places:
            self._parents.append((self._place(path[:-1]), path[-1]))
            self._places[path] = len(self._parents)
        return self._places[path]

    def fields(self, data: Any, plain: bool) -> list[Any]:
        """Return the fields of a line, or the values, of valid data.

        Args:
            data: the data.
            plain: whether no text of it has a character that makes quotes or an escape necessary.

        Raises:
            DoesNotFit: a column cannot hold its value.
        """
        fields = self._plain_row(data) if plain else self._careful_row(data)
        if self._required and any(fields[number] == self._null for number in self._required):
            raise DoesNotFit("a column is NOT NULL, and has no value")
        return fields

    def problems(self, data: Any) -> Iterator[str]:
        """Yield why columns cannot hold their values."""
        gets = self._gets(data)
        for number, (column, (place, name, convert, _)) in enumerate(zip(self._names, self._careful, strict=True)):
            value = gets[place](name)
            try:
                field = self._null if value is None else convert(value)
            except DoesNotFit as error:
                yield f"{column}: {error}"
            else:
                if field == self._null and number in self._required:
                    yield f"{column}: the column is NOT NULL, and there is no value"

    def _gets(self, data: Any) -> list[Any]:
        """Return the look-up of each object that has values of columns."""
        gets = [(data if type(data) is dict else _NOTHING).get]
        for place, name in self._parents:
            value = gets[place](name)
            gets.append((value if type(value) is dict else _NOTHING).get)
        return gets

    def _unless_object(self, convert: Convert) -> Convert:
        """Return the conversion of a union's own column: the properties of an object have columns of their own."""
        return lambda value: self._null if type(value) is dict else convert(value)
