"""The batch that folds a change log into the latest state of each key. See docs/reference/spark-jobs.md.

Exit codes: 0 done, or done before; 1 an error, wrong usage included.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from onefold.batches.arguments import ReconcileArguments, parse_reconcile, uris_of
from onefold.settings.environment import load_settings
from onefold.spark.job import run_job
from onefold.spark.reconcile.job import reconcile
from onefold.spark.reconcile.report import JobReport
from onefold.spark.session import open_session


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    return run_job("reconcile", argv, lambda: _print(run(parse_reconcile(argv))))


def _print(report: JobReport) -> int:
    sys.stdout.write(f"{report.to_json()}\n")
    sys.stderr.write(f"{report.summary()}\n")
    return 0


def run(arguments: ReconcileArguments) -> JobReport:
    """Run the job; BigQuery is reached only where the arguments name a table."""
    spark = open_session("onefold reconcile")
    if not any(uri.table for uri in uris_of(arguments)):
        return reconcile(spark, arguments)
    # These imports are not needed by a job on files, which may run where there is no Google Cloud.
    from onefold.adapters.connect import connect
    from onefold.spark.io.bigquery_tables import StagingTables
    from onefold.spark.reconcile.announce import rest_announcer
    from onefold.spark.reconcile.bigquery import BigQueryTables

    settings = load_settings(os.environ)
    warehouse = connect(settings.project)
    with StagingTables(spark, warehouse.client) as tables:
        return reconcile(
            spark, arguments, BigQueryTables(warehouse, tables, settings, rest_announcer(warehouse.project, settings))
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
