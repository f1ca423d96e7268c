"""The arguments of the jobs that read a source of onefold.yaml, `pull` and `check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from onefold.batches.declaration import Argument, JobArguments, Parallel
from onefold.batches.values import between, is_dataset, not_empty
from onefold.core.errors import InvalidInput
from onefold.core.text import shown_list
from onefold.settings.sources import dataset_of

MOST_AHEAD = timedelta(minutes=10)
"""How far the clock of who asks may be ahead."""

Window = Literal["15m", "day", "full", "dq"]
"""What is read of a table: from the watermark, prior days, all of it; or a chunk of a check, which no job is asked for."""
_NAME = not_empty("a name")
SourceName = Annotated[str, Argument("a source of onefold.yaml", "S", check=_NAME)]
Patterns = Annotated[tuple[str, ...], Argument("only these tables", "PATTERN", otherwise="all", of_batch="{table}")]
PullWindow = Annotated[Window, Argument("from the watermark, prior days, or whole tables", choices=("15m", "day", "full"))]
RequestTime = Annotated[
    datetime | None, Argument("the time of the request; an older one does nothing", "TIME", otherwise="now")
]
Compression = Annotated[Literal["gzip"] | None, Argument("compress the files")]
StreamBelow = Annotated[
    int,
    Argument(
        "append the rows of a 15m pull of a table by the Storage Write API, if its files have at most so many bytes",
        "BYTES", otherwise="0, load jobs only", check=between(0, 5_000_000),
    ),
]  # fmt: skip


@dataclass(frozen=True)
class SourceArguments(JobArguments):
    """Read tables of a database of a source."""

    source: SourceName
    database: Annotated[str, Argument("one of its databases", "D", check=_NAME)]

    @property
    def databases(self) -> tuple[str, ...]:
        """The databases that are read."""
        return (self.database,)

    @property
    def dataset(self) -> str:
        """The dataset of the tables."""
        return dataset_of(self.source, self.database)


@dataclass(frozen=True)
class DatabasesArguments(JobArguments):
    """Read tables of several databases of a source. A database that fails does not stop the others."""

    source: SourceName
    databases: Annotated[tuple[str, ...], Argument("its databases", "D")]

    @property
    def datasets(self) -> tuple[str, ...]:
        """The dataset of the tables of each database."""
        return tuple(dataset_of(self.source, database) for database in self.databases)

    def conflicts(self) -> Iterator[str]:
        datasets = self.datasets
        if twice := {dataset for dataset in datasets if datasets.count(dataset) > 1}:
            yield f"--databases: more than one has the dataset {shown_list(sorted(twice))}: name each dataset's once"

    @property
    def shared(self) -> Mapping[str, Any]:
        """The arguments that are those of each database."""
        return {name: value for name, value in vars(self).items() if name != "databases"}


@dataclass(frozen=True)
class PullOptions(JobArguments):
    """How tables are pulled."""

    job: ClassVar[str] = "pull"

    window: PullWindow
    tables: Patterns = ()
    at: RequestTime = None
    parallel: Parallel = 4
    compress: Compression = None
    stream_below: StreamBelow = 0

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
class PullArguments(PullOptions, SourceArguments):
    """Pull the tables of a database of a source in onefold.yaml into files, and load these into BigQuery."""


@dataclass(frozen=True)
class PullDatabasesArguments(PullOptions, DatabasesArguments):
    """Pull the tables of several databases of a source in onefold.yaml into files, and load these into BigQuery.

    A database that fails does not stop the others.
    """

    @property
    def pulls(self) -> tuple[PullArguments, ...]:
        """The arguments of the pull of each database."""
        return tuple(PullArguments(database=database, **self.shared) for database in self.databases)


@dataclass(frozen=True)
class CheckOptions(JobArguments):
    """How tables are checked."""

    job: ClassVar[str] = "check"

    tables: Patterns = ()
    rows: Annotated[int, Argument("about the rows of a chunk", "N", check=between(1, 10_000_000))] = 100_000
    padding_minutes: Annotated[
        int, Argument("the age from which rows of pulled tables are compared", "N", check=between(0, 525_600))
    ] = 60
    whole: Annotated[bool, Argument("all chunks, from the first to the last", otherwise="the next one")] = False
    fix: Annotated[
        bool,
        Argument("pull the rows of findings again, with tombstones for those that are gone; copy a captured table again"),
    ] = False
    parallel: Parallel = 4
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
    settle_seconds: Annotated[
        int, Argument("how long a difference of such a table has to last", "N", check=between(0, 86_400))
    ] = 120  # longer than capture, sink and view take for a change

    @property
    def padding(self) -> timedelta:
        """The age from which rows of pulled tables are compared."""
        return timedelta(minutes=self.padding_minutes)

    def conflicts(self) -> Iterator[str]:
        if self.tenant is not None and self.captured is None:
            yield "--tenant is for captured tables: name their dataset with --captured, or leave it out"


@dataclass(frozen=True)
class CheckArguments(CheckOptions, SourceArguments):
    """Compare the tables of a database of a source in onefold.yaml with their views.

    The numbers of rows are compared, and every value of the next chunk of each table.
    """

    @property
    def dataset(self) -> str:
        """The dataset of the tables."""
        return self.captured or super().dataset

    @property
    def tenant_name(self) -> str:
        """The `source_name` of the rows."""
        return self.tenant or self.source


@dataclass(frozen=True)
class CheckDatabasesArguments(CheckOptions, DatabasesArguments):
    """Compare the tables of several databases of a source in onefold.yaml with their views.

    Captured ones have one dataset. A database that cannot be checked does not stop the others.
    """

    @property
    def datasets(self) -> tuple[str, ...]:
        """The dataset of the tables of each database."""
        return tuple(self.captured or dataset for dataset in super().datasets)

    def conflicts(self) -> Iterator[str]:
        yield from CheckOptions.conflicts(self)
        if self.captured is None:
            yield from DatabasesArguments.conflicts(self)

    @property
    def checks(self) -> tuple[CheckArguments, ...]:
        """The arguments of the check of each database."""
        return tuple(CheckArguments(database=database, **self.shared) for database in self.databases)


def names_databases(words: Sequence[str]) -> bool:
    """Return whether the words of a command line are those of `DatabasesArguments`.

    Examples:
        >>> names_databases(["--source=fraud", "--databases=a,b"]), names_databases(["--source=fraud", "--database=a"])
        (True, False)
    """
    return any(word.partition("=")[0] == "--databases" for word in words)


def parse_pull(words: Sequence[str]) -> PullArguments | PullDatabasesArguments:
    """Return the arguments of a pull, of one database or of several.

    Raises:
        InvalidInput: everything that is wrong with them.
    """
    return PullDatabasesArguments.parse(words) if names_databases(words) else PullArguments.parse(words)


def parse_check(words: Sequence[str]) -> CheckArguments | CheckDatabasesArguments:
    """Return the arguments of a check, of one database or of several.

    Raises:
        InvalidInput: everything that is wrong with them.
    """
    return CheckDatabasesArguments.parse(words) if names_databases(words) else CheckArguments.parse(words)
