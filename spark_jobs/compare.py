"""The batch that compares two sets of rows, row by row. See docs/how-to/compare-with-the-source.md.

Exit codes: 0 the same; 1 an error, wrong usage included; 2 different. With ONEFOLD_DIFFERENCES=log differences
end with 0, since Dataproc calls every other code a failure: a CRITICAL line with the event `differences_found` reports them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from onefold.adapters.connect import connect
from onefold.batches.arguments import CompareArguments
from onefold.batches.values import Uri
from onefold.compare.findings import Summary
from onefold.core.log import log
from onefold.settings.environment import Settings, load_settings
from onefold.spark.compare.job import compare
from onefold.spark.job import run_job
from onefold.spark.session import open_session
from onefold.views.plain import found_view


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    return run_job("compare", argv, lambda: run(argv))


def run(argv: Sequence[str]) -> int:
    """Compare the two sets of rows, print the summary as JSON, and return the exit code."""
    arguments = CompareArguments.parse(argv)
    settings = load_settings(os.environ)
    arguments = replace(arguments, left=_found(arguments.left, settings))
    spark = open_session("onefold compare", reads=[str(uri) for uri in arguments.uris])
    summary = compare(spark, arguments, lambda: connect(settings.project))
    sys.stdout.write(f"{json.dumps(summary.as_dict(), ensure_ascii=False)}\n")
    return ended(summary, arguments, settings)


def _found(left: Uri, settings: Settings) -> Uri:
    """Return the left side; the default of a message, a current view beside its table, where the view is."""
    if left.table is None:
        return left
    warehouse = connect(settings.project)
    named = replace(left.table, project=left.table.project or warehouse.project)
    view = found_view(warehouse, named, settings)
    return left if view == named else Uri(f"bigquery:{view}", view)


def ended(summary: Summary, arguments: CompareArguments, settings: Settings) -> int:
    """Return the exit code of a comparison, and log differences where the settings ask for that.

    Args:
        summary: the result of the comparison.
        arguments: the arguments of the job.
        settings: those of the installation.
    """
    if summary.same:
        return 0
    if settings.differences != "log":
        return 2
    sides = {"left": str(arguments.left), "right": str(arguments.right)}
    log(
        "CRITICAL",
        f"{sides['left']} and {sides['right']} differ",
        event="differences_found",
        **sides,
        summary=summary.as_dict(),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
