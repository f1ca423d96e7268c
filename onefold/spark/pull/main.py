"""The process of the job that pulls tables: `spark_jobs/pull.py`, and `spark_jobs/extract.py` by its former name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onefold.batches.source_arguments import PullArguments
from onefold.settings.environment import load_settings
from onefold.spark.job import run_job, show
from onefold.spark.pull.job import pull
from onefold.spark.pull.places import destination_of, source_of
from onefold.spark.pull.session import open_session_with_driver

if TYPE_CHECKING:
    from onefold.pull.read.report import PullReport


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    return run_job("pull", argv, lambda: _print(run(PullArguments.parse(argv))))


def _print(report: PullReport) -> int:
    show(report)
    return 0 if report.ok else 2


def run(arguments: PullArguments) -> PullReport:
    """Pull the tables and load them."""
    # BigQuery's clients are not needed where the arguments are wrong.
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.spark.pull.loads import loads_of

    settings = load_settings(os.environ)
    source_of(settings, arguments.source, arguments.database)
    loads = loads_of(settings, arguments.dataset, destination_of(settings), RestPublisher)
    return pull(open_session_with_driver("onefold pull"), arguments, settings, loads, os.environ)
