"""The batch that turns files of events into rows of tables. See docs/reference/shredder.md.

Exit codes: 0 done, or no new files; 1 an error, wrong usage included, and files that this run has set aside. Bad rows are no
error. With --continuous it is the highest code of all runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from onefold.batches.shred_arguments import ShredArguments
from onefold.core.shutdown import Stop, stopped_by_signal
from onefold.settings.environment import load_settings
from onefold.spark.job import run_job, show
from onefold.spark.repeat import repeat
from onefold.spark.session import open_session

if TYPE_CHECKING:
    from onefold.events.shred.report import ShredReport


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    return run_job("shred", argv, lambda: _start(ShredArguments.parse(argv), argv))


def _start(arguments: ShredArguments, argv: Sequence[str]) -> int:
    if arguments.continuous is None:
        return _print(run(arguments))
    stop = Stop()
    with stopped_by_signal(stop):
        return repeat(lambda: run_job("shred", argv, lambda: _print(run(arguments))), arguments.continuous, stop)


def _print(report: ShredReport) -> int:
    show(report)
    return 1 if report.found_unreadable else 0


def run(arguments: ShredArguments) -> ShredReport:
    """Shred the files that no run has taken yet."""
    if arguments.deprecation:
        sys.stderr.write(f"{arguments.deprecation}\n")
    settings = load_settings(os.environ)
    spark = open_session("onefold shred")
    # The session brings libraries that these modules import.
    from onefold.spark.shred.job import shred
    from onefold.spark.shred.registry import read_registry

    return shred(spark, arguments, partial(read_registry, arguments.registry, settings.registry.api_key))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
