"""The arguments of `spark_jobs/extract.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from onefold.batches.parsers import extract_parser
from onefold.core.errors import InvalidInput
from onefold.settings.sources import dataset_of

WINDOWS: tuple[Literal["15m", "day", "full"], ...] = ("15m", "day", "full")
MAX_PARALLEL = 64
MOST_AHEAD = timedelta(minutes=10)
"""How far the clock of who asks may be ahead."""


@dataclass(frozen=True)
class ExtractArguments:
    """The arguments of `spark_jobs/extract.py`.

    source: a source of onefold.yaml.
    database: one of its databases.
    window: what is read of each table.
    tables: patterns of tables; empty for all.
    at: the time of the request; None for now.
    parallel: how many tables are pulled at the same time.
    gzip: whether files are compressed.
    """

    source: str
    database: str
    window: Literal["15m", "day", "full"]
    tables: tuple[str, ...] = ()
    at: datetime | None = None
    parallel: int = 4
    gzip: bool = False

    @property
    def dataset(self) -> str:
        """The dataset of the tables."""
        return dataset_of(self.source, self.database)

    def asked_at(self, now: datetime) -> datetime:
        """Return the time of the request.

        A request of a time to come would replace days that are not over, and let no request before that time count.

        Args:
            now: the present time.

        Raises:
            InvalidInput: the request is dated in the future.
        """
        if self.at is not None and self.at > now + MOST_AHEAD:
            raise InvalidInput(
                f"--at: expected a time up to now ({now:%Y-%m-%d %H:%M:%S%z}), got {self.at.isoformat()}, which is to come: "
                "correct it, or leave it out"
            )
        return self.at or now


def parse_extract(words: Sequence[str]) -> ExtractArguments:
    """Return the arguments of `spark_jobs/extract.py`.

    Raises:
        InvalidInput: everything that is wrong with them.

    Examples:
        >>> parse_extract(["--source=fraud", "--database=models", "--window=15m", "--tables", "score", "log_*"]).tables
        ('score', 'log_*')
    """
    found = extract_parser(WINDOWS, ExtractArguments.parallel).parse_args(list(words))
    problems: list[str] = []
    patterns = tuple(one for text in found.tables for one in text.split(",") if one)
    problems += [
        f"--{name}: expected a name, got an empty text" for name in ("source", "database") if not getattr(found, name)
    ]
    if not 1 <= found.parallel <= MAX_PARALLEL:
        problems.append(f"--parallel: expected 1 to {MAX_PARALLEL} tables at the same time, got {found.parallel}")
    at = _time(found.at, problems) if found.at is not None else None
    if problems:
        raise InvalidInput(problems)
    return ExtractArguments(
        found.source, found.database, found.window, patterns, at, found.parallel, found.compress == "gzip"
    )


def _time(text: str, problems: list[str]) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        problems.append(f"--at: {text!r} is no time: {error}")
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
