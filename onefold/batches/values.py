"""The values of a Spark job's arguments, parsed from text: tables and folders, names of columns, bounds of a window.

Each parser adds what is wrong to a list, so that all problems of a command line are reported at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from onefold.changelog.position import HEXADECIMAL
from onefold.core.names import TableId, fold_case, problems_of_name

Format = Literal["datastream", "debezium", "modify_time"]

_BIGQUERY = "bigquery:"
_PATTERN = re.compile(r"[*?\[\]{}]")
_FOLDER = re.compile(r"(gs://[^/\s]+/\S+|file:\S+|[^:\s][^:]*)")


@dataclass(frozen=True)
class Uri:
    """The address of rows: a table of BigQuery (or the base name of versioned ones), or a folder of files."""

    text: str
    table: TableId | None = None

    def __str__(self) -> str:
        return self.text


def parse_uri(option: str, text: str, problems: list[str]) -> Uri:
    """Return the address of rows.

    Args:
        option: the option that names it, for errors.
        text: `bigquery:dataset.table`, `bigquery:project.dataset.table`, or a folder.
        problems: what is wrong is added to this list.

    Examples:
        >>> parse_uri("--base", "gs://bucket/base", [])
        Uri(text='gs://bucket/base', table=None)
    """
    if text.startswith(_BIGQUERY):
        return Uri(text, _table(option, text, problems))
    if not _FOLDER.fullmatch(text):
        problems.append(f"{option} {text!r}: name bigquery:dataset.table, gs://bucket/folder, file:/folder or a path")
    elif _PATTERN.search(text):
        problems.append(f"{option} {text!r}: name one folder; Spark would read * ? [ ] {{ }} as a pattern for others")
    return Uri(text)


def _table(option: str, text: str, problems: list[str]) -> TableId:
    parts = text.removeprefix(_BIGQUERY).split(".")
    kinds = {2: ("dataset", "table"), 3: ("project", "dataset", "table")}.get(len(parts))
    if not kinds:
        problems.append(f"{option} {text!r}: name a table as bigquery:dataset.table or bigquery:project.dataset.table")
        return TableId(None, None, "")
    problems += [
        f"{option}: {problem}" for kind, part in zip(kinds, parts, strict=True) for problem in problems_of_name(kind, part)
    ]
    return TableId(parts[0] if len(parts) == len(("project", "dataset", "table")) else None, parts[-2], parts[-1])


def parse_names(option: str, text: str, problems: list[str]) -> tuple[str, ...]:
    """Return names of columns, each as it is spelled first: names that differ only in case are one name.

    Args:
        option: the option that has them, for errors.
        text: the names, separated by commas.
        problems: what is wrong is added to this list.

    Examples:
        >>> parse_names("--keys", "id, Name,ID", [])
        ('id', 'Name')
    """
    names: dict[str, str] = {}
    for name in text.split(","):
        names.setdefault(fold_case(name.strip()), name.strip())
    if not all(names):
        problems.append(f"{option} {text!r}: name columns, separated by commas")
    return tuple(names.values())


def parse_bound(text: str | None, format_: Format, problems: list[str]) -> datetime | str | None:
    """Return a bound of a window: a time of landing where the text is a date or a time, else a sequence of the source.

    Args:
        text: the bound as it was given. A time without a zone is in UTC. With `modify_time`, a text that is no time is a
            value of the column that orders the rows.
        format_: the format of the changes.
        problems: what is wrong is added to this list.

    Examples:
        >>> parse_bound("2024-05-01", "datastream", [])
        datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if text is None:
        return None
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        if format_ == "modify_time":
            return text
        if not any(letter.isdigit() for letter in text) and not re.fullmatch(HEXADECIMAL[1:-1], text):
            problems.append(f"{text!r} is neither a time of landing, as 2024-05-01T12:00:00Z, nor a sequence of the source")
        return text
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        problems.append(f"{text!r} is no time: {error}")
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
