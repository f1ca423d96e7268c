"""Versions from a file with rows of INFORMATION_SCHEMA.COLUMNS: a JSON array, or JSON lines."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onefold.core.errors import InvalidColumns, InvalidType
from onefold.core.names import fold_case
from onefold.core.text import cut, shown_lines, shown_list
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.schema.versions import Version

_REQUIRED = ("table_name", "column_name", "ordinal_position", "data_type")
_SHOWN_CHARACTERS = 80
_MAX_HEADER = 10_000
"""The longest line, in characters, that is looked at as the header of a CSV file."""
_TIME_FORM = "2024-03-01 12:30:00 UTC or 2024-03-01T12:30:00Z"


@dataclass(frozen=True)
class _Row:
    version: str
    column: Column
    position: int
    created: datetime | None


def read_columns(text: str, base: str, names: VersionedNames = DEFAULT_NAMES, file: str = "") -> tuple[Version, ...]:
    """Return the versions of a base name in a file, in the order of the file; rows of other tables are skipped.

    Args:
        text: the content of the file, with at least `table_name`, `column_name`, `ordinal_position` and `data_type`.
        base: the base name.
        names: the naming of the versioned tables.
        file: the name of the file, for errors.

    Examples:
        >>> row = {"table_name": "customer_v_abc", "column_name": "id", "ordinal_position": 1, "data_type": "INT64"}
        >>> [version.id for version in read_columns(json.dumps([row]), "customer")]
        ['abc']

    Raises:
        InvalidColumns: rows are not valid; the error lists all problems with the number of the row, twenty at most.
    """
    try:
        return _versions(text, base, names)
    except InvalidColumns as error:
        raise InvalidColumns(f"{file}: {problem}" if file else problem for problem in error.problems) from error


def _versions(text: str, base: str, names: VersionedNames) -> tuple[Version, ...]:
    problems: list[str] = []
    rows = [row for number, raw in enumerate(_rows(text), 1) if (row := _read(raw, number, base, names, problems))]
    found: dict[str, list[_Row]] = {}
    for row in rows:
        found.setdefault(row.version, []).append(row)
    problems += _problems_of_versions(found)
    if problems:
        raise InvalidColumns(shown_lines(problems))
    return tuple(
        Version(version, tuple(row.column for row in sorted(group, key=lambda row: row.position)), group[0].created)
        for version, group in found.items()
    )


def _rows(text: str) -> Iterator[Any]:
    text = text.removeprefix("\N{BYTE ORDER MARK}")
    try:
        content = json.loads(text)
        yield from content if isinstance(content, list) else [content]
        return
    except RecursionError as error:
        raise InvalidColumns(
            "the file is nested too deep for rows of INFORMATION_SCHEMA.COLUMNS: export them again"
        ) from error
    except ValueError as error:
        if text.lstrip().startswith("["):
            raise InvalidColumns(f"the file is not a JSON array: {error}") from error
    # Not splitlines: Unicode has line ends, such as U+2028, that JSON allows within a text.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                names = _csv_header(text)
                raise InvalidColumns(_is_csv(names) if names else f"line {number} is not JSON: {error}") from error


def _csv_header(text: str) -> list[str]:
    """Return the column names of a CSV file; nothing for a text that does not begin as CSV does."""
    first = text.lstrip().partition("\n")[0].strip()
    if first.startswith(("{", "[")) or len(first) > _MAX_HEADER:
        return []
    names = next(csv.reader([first]), [])
    return names if len(names) > 1 else []


def _is_csv(names: Sequence[str]) -> str:
    return (
        "expected rows of INFORMATION_SCHEMA.COLUMNS as a JSON array or JSON lines, got CSV with the columns "
        f"{cut(', '.join(names), _SHOWN_CHARACTERS)}: export the rows as JSON (`bq query --format=json`)"
    )


def _read(raw: Any, number: int, base: str, names: VersionedNames, problems: list[str]) -> _Row | None:
    if not isinstance(raw, Mapping):
        problems.append(f"row {number} is not a JSON object: export the rows again")
        return None
    if missing := [name for name in _REQUIRED if name not in raw]:
        found = f", but {cut(', '.join(map(str, raw)), _SHOWN_CHARACTERS)}" if raw else ""
        problems.append(f"row {number} has no {shown_list(missing)}{found}: give the columns {', '.join(_REQUIRED)}")
        return None
    if not isinstance(raw["table_name"], str):
        problems.append(f"row {number}: table_name is {_json(raw['table_name'])}: give the name of a table")
        return None
    version = names.version_of(base, raw["table_name"])
    if version is None or not _is_column_of_table(raw):
        return None
    try:
        name = _name(raw["column_name"])
    except ValueError as error:
        problems.append(f"row {number} of {raw['table_name']}: {error}")
        return None
    try:
        column = Column(name, parse_type(_type(raw["data_type"])))
        return _Row(version, column, _position(raw["ordinal_position"]), _time(raw.get("creation_time")))
    except (InvalidType, ValueError) as error:
        problems.append(f"row {number}, column {name} of {raw['table_name']}: {error}")
        return None


def _is_column_of_table(raw: Mapping[str, Any]) -> bool:
    """Return whether a row is a visible column of a table. Columns of views and snapshots are not columns of a version."""
    is_table = raw.get("table_type") in (None, "BASE TABLE")
    # Pseudo-columns, such as _PARTITIONTIME, have no position and are hidden.
    return is_table and raw["ordinal_position"] is not None and raw.get("is_hidden") != "YES"


def _name(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError(f"column_name is {_json(value)}: give the name of a column")


def _type(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"data_type is {_json(value)}: give a type as text")


def _position(value: Any) -> int:
    # `bq` prints numbers as text.
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    # In Python a bool is an int.
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
        return int(value)
    raise ValueError(f"ordinal_position is {_json(value)}: give a whole number")


def _time(value: Any) -> datetime | None:
    # ISO 8601, as the tools of BigQuery print it; a time without a zone is UTC.
    if value is None:
        return None
    try:
        if not isinstance(value, str):
            raise ValueError
        time = datetime.fromisoformat(value.removesuffix(" UTC"))
    except ValueError as error:
        raise ValueError(f"creation_time is {_json(value)}: write it as {_TIME_FORM}") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _json(value: Any) -> str:
    return cut(json.dumps(value, ensure_ascii=False), _SHOWN_CHARACTERS)


def _problems_of_versions(found: Mapping[str, list[_Row]]) -> Iterator[str]:
    if len({row.created is None for rows in found.values() for row in rows}) > 1:
        yield "some rows have a creation_time and some have none: give it for all or for none"
    for version, rows in found.items():
        if len({row.created for row in rows}) > 1:
            yield f"version {version} has more than one creation_time: it is that of its table, the same in each row"
        positions = Counter(row.position for row in rows)
        if twice := sorted(position for position, count in positions.items() if count > 1):
            yield f"version {version} has two columns at ordinal_position {shown_list(twice)}: export its rows again"
        names = Counter(fold_case(row.column.name) for row in rows)
        if repeated := sorted(name for name, count in names.items() if count > 1):
            yield f"version {version} has two columns named {shown_list(repeated)}: export its rows again"
