"""The batch that folds a change log into the latest state of each key. See docs/reference/merge-job.md.

Exit codes: 0 done, or done before; 1 an error, wrong usage included; 2 some of the tables of a dataset failed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onefold.batches.arguments import DatasetArguments, ReconcileArguments, parse_reconcile
from onefold.settings.environment import load_settings
from onefold.spark.job import run_job, show
from onefold.spark.reconcile.job import reconcile
from onefold.spark.reconcile.report import JobReport
from onefold.spark.session import open_session

if TYPE_CHECKING:
    from onefold.spark.reconcile.dataset import DatasetReport


def main(argv: Sequence[str]) -> int:
    """Run the job with a command line, log its errors, and return its exit code."""
    return run_job("reconcile", argv, lambda: _run(parse_reconcile(argv)))


def _run(arguments: ReconcileArguments | DatasetArguments) -> int:
    """Run the job for one table or for a dataset, print its report, and return the exit code."""
    if isinstance(arguments, ReconcileArguments):
        show(run(arguments))
        return 0
    report = run_all(arguments)
    show(report)
    return 2 if report.count("failed") else 0


def run_all(arguments: DatasetArguments) -> DatasetReport:
    """Merge every table of a dataset that has new rows."""
    # As below: a job on files needs none of this.
    from onefold.adapters.connect import connect
    from onefold.spark.reconcile.announce import rest_announcer
    from onefold.spark.reconcile.dataset import reconcile_dataset
    from onefold.spark.reconcile.record import ledger_recorder

    settings = load_settings(os.environ)
    warehouse = connect(settings.project)
    announce, record = rest_announcer(warehouse.project, settings), ledger_recorder(warehouse, settings)
    return reconcile_dataset(open_session("onefold reconcile"), warehouse, settings, arguments, announce, record)


def run(arguments: ReconcileArguments) -> JobReport:
    """Run the job; BigQuery is reached only where the arguments name a table."""
    spark = open_session("onefold reconcile", reads=[str(uri) for uri in arguments.uris])
    if not any(uri.table for uri in arguments.uris):
        return reconcile(spark, arguments)
    # These imports are not needed by a job on files, which may run where there is no Google Cloud.
    from onefold.adapters.connect import connect
    from onefold.spark.io.bigquery_tables import StagingTables
    from onefold.spark.reconcile.announce import rest_announcer
    from onefold.spark.reconcile.bigquery import BigQueryBases
    from onefold.spark.reconcile.record import ledger_recorder

    settings = load_settings(os.environ)
    warehouse = connect(settings.project)
    announce, record = rest_announcer(warehouse.project, settings), ledger_recorder(warehouse, settings)
    with StagingTables(spark, warehouse.client) as tables:
        return reconcile(spark, arguments, BigQueryBases(warehouse, tables, settings, announce, record))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
