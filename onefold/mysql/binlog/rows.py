"""Row images: the rows of an event of the log, from its bytes.

An image has one bit for each column that is NULL (the lowest bit of the first byte is the first column), then the values of
the other columns without gaps. Source: `Rows_event` in libs/mysql/binlog/event/rows_event.h of
https://github.com/mysql/mysql-server.

Each structure gets a function of its own, whose source is written here and compiled: it reads neighbouring columns of a
fixed size by one `struct`, and has no loop over the columns. The source consists of numbers and of names of this module
only; values of the database, such as those of an ENUM, are objects that it refers to.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.values import ValueForm, form_of
from onefold.mysql.encodings import Unrepresentable
from onefold.mysql.table import Structure

Row = tuple[Any, ...]
"""A value for each column of the structure."""
RowReader = Callable[[bytes, int], tuple[list[Row], bool]]
"""From an event's body, and the offset of its first image, to all its rows, and whether any value is `Unrepresentable`."""
_Run = Sequence[tuple[int, ValueForm]]
"""Neighbouring columns: the index of each, and its form."""

_READERS = 1024
"""The structures whose reader is kept: one of 30 columns takes 35 kB, and 2 ms to make."""


@dataclass(frozen=True)
class DecodedRows:
    """Rows as they land, and the number of values that BigQuery cannot hold, by column name and kind of loss."""

    rows: tuple[Row, ...]
    losses: tuple[tuple[tuple[str, str], int], ...] = ()


@lru_cache(_READERS)
def row_reader(structure: Structure) -> RowReader:
    """Return the function that reads the rows of a structure.

    Raises:
        InvalidInput: names all columns that cannot be read.
    """
    forms, problems = [], []
    for column in structure.columns:
        try:
            forms.append(form_of(column))
        except InvalidInput as error:
            problems.append(f"{structure.table}.{column.name}: {error}")
    if problems:
        raise InvalidInput(problems)
    return _compiled(forms)


def replace_unrepresentable(structure: Structure, rows: Iterable[Sequence[Any]]) -> DecodedRows:
    """Replace each `Unrepresentable` value by what lands in its place, and count the losses."""
    losses: Counter[tuple[str, str]] = Counter()
    landed = []
    for values in rows:
        if Unrepresentable in map(type, values):  # rare: one test for the whole row is cheaper than one for each value
            values = [_replacement(structure, column, value, losses) for column, value in enumerate(values)]
        landed.append(tuple(values))
    return DecodedRows(tuple(landed), tuple(losses.items()))


def _replacement(structure: Structure, column: int, value: Any, losses: Counter[tuple[str, str]]) -> Any:
    if not isinstance(value, Unrepresentable):
        return value
    losses[structure.columns[column].name, value.kind] += 1
    return value.value


def _compiled(forms: Sequence[ValueForm]) -> RowReader:
    """Compile the reader of rows whose columns have these forms.

    The source names objects by the index of a column: `unpack7` reads the run that it begins, `single7` the column alone,
    `convert7` converts its value, and `replace7` returns the `Unrepresentable`.
    """
    runs = [tuple(run) for _, run in groupby(enumerate(forms), _has_fixed_size)]
    nulls = (len(forms) + 7) // 8
    source = [
        "def read(data, at):",
        "    rows, has_losses, end = [], False, len(data)",
        "    while at < end:",
        f"        nulls = number(data[at : at + {nulls}], 'little')",
        f"        at += {nulls}",
        *(f"        {line}" for run in runs for line in (_fixed(run) if _has_fixed_size(run[0]) else _sized(run))),
        f"        rows.append(({' '.join(f'v{index},' for index in range(len(forms)))}))",
        "    return rows, has_losses",
    ]
    names: dict[str, Any] = {"number": int.from_bytes}
    for index, form in enumerate(forms):
        names |= {f"convert{index}": form.convert, f"replace{index}": form.replace}
        names[f"single{index}"] = _struct([(index, form)]).unpack_from
    names |= {f"unpack{run[0][0]}": _struct(run).unpack_from for run in runs if _has_fixed_size(run[0])}
    exec(compile("\n".join(source), "<reader of rows>", "exec"), names)  # noqa: S102 nothing of the database is in it
    reader: RowReader = names["read"]
    return reader


def _has_fixed_size(column: tuple[int, ValueForm]) -> bool:
    return column[1].code is not None


def _struct(run: _Run) -> struct.Struct:
    return struct.Struct("<" + "".join(form.code or "" for _, form in run))


def _fixed(run: _Run) -> Iterator[str]:
    """Yield the source that reads columns of a fixed size: all at once where none is NULL."""
    yield f"if nulls & {sum(1 << index for index, _ in run)}:"
    for index, form in run:
        yield f"    if nulls & {1 << index}:"
        yield f"        v{index} = None"
        yield "    else:"
        yield f"        v{index}, = single{index}(data, at)"
        yield f"        at += {_struct([(index, form)]).size}"
        yield from _indented(8, _converted(index, form, f"v{index}"))
    yield "else:"
    yield f"    {' '.join(f'v{index},' for index, _ in run)} = unpack{run[0][0]}(data, at)"
    yield f"    at += {_struct(run).size}"
    for index, form in run:
        yield from _indented(4, _converted(index, form, f"v{index}"))


def _sized(run: _Run) -> Iterator[str]:
    """Yield the source that reads columns whose values have their length before them."""
    for index, form in run:
        length = "data[at]" if form.width == 1 else f"number(data[at : at + {form.width}], 'little')"
        yield f"if nulls & {1 << index}:"
        yield f"    v{index} = None"
        yield "else:"
        yield f"    start = at + {form.width}"
        yield f"    at = start + {length}"
        yield from _indented(4, _converted(index, form, "data[start : at]"))


def _converted(index: int, form: ValueForm, value: str) -> Iterator[str]:
    """Yield the source that converts what was read."""
    if form.replace:
        yield "try:"
        yield f"    v{index} = convert{index}({value})"
        yield "except ValueError:"
        yield f"    v{index}, has_losses = replace{index}({value}), True"
    elif form.convert:
        yield f"v{index} = convert{index}({value})"


def _indented(blanks: int, lines: Iterable[str]) -> Iterator[str]:
    return (" " * blanks + line for line in lines)
