"""The arguments of `spark_jobs/check.py` and of `onefold check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.batches.parsers import check_parser
from onefold.core.errors import InvalidInput
from onefold.core.names import problems_of_name
from onefold.settings.sources import dataset_of

MAX_PARALLEL = 64
CHUNK_ROWS, MAX_CHUNK_ROWS = 100_000, 10_000_000
PADDING_MINUTES, SETTLE_SECONDS = 60, 120


@dataclass(frozen=True)
class CheckArguments:
    """The arguments of `spark_jobs/check.py`.

    source: a source of onefold.yaml.
    database: one of its databases.
    tables: patterns of tables; empty for all.
    captured: the dataset into which the database is captured; None where its tables are pulled.
    tenant: the `source_name` of captured rows; None for the name of the source.
    rows: about the rows of a chunk.
    padding_minutes: the age from which rows of pulled tables are compared.
    settle_seconds: how long a difference of a captured table has to last.
    whole: whether all chunks are compared.
    fix: whether the rows of findings are pulled again.
    parallel: how many tables are checked at the same time.
    """

    source: str
    database: str
    tables: tuple[str, ...] = ()
    captured: str | None = None
    tenant: str | None = None
    rows: int = CHUNK_ROWS
    padding_minutes: int = PADDING_MINUTES
    settle_seconds: int = SETTLE_SECONDS
    whole: bool = False
    fix: bool = False
    parallel: int = 4

    @property
    def dataset(self) -> str:
        """The dataset of the tables."""
        return self.captured or dataset_of(self.source, self.database)

    def problems(self) -> list[str]:
        """Return all that is wrong with the values."""
        problems = [
            f"--{name}: expected a name, got an empty text" for name in ("source", "database") if not getattr(self, name)
        ]
        if self.captured is not None:
            problems += [f"--captured: {problem}" for problem in problems_of_name("dataset", self.captured)]
        problems += [
            f"--{option}: expected {least:,} to {most:,}, got {value:,}"
            for option, value, least, most in (
                ("rows", self.rows, 1, MAX_CHUNK_ROWS),
                ("padding-minutes", self.padding_minutes, 0, 525_600),
                ("settle-seconds", self.settle_seconds, 0, 86_400),
                ("parallel", self.parallel, 1, MAX_PARALLEL),
            )
            if not least <= value <= most
        ]
        if self.tenant is not None and self.captured is None:
            problems.append("--tenant is for captured tables: name their dataset with --captured, or leave it out")
        if self.fix and self.captured is not None:
            remedy = "start their capture with --again DATABASE.TABLE, which copies them"
            problems.append(f"--fix is for pulled tables: to repair captured ones, {remedy}")
        return problems


def parse_check(words: Sequence[str]) -> CheckArguments:
    """Return the arguments of `spark_jobs/check.py`.

    Raises:
        InvalidInput: everything that is wrong with them.

    Examples:
        >>> parse_check(["--source=fraud", "--database=models", "--tables", "score,log_*"]).tables
        ('score', 'log_*')
    """
    found = check_parser(CheckArguments("", "")).parse_args(list(words))
    values = vars(found) | {"tables": tuple(one for text in found.tables for one in text.split(",") if one)}
    arguments = CheckArguments(**values)
    if problems := arguments.problems():
        raise InvalidInput(problems)
    return arguments
