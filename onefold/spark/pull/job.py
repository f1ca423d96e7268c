"""The job that pulls the tables of a database of a source: settings, connections, and the pull itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from onefold.adapters.secrets import read_password
from onefold.batches.source_arguments import PullArguments
from onefold.core.names import TableId
from onefold.pull.read.connection import SourceConnection
from onefold.pull.read.plan import PullRequest
from onefold.pull.read.planner import Planner
from onefold.pull.read.pull import Pull, Threads
from onefold.pull.read.pulled import Loads
from onefold.pull.read.report import PullReport
from onefold.settings.environment import Settings
from onefold.spark.job import summary
from onefold.spark.pull.places import destination_of, source_of
from onefold.spark.pull.reader import SparkReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pull(
    spark: SparkSession,
    arguments: PullArguments,
    settings: Settings,
    loads: Loads,
    environ: Mapping[str, str],
    threads: Threads | None = None,
) -> PullReport:
    """Pull the tables of a database that the arguments name.

    Args:
        spark: the session, which all tables share.
        arguments: those of the job.
        settings: those of the installation.
        loads: takes the files.
        environ: the environment, which may hold the password.
        threads: those that pulls of several databases share; None for threads of its own.

    Raises:
        InvalidInput: the source or the database is none of onefold.yaml, or the request is dated in the future.
        InvalidSettings: no folder of files is set.
        Rejected: the password cannot be read, or the source does not let the user in.
        NotFound: the database has no such table.
    """
    source = source_of(settings, arguments.source, arguments.database)
    password = read_password(source.password, environ)
    to = destination_of(settings)
    request = PullRequest(**{**vars(arguments), "at": arguments.asked_at(datetime.now(UTC))})
    planner = Planner(source, request, to, keys_in(settings), loads)
    connect = SourceConnection.of(source, password)
    reader = SparkReader(spark, connect, to)
    return Pull(planner, connect, reader, loads, summary).run(threads)


def keys_in(settings: Settings) -> Callable[[TableId], tuple[str, ...]]:
    """Return the function that gives the keys of onefold.yaml for a table."""
    return lambda table: settings.rules_for(table).keys
