"""The plan of one table's pull: its structure, its range, and the parts in which it is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal

from onefold.batches.source_arguments import PullArguments
from onefold.core.names import TableId
from onefold.landing.table import VersionedTable
from onefold.mysql.table import Structure
from onefold.pull.read.watermark import NO_DAY, PullRange, Watermark
from onefold.settings.sources import TableLoad


@dataclass(frozen=True)
class PullRequest(PullArguments):
    """The arguments of a pull, and the time of the request.

    A request that is older than the last successful one of a table does nothing.
    """

    at: datetime = field(kw_only=True)


@dataclass(frozen=True)
class LoadState:
    """What the log of loads says about a table before a pull; all empty for a table that was never loaded.

    Attributes:
        version: the version into which rows were loaded last.
        watermark: that of the last load into this version.
        started: the greatest `PullRequest.at` of a complete load of the same window.
        keys_of_days: for a key watermark, the first and the last key that were loaded on each day since the last load of the
            whole table.
        watermark_column: the column of that watermark.
        begun: the last load that began into each version, by its name, in the order in which they began. It may have been
            killed after its job and before its row in the log.
        read_at: the source's time before the last load read, in microseconds since 1970.
        covered: the days that complete daily loads have replaced.
        whole_at: the greatest `PullRequest.at` of a load before which nothing is left to replace: the first load of the
            table, or one that replaced all of its rows.
        source_table: the name of the table at the source.
        columns: the columns of the source that the last load read; empty where the log does not say it.
        dropped: the columns of the source that `drop` named then.
        described: all of its columns then, in order, as `onefold.pull.read.dropped_columns.described` has them.
        keys: the columns of the key by which the last load told rows apart; empty where the log does not say it.
        truncated: whether a load of a truncated table has begun, and no load of all rows was done since.
        logged_at: when the last load was logged.
        created: when the table was created, as the source showed it to the last load; None where the log does not say it.
        row_versions: the versions that have rows which no later load has read again; empty where the log does not say it.
        latest_read_at: as `read_at`, the latest of any load: the clock of the source may have been set back since.
        lost: whether a table of its rows is not there any more.
    """

    version: str | None = None
    watermark: int | None = None
    started: datetime | None = None
    keys_of_days: tuple[tuple[date, int, int], ...] = ()
    watermark_column: str | None = None
    begun: tuple[tuple[str, str], ...] = ()
    read_at: int | None = None
    covered: frozenset[date] = frozenset()
    whole_at: datetime | None = None
    source_table: str | None = None
    columns: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    truncated: bool = False
    logged_at: datetime | None = None
    described: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    created: str | None = None
    latest_read_at: int | None = None
    row_versions: tuple[str, ...] = ()
    lost: bool = False

    def forgotten(self) -> LoadState:
        """Return what is left of the state where a table of its rows is not there any more: all rows are read again."""
        return replace(self, version=None, started=None, keys_of_days=(), covered=frozenset(), whole_at=None, lost=True)

    def before(self, version: str) -> str | None:
        """Return the name of the last load that began into another version.

        Examples:
            >>> LoadState(begun=(("b", "load2"), ("a", "load3"))).before("a")
            'load2'
        """
        return next((load_id for other, load_id in reversed(self.begun) if other != version), None)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that may have the newest rows: of the last load that was logged, and of the last one that began."""
        found = (self.version, *(version for version, _ in self.begun[-1:]))
        return tuple(dict.fromkeys(version for version in found if version))


Digest = Literal["", "text", "bytes", "number"]


@dataclass(frozen=True)
class KeyRange:
    """A part of a table, by the first column of its key: from `low`, up to but without `high`; None for no bound.

    Rows whose column is NULL belong to the part without a `low`.

    Attributes:
        column: the name at the source; None for the whole table.
        low: the lower bound.
        high: the upper bound.
        digest: empty where the bounds are values of the column; else they are bounds of the first 16 bits of the SHA-256 of
            the value: of a text in UTF-8, of bytes, or of the digits of a whole number.
    """

    column: str | None = None
    low: int | None = None
    high: int | None = None
    digest: Digest = ""


