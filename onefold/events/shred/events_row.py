"""The row of an enriched event in the table `events`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import compress
from typing import Any

from onefold.events.shred.bad_rows import EventProblem
from onefold.events.shred.csv_values import TAB
from onefold.events.shred.event_fields import EVENT_FIELDS, FieldKind, event_columns
from onefold.events.shred.json_reader import Unreadable, read_json
from onefold.events.shred.redshift_values import surely_fitting
from onefold.events.shred.row_format import RowFormat
from onefold.events.shred.values import DoesNotFit

_NUMBERS = range(len(EVENT_FIELDS))
_SHORT = 18
"""Digits of a whole number that 64 bits hold in any case."""
_BOOLEANS: Mapping[str | int, bool] = {"0": False, "1": True, "false": False, "true": True, 0: False, 1: True}
_ANY_LENGTH = sys.maxsize
_TYPED = frozenset[FieldKind]({"bool", "int", "float", "time"})
"""The kinds of fields whose values are no texts, whatever columns they go to."""
_TEXTS = ("VARCHAR", "CHAR", "STRING")
"""How the types of columns begin that hold the JSON text of any value."""


class EventsRow:
    """Makes rows of `events`. The fields of a record may be texts, or the values of JSON.

    A row has the columns of the table in the order of the fields, and a field without a column has no place in it.
    """

    def __init__(self, form: RowFormat, types: Mapping[str, str], required: Collection[str] = ()) -> None:
        """Choose the conversion of each field.

        Args:
            form: how the rows are written.
            types: the type of the column of each field that has one.
            required: the fields whose columns are NOT NULL.
        """
        self._is_csv = form.is_csv
        self._null = form.null
        self._template: list[Any] = [self._null] * len(EVENT_FIELDS)
        self._converters = [_converter(name, kind, types.get(name), form) for name, kind in EVENT_FIELDS]
        self._plain = [_converter(name, kind, types.get(name), form, plain=True) for name, kind in EVENT_FIELDS]
        self._surely = [_surely(kind, types.get(name)) for name, kind in EVENT_FIELDS]
        self._left_out = [number for number in reversed(_NUMBERS) if EVENT_FIELDS[number][0] not in types]
        self._required = [number for number in _NUMBERS if EVENT_FIELDS[number][0] in required]

    def of_texts(self, fields: list[str]) -> Any:
        """Return the row of 131 texts, where an empty one is NULL. The texts of entities have to be empty.

        Raises:
            DoesNotFit: a column cannot hold its value.
        """
        if self._is_csv and _is_plain(TAB.join(fields)):
            row, surely, converters = self._template.copy(), self._surely, self._plain
            for number in compress(_NUMBERS, fields):
                text = fields[number]
                row[number] = text if len(text) <= surely[number] else converters[number](text)
            return TAB.join(self._columns_of(row))
        return self.of_values([(number, fields[number]) for number in compress(_NUMBERS, fields)])

    def of_values(self, fields: Iterable[tuple[int, Any]]) -> Any:
        """Return the row of the values of some fields, each with its number.

        Raises:
            DoesNotFit: a column cannot hold its value.
        """
        values = self._values(fields)
        return TAB.join(values) if self._is_csv else tuple(values)

    def problems(self, fields: Iterable[tuple[int, Any]]) -> Iterator[EventProblem]:
        """Yield why columns cannot hold the values of some fields; all others have no value."""
        missing = set(self._required)
        for number, value in fields:
            missing.discard(number)
            try:
                self._converters[number](value)
            except DoesNotFit as error:
                yield EventProblem("does_not_fit", f"{EVENT_FIELDS[number][0]}: {error}")
        for number in sorted(missing):
            yield EventProblem("does_not_fit", f"{EVENT_FIELDS[number][0]}: the column is NOT NULL, and there is no value")

    def _values(self, fields: Iterable[tuple[int, Any]]) -> list[Any]:
        row = self._template.copy()
        for number, value in fields:
            row[number] = self._converters[number](value)
        return self._columns_of(row)

    def _columns_of(self, row: list[Any]) -> list[Any]:
        """Return the values of the columns among those of all fields.

        Raises:
            DoesNotFit: a column that is NOT NULL has no value.
        """
        if self._required and any(row[number] == self._null for number in self._required):
            raise DoesNotFit("a column is NOT NULL, and has no value")
        for number in self._left_out:
            del row[number]
        return row


def _is_plain(line: str) -> bool:
    """Return whether no field of a line has a character that makes quotes or an escape necessary."""
    return not ('"' in line or "\\" in line or "\n" in line or "\r" in line)


def _surely(kind: FieldKind, type_: str | None) -> int:
    """Return the length up to which the text of a field is the value of its column."""
    if type_ is None:
        return _ANY_LENGTH
    return -1 if kind in _TYPED else surely_fitting(type_)


def _converter(name: str, kind: FieldKind, type_: str | None, form: RowFormat, plain: bool = False) -> Callable[[Any], Any]:
    if type_ is None:
        return lambda value: value  # the field has no column, so that its value is left out
    convert = _checked(name, kind, type_, form, form.converter(type_, plain))
    if kind == "bool":
        return lambda value: convert(_BOOLEANS.get(value, value) if type(value) in (str, int) else value)
    if kind in ("int", "float"):
        return lambda value: convert(_number(value) if type(value) is str else value)
    return convert


def _checked(name: str, kind: FieldKind, type_: str, form: RowFormat, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a conversion that refuses, for a column of texts, what is not a value of the field."""
    if kind not in _TYPED or not type_.startswith(_TEXTS):
        return convert
    check = form.converter(dict(event_columns(form.warehouse))[name])

    def checked(value: Any) -> Any:
        check(value)
        return convert(value)

    return checked


def _number(text: str) -> Any:
    """Return the number of a text; the text itself where it is not a number."""
    if len(text) <= _SHORT and text.isascii() and text.isdecimal():
        return int(text)
    try:
        value = read_json(text)
    except Unreadable:
        return text
    return text if isinstance(value, bool | str | list | dict) or value is None else value
