"""The batch that pulls the tables of a database into files, and loads these. See docs/reference/spark-jobs.md.

Exit codes: 0 done, or done before; 1 an error, wrong usage included; 2 some of the tables failed, or are gone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onefold.batches.source_arguments import ExtractArguments
from onefold.settings.environment import load_settings
from onefold.spark.extract.job import extract
from onefold.spark.extract.places import destination_of, source_of
from onefold.spark.extract.session import open_session_with_driver
from onefold.spark.job import run_job, show

if TYPE_CHECKING:
    from onefold.pull.read.report import PullReport


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    return run_job("extract", argv, lambda: _print(run(ExtractArguments.parse(argv))))


def _print(report: PullReport) -> int:
    show(report)
    return 0 if report.ok else 2


def run(arguments: ExtractArguments) -> PullReport:
    """Pull the tables and load them."""
    # BigQuery's clients are not needed where the arguments are wrong.
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.spark.extract.loads import loads_of

    settings = load_settings(os.environ)
    source_of(settings, arguments.source, arguments.database)
    loads = loads_of(settings, arguments.dataset, destination_of(settings), RestPublisher)
    return extract(open_session_with_driver("onefold extract"), arguments, settings, loads, os.environ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