@dataclass(frozen=True)
class TablePlan:
    """All that is decided before the first row of a table is read.

    Attributes:
        request: what was asked for.
        dataset: the dataset of the table.
        structure: the source's, without dropped columns.
        target: the versioned table for the structure.
        load: the settings of the table.
        keys: the columns of the key in BigQuery: those of onefold.yaml, or the primary key. Empty for a table without one.
        watermark: None for a full load.
        range: the rows to read.
        parts: the key ranges, which together are the whole table.
        first: whether the structure is new, so that the whole table is read into a new version.
        previous: the state before this pull.
        read_at: the source's time before the first range, in microseconds since 1970.
        keys_are_named: whether onefold.yaml names the keys.
        dropped: the columns of the source that `drop` names.
        described: all of its columns, in order, as `onefold.pull.read.dropped_columns.described` has them.
        truncated: whether the table was truncated or made anew at the source, so that its rows replace all others.
        rekeyed: whether the key is another one than at the last load, so that they do as well.
        created: when the table was created, as the source shows it; None where it does not.
        reordered: whether rows that are read now may be below those that landed, so that they do as well.
    """

    request: PullRequest
    dataset: str
    structure: Structure
    target: VersionedTable
    load: TableLoad
    keys: tuple[str, ...]
    watermark: Watermark | None
    range: PullRange
    read_at: int
    parts: tuple[KeyRange, ...] = (KeyRange(),)
    first: bool = False
    previous: LoadState = field(default_factory=LoadState)
    keys_are_named: bool = False
    dropped: tuple[str, ...] = ()
    truncated: bool = False
    described: tuple[str, ...] = ()
    rekeyed: bool = False
    created: str | None = None
    reordered: bool = False

    @property
    def table(self) -> TableId:
        """The base name, without a project."""
        return TableId(None, self.dataset, self.target.table)

    @property
    def started(self) -> datetime:
        """The time in the names of files: that of the request."""
        return self.request.at

    @cached_property
    def load_id(self) -> str:
        """The name of this pull, which rows have as `datastream_metadata.uuid`."""
        parts = (str(self.table), self.target.version, self.range.window, f"{self.read_at}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @property
    def attempt(self) -> str:
        """The name of a first pull, the same when it is repeated on the same day after a kill.

        The last load of another structure is a part of the name: the table may have had the same structure before, on the
        same day and with the same watermark. So are the time of the last load that was done, which may be one of this
        structure whose table was lost, and the days that are replaced, because their rows have files of their own.
        """
        state, days = self.previous, " ".join(map(str, self.range.days))
        done = f" {state.logged_at.isoformat()}" if state.logged_at else ""
        before = f"{state.before(self.target.version)} {state.watermark} {self.request.at:%Y%m%d} {days}{done}"
        return hashlib.sha256(before.encode()).hexdigest()[:12]

    @property
    def is_resumable(self) -> bool:
        """Whether ranges that a killed pull has read are not read again: a watermark tells what has changed since."""
        return self.first and self.watermark is not None

    @cached_property
    def replaced_days(self) -> tuple[date, ...]:
        """The days that a daily load replaces: rows without a watermark come with each of them."""
        return (NO_DAY, *self.range.days) if self.range.days else ()

    @property
    def row_versions(self) -> tuple[str, ...]:
        """The versions that have rows which people read when the pull is loaded."""
        if self.range.low is None and self.range.window != "dq":
            return (self.target.version,)
        former = self.previous.row_versions or (self.previous.version,)
        return tuple(dict.fromkeys(version for version in (*former, self.target.version) if version))

    @property
    def border(self) -> int | None:
        """The greatest reading that a row below the border may have; None without a border."""
        return None if self.watermark is None or self.range.high is None else self.watermark.highest(self.range.high)

    @property
    def is_counted(self) -> bool:
        """Whether the source counts the rows within the read: those of a table that is loaded full."""
        return self.watermark is None and self.range.window == "full"

    @cached_property
    def json_columns(self) -> tuple[str, ...]:
        """The columns of the type JSON."""
        return tuple(column.name for column in self.target.columns if str(column.type) == "JSON")

    def as_dict(self) -> dict[str, Any]:
        """Return the plan for a report."""
        return {
            "table": str(self.table),
            "version": self.target.version,
            "window": self.range.window,
            "first": self.first,
            "low": self.range.low,
            "parts": len(self.parts),
        }
