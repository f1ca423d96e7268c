"""The arguments of the job `shred`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from onefold.batches.declaration import Argument, JobArguments
from onefold.batches.values import between
from onefold.core.shred_options import (
    FORMATS_OF,
    MOST_DAYS,
    FileFormat,
    InputForm,
    Layout,
    Unknown,
    Warehouse,
    implied_warehouse,
    usual_format,
)
from onefold.core.text import shortened

_PLACE = re.compile(r"(?:gs|s3a?)://[^/\s*?\[\]{}]+(?:/\S*)?|file:/\S*|[^:\s]+")
"""A bucket with a folder, or a folder of this machine. A name of a bucket is never a pattern."""
_REGISTRY = re.compile(r"https?://\S+")
_PATTERN = re.compile(r"[*?\[\]{}\\]")
_ONLY_STARS = re.compile(r"[\[\]{}\\]")


def _events(option: str, places: tuple[str, ...]) -> Iterable[str]:
    yield from () if places else [f"{option}: expected files or folders, got an empty text"]
    yield from (problem for place in places for problem in _problems(option, place, _ONLY_STARS))


def _registries(option: str, places: tuple[str, ...]) -> Iterable[str]:
    yield from () if places else [f"{option}: expected a registry, got an empty text"]
    yield from (problem for place in places if not _REGISTRY.fullmatch(place) for problem in _folder(option, place))


def _folder(option: str, place: str) -> Iterable[str]:
    return _problems(option, place, _PATTERN)


def _trimmed(_option: str, text: str, _problems: list[str]) -> str:
    return text.rstrip("/") or text


def _problems(option: str, text: str, not_allowed: re.Pattern[str]) -> list[str]:
    """Return what is wrong with a place.

    Args:
        option: the option that names it.
        text: the place.
        not_allowed: characters that file systems would read as a pattern.
    """
    if not _PLACE.fullmatch(text):
        return [f"{option} {shortened(text)}: expected gs://bucket/folder, s3://bucket/folder, file:/folder or a path"]
    if found := not_allowed.search(text):
        return [f"{option} {shortened(text)}: expected a name without {found[0]!r}: it would be read as a pattern"]
    return []


@dataclass(frozen=True)
class ShredArguments(JobArguments):
    """Turn files of events that no run has taken yet into rows of tables, by the schemas of a registry."""

    job: ClassVar[str] = "shred"

    events: Annotated[
        tuple[str, ...], Argument("files and folders of events; * and ? match within a name", "URI", check=_events)
    ]
    registry: Annotated[
        tuple[str, ...],
        Argument("the registries in the order in which they are asked, or a resolver's file", "URI", check=_registries),
    ]
    output: Annotated[str, Argument("the folder of the runs", "URI", read=_trimmed, check=_folder)]
    input: Annotated[InputForm, Argument("the form of the events")]
    warehouse: Annotated[
        Warehouse | None, Argument("the warehouse that takes the rows", otherwise="the one that the format implies")
    ] = None
    format: Annotated[
        FileFormat | None,
        Argument("the format of the files; BigQuery takes parquet only", otherwise="parquet for bigquery, csv for redshift"),
    ] = None
    duplicates_window: Annotated[
        int,
        Argument(
            "leave out events that runs of the last DAYS days or the run itself have already, and give an event whose id "
            "another event has an id of its own; 0: take all events",
            "DAYS",
            check=between(0, MOST_DAYS, " days"),
        ),
    ] = 0
    bad_percent: Annotated[
        int, Argument("log many_bad_events where more events of a run are bad", "PERCENT", check=between(0, 100, " percent"))
    ] = 5
    unknown: Annotated[
        Unknown,
        Argument(
            "an entity whose schema is unknown or unusable: the event is bad, the entity alone is bad, or its JSON is a row "
            "of unknown_entities"
        ),
    ] = "bad_event"
    layout: Annotated[
        Layout, Argument("entities are rows of the tables of their schemas, or wide columns of the row of their event")
    ] = "tables"
    continuous: Annotated[
        int | None,
        Argument(
            "on a cluster of one's own: start a run every SECONDS in one session, until SIGTERM",
            "SECONDS",
            check=between(1, 86_400, " seconds"),
        ),
    ] = None
    dry_run: Annotated[bool, Argument("count rows and bad rows, and write nothing")] = False

    @property
    def deprecation(self) -> str:
        """Where the warehouse is not named: what to write instead; an empty text where it is."""
        if self.warehouse:
            return ""
        named = f"--warehouse {self.target_warehouse} --format {self.file_format}"
        return f"`--format {self.file_format}` alone is a former form, which a later release refuses: write `{named}`"

    @property
    def target_warehouse(self) -> Warehouse:
        """The warehouse that takes the rows."""
        return self.warehouse or implied_warehouse(self.format or "parquet")

    @property
    def file_format(self) -> FileFormat:
        """The format of the files."""
        return self.format or usual_format(self.target_warehouse)

    def conflicts(self) -> Iterator[str]:
        """Yield what does not go together: the warehouse and the format, and what the layout of wide columns needs."""
        if not self.warehouse and not self.format:
            yield "--warehouse: expected bigquery or redshift, got neither it nor --format"
            return
        if self.file_format not in FORMATS_OF[self.target_warehouse]:
            yield f"--format {self.file_format}: expected parquet for BigQuery, whose tables have nested columns"
        if self.layout == "wide":
            yield from self._conflicts_of_wide()

    def _conflicts_of_wide(self) -> Iterator[str]:
        if self.target_warehouse != "bigquery":
            yield "--layout wide: expected --warehouse bigquery: Redshift has no nested columns"
        if self.input == "self-describing":
            yield "--layout wide: expected enriched events: others have no row of their own"
        if self.unknown == "bad_entity":
            yield "--layout wide: expected --unknown bad_event or keep_json: a row that was loaded gets no entity later"
