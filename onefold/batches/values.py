"""The values of a Spark job's arguments: how they are read from text, and what is wrong with them.

What reads a value adds what is wrong to a list, so that all problems of a command line are reported at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from onefold.core.names import TableId, fold_case, problems_of_name
from onefold.core.text import shortened

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


def parse_uris(option: str, texts: Sequence[str], problems: list[str]) -> tuple[Uri, ...]:
    """Return the addresses of rows; see `parse_uri`."""
    return tuple(parse_uri(option, text, problems) for text in texts)


def split_texts(option: str, texts: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    """Return texts, of which each may be several, separated by commas. None at all would mean all, as if none were given.

    Examples:
        >>> split_texts("--tables", ["score", "a,b"], [])
        ('score', 'a', 'b')
    """
    found = tuple(one for text in texts for one in text.split(",") if one)
    if not found:
        problems.append(f"{option}: expected at least one name, got none: name some, or leave {option} out for all")
    return found


def parse_time(option: str, text: str, problems: list[str]) -> datetime | None:
    """Return a time, in UTC where the text names no zone.

    Args:
        option: the option that has it, for errors.
        text: a date or a time in the form of ISO 8601.
        problems: what is wrong is added to this list.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        problems.append(f"{option}: {shortened(text)} is no time: write it as 2026-01-31 or 2026-01-31T06:00:00Z")
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def parse_bound(option: str, text: str, problems: list[str]) -> datetime | str | None:
    """Return a bound of a window: a time where the text begins as a date does, else the text.

    Args:
        option: the option that has it, for errors.
        text: the bound as it was given.
        problems: what is wrong is added to this list.

    Examples:
        >>> parse_bound("--from", "2024-05-01", [])
        datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    return parse_time(option, text, problems) if re.match(r"\d{4}-\d\d-\d\d", text) else text


def between(least: int, most: int, unit: str = "") -> Callable[[str, int], Iterable[str]]:
    """Return a check of numbers from `least` to `most`."""
    return lambda option, value: (
        [] if least <= value <= most else [f"{option}: expected {least:,} to {most:,}{unit}, got {value:,}"]
    )


def not_empty(expected: str, remedy: str = "") -> Callable[[str, str], Iterable[str]]:
    """Return a check of texts."""
    return lambda option, value: [] if value else [f"{option}: expected {expected}, got an empty text{remedy}"]


def is_dataset(option: str, value: str) -> Iterable[str]:
    """Return what is wrong with the name of a dataset."""
    return [f"{option}: {problem}" for problem in problems_of_name("dataset", value)]
