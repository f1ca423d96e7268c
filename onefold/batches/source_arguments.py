"""The arguments of the jobs that read a source of onefold.yaml, `pull` and `check`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal

from onefold.batches.declaration import Argument, JobArguments, Parallel
from onefold.batches.values import between, is_dataset, not_empty
from onefold.core.errors import InvalidInput
from onefold.settings.sources import dataset_of

MOST_AHEAD = timedelta(minutes=10)
"""How far the clock of who asks may be ahead."""

Window = Literal["15m", "day", "full", "dq"]
"""What is read of a table: from the watermark, prior days, all of it; or a chunk of a check, which no job is asked for."""
_NAME = not_empty("a name")
Patterns = Annotated[tuple[str, ...], Argument("only these tables", "PATTERN", otherwise="all", of_batch="{table}")]


@dataclass(frozen=True)
class SourceArguments(JobArguments):
    """Read tables of a database of a source."""

    source: Annotated[str, Argument("a source of onefold.yaml", "S", check=_NAME)]
    database: Annotated[str, Argument("one of its databases", "D", check=_NAME)]

    @property
    def dataset(self) -> str:
        """The dataset of the tables."""
        return dataset_of(self.source, self.database)


@dataclass(frozen=True)
class PullArguments(SourceArguments):
    """Pull the tables of a database of a source in onefold.yaml into files, and load these into BigQuery."""

    job: ClassVar[str] = "pull"

    window: Annotated[Window, Argument("from the watermark, prior days, or whole tables", choices=("15m", "day", "full"))]
    tables: Patterns = ()
    at: Annotated[
        datetime | None, Argument("the time of the request; an older one does nothing", "TIME", otherwise="now")
    ] = None
    parallel: Parallel = 4
    compress: Annotated[Literal["gzip"] | None, Argument("compress the files")] = None

    @property
    def gzip(self) -> bool:
        """Whether files are compressed."""
        return self.compress == "gzip"

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


@dataclass(frozen=True)
class CheckArguments(SourceArguments):
    """Compare the tables of a database of a source in onefold.yaml with their views.

    The numbers of rows are compared, and every value of the next chunk of each table.
    """

    job: ClassVar[str] = "check"

    tables: Patterns = ()
    captured: Annotated[
        str | None,
        Argument(
            "the dataset that capture or Datastream writes",
            "DATASET",
            otherwise="pulled",
            check=is_dataset,
        ),
    ] = None
    tenant: Annotated[str | None, Argument("the source_name of captured rows", "NAME", otherwise="that of the source")] = (
        None
    )
    rows: Annotated[int, Argument("about the rows of a chunk", "N", check=between(1, 10_000_000))] = 100_000
    padding_minutes: Annotated[
        int, Argument("the age from which rows of pulled tables are compared", "N", check=between(0, 525_600))
    ] = 60
    settle_seconds: Annotated[
        int, Argument("how long a difference of such a table has to last", "N", check=between(0, 86_400))
    ] = 120  # longer than capture, sink and view take for a change
    whole: Annotated[bool, Argument("all chunks, from the first to the last", otherwise="the next one")] = False
    fix: Annotated[bool, Argument("pull the rows of findings again, and write tombstones for those that are gone")] = False
    parallel: Parallel = 4

    @property
    def dataset(self) -> str:
        """The dataset of the tables."""
        return self.captured or super().dataset

    @property
    def tenant_name(self) -> str:
        """The `source_name` of the rows."""
        return self.tenant or self.source

    @property
    def padding(self) -> timedelta:
        """The age from which rows of pulled tables are compared."""
        return timedelta(minutes=self.padding_minutes)

    def conflicts(self) -> Iterator[str]:
        if self.tenant is not None and self.captured is None:
            yield "--tenant is for captured tables: name their dataset with --captured, or leave it out"
        if self.fix and self.captured is not None:
            remedy = "start their capture with --again DATABASE.TABLE, which copies them"
            yield f"--fix is for pulled tables: to repair captured ones, {remedy}"
