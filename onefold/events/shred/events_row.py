"""The row of an enriched event in the table `events`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import compress
from typing import Any

from onefold.events.shred.bad_rows import EventProblem
from onefold.events.shred.csv_values import NULL, TAB, csv_converter, surely_fitting
from onefold.events.shred.event_fields import EVENT_FIELDS, FieldKind, field_types
from onefold.events.shred.json_reader import Unreadable, read_json
from onefold.events.shred.parquet_values import parquet_converter
from onefold.events.shred.values import DoesNotFit
from onefold.ports.event_tables import FileFormat

_NUMBERS = range(len(EVENT_FIELDS))
_ENTITIES = [number for number, (_, kind) in enumerate(EVENT_FIELDS) if kind == "json"]
_SHORT = 18
"""Digits of a whole number that 64 bits hold in any case."""
_BOOLEANS: Mapping[str | int, bool] = {"0": False, "1": True, "false": False, "true": True, 0: False, 1: True}


class EventsRow:
    """Makes rows of `events`. The fields of a record may be texts, or the values of JSON."""

    def __init__(self, format_: FileFormat) -> None:
        types = field_types(format_)
        self._is_csv = format_ == "csv"
        self._template: list[Any] = [NULL if self._is_csv else None] * len(EVENT_FIELDS)
        kinds = [kind for _, kind in EVENT_FIELDS]
        self._converters = [_converter(kind, type_, format_) for kind, type_ in zip(kinds, types, strict=True)]
        self._plain = [_converter(kind, type_, format_, plain=True) for kind, type_ in zip(kinds, types, strict=True)]
        self._surely = [surely_fitting(type_) for type_ in types]

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
            return TAB.join(_without_entities(row))
        return self.of_values([(number, fields[number]) for number in compress(_NUMBERS, fields)])

    def of_values(self, fields: Iterable[tuple[int, Any]]) -> Any:
        """Return the row of the values of some fields, each with its number.

        Raises:
            DoesNotFit: a column cannot hold its value.
        """
        values = self._values(fields)
        return TAB.join(values) if self._is_csv else tuple(values)

    def problems(self, fields: Iterable[tuple[int, Any]]) -> Iterator[EventProblem]:
        """Yield why columns cannot hold the values of some fields."""
        for number, value in fields:
            try:
                self._converters[number](value)
            except DoesNotFit as error:
                yield EventProblem("does_not_fit", f"{EVENT_FIELDS[number][0]}: {error}")

    def _values(self, fields: Iterable[tuple[int, Any]]) -> list[Any]:
        row = self._template.copy()
        for number, value in fields:
            row[number] = self._converters[number](value)
        return _without_entities(row)


def _without_entities(row: list[Any]) -> list[Any]:
    for number in reversed(_ENTITIES):
        del row[number]
    return row


def _is_plain(line: str) -> bool:
    """Return whether no field of a line has a character that makes quotes or an escape necessary."""
    return not ('"' in line or "\\" in line or "\n" in line or "\r" in line)


def _converter(kind: FieldKind, type_: str, format_: FileFormat, plain: bool = False) -> Callable[[Any], Any]:
    convert = csv_converter(type_, plain) if format_ == "csv" else parquet_converter(type_)
    if kind == "bool":
        return lambda value: convert(_BOOLEANS.get(value, value) if type(value) in (str, int) else value)
    if kind in ("int", "float"):
        return lambda value: convert(_number(value) if type(value) is str else value)
    return convert


def _number(text: str) -> Any:
    """Return the number of a text; the text itself where it is not a number."""
    if len(text) <= _SHORT and text.isascii() and text.isdecimal():
        return int(text)
    try:
        value = read_json(text)
    except Unreadable:
        return text
    return text if isinstance(value, bool | str | list | dict) or value is None else value
