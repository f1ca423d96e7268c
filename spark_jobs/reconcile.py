"""The batch that folds a change log into the latest state of each key. See docs/reference/spark-jobs.md.

Exit codes: 0 done, or done before; 1 an error, wrong usage included; 2 some of the tables of a dataset failed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onefold.batches.arguments import ReconcileArguments, parse_reconcile, uris_of
from onefold.batches.dataset_arguments import DatasetArguments, is_for_dataset, parse_reconcile_dataset
from onefold.settings.environment import load_settings
from onefold.spark.job import run_job
from onefold.spark.reconcile.job import reconcile
from onefold.spark.reconcile.report import JobReport
from onefold.spark.session import open_session

if TYPE_CHECKING:
    from onefold.spark.reconcile.dataset import DatasetReport


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    if is_for_dataset(argv):
        return run_job("reconcile", argv, lambda: _print_all(run_all(parse_reconcile_dataset(argv))))
    return run_job("reconcile", argv, lambda: _print(run(parse_reconcile(argv))))


def _print(report: JobReport) -> int:
    sys.stdout.write(f"{report.to_json()}\n")
    sys.stderr.write(f"{report.summary()}\n")
    return 0


def _print_all(report: DatasetReport) -> int:
    sys.stdout.write(f"{report.to_json()}\n")
    sys.stderr.write(f"{report.summary()}\n")
    return 2 if report.count("failed") else 0


def run_all(arguments: DatasetArguments) -> DatasetReport:
    """Merge every table of a dataset that has new rows."""
    # As below: a job on files needs none of this.
    from onefold.adapters.connect import connect
    from onefold.spark.reconcile.announce import rest_announcer
    from onefold.spark.reconcile.dataset import reconcile_dataset

    settings = load_settings(os.environ)
    warehouse = connect(settings.project)
    announce = rest_announcer(warehouse.project, settings)
    return reconcile_dataset(open_session("onefold reconcile"), warehouse, settings, arguments, announce)


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
