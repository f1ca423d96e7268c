"""All tables of a dataset in one batch: those that are due are merged, several at a time in one Spark session."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.batches.arguments import DatasetArguments, ReconcileArguments
from onefold.batches.values import Uri
from onefold.core.errors import KeyUnknown, NothingToMerge, OnefoldError, TryAgain
from onefold.core.log import LogSeverity, log
from onefold.core.names import TableId
from onefold.core.retry import CONFLICT_BACKOFF
from onefold.core.text import counted
from onefold.merge.base_table import base_table
from onefold.merge.dataset import OUTCOMES, Candidate, Outcome, find_candidates, outcome_counts
from onefold.merge.need import MergeNeed, in_order, read_need
from onefold.refresh.kind import Record
from onefold.refresh.plan import Announce
from onefold.settings.environment import Settings
from onefold.spark.io.bigquery_tables import StagingTables
from onefold.spark.job import summary
from onefold.spark.reconcile.bigquery import BigQueryBases
from onefold.spark.reconcile.job import reconcile
from onefold.spark.reconcile.report import JobReport
from onefold.views.plain import with_plain_tables

Done = TypeVar("Done")

TRIES = 3
"""How often a table is merged after errors that may pass: no message is delivered again for a single table of a batch."""


@dataclass(frozen=True)
class MergedTableReport:
    """What became of one table.

    table: its name.
    outcome: the result.
    report: the counts of the merge; None where nothing was merged.
    reasons: why the table waits, was skipped, or failed; or what people should look at, though it was merged.
    """

    table: str
    outcome: Outcome
    report: JobReport | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetReport:
    """What became of the tables of a dataset, by name."""

    dataset: str
    tables: tuple[MergedTableReport, ...]

    def count(self, outcome: Outcome) -> int:
        """Return how many tables have this outcome."""
        return sum(table.outcome == outcome for table in self.tables)

    def as_dict(self) -> dict[str, Any]:
        counts: dict[str, int] = {name: self.count(name) for name in OUTCOMES}
        return {"dataset": self.dataset, **counts, "tables": [asdict(table) for table in self.tables]}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def summary(self) -> str:
        """Return the report for people: why tables were left out, and what to look at, then one line with all counts."""
        lines = [f"{table.table} {table.outcome}: {reason}" for table in self.tables for reason in table.reasons]
        return "\n".join([*lines, f"{self.dataset}: {outcome_counts([table.outcome for table in self.tables])}"])


def reconcile_dataset(
    spark: SparkSession,
    warehouse: BigQueryWarehouse,
    settings: Settings,
    arguments: DatasetArguments,
    announce: Announce | None = None,
    record: Record | None = None,
) -> DatasetReport:
    """Merge every table that has rows newer than its last merge and does not wait, the oldest merge first.

    A table that fails does not stop the others.

    Args:
        spark: the session, which all tables share.
        warehouse: BigQuery.
        settings: those of the installation.
        arguments: the dataset, and which of its tables.
        announce: publishes changes of unified views, as for `onefold.refresh.write.refresh`.
        record: records the changes of current views in the ledger, as for `refresh_current`.

    Raises:
        NotFound: the dataset has neither a versioned table nor a plain change table that matches.
        TryAgain: an error that may pass.
    """
    settings = with_plain_tables(warehouse, arguments.dataset, settings)
    candidates = find_candidates(warehouse, arguments.dataset, settings, arguments.match)

    def merge(table: TableId) -> JobReport:
        base = base_table(settings.rules_for(table).base_place(table))
        with StagingTables(spark, warehouse.client) as tables:
            bases = BigQueryBases(warehouse, tables, settings, announce, record)
            return reconcile(spark, _arguments_of(table, base), bases)

    def work(need: MergeNeed) -> MergedTableReport:
        return _report(need, merge)

    with ThreadPoolExecutor(arguments.parallel, "table") as threads:
        needs = in_order(threads.map(lambda one: _look(warehouse, one, settings), candidates))
        log_late(arguments.dataset, needs, timedelta(hours=arguments.late_hours))
        done = sorted(threads.map(work, needs), key=lambda report: report.table)
    return DatasetReport(f"{warehouse.project}.{arguments.dataset}", tuple(done))


def _look(warehouse: BigQueryWarehouse, table: Candidate, settings: Settings) -> MergeNeed:
    """Return whether a table is merged; after an error of any class it is, and its merge reports what is wrong."""
    try:
        return read_need(warehouse, table, settings)
    except Exception as error:  # noqa: BLE001 as in `_report`: each is about one table
        return MergeNeed(table, "due", summary(error))


def log_late(dataset: str, needs: Iterable[MergeNeed], limit: timedelta) -> None:
    """Log a line, which is an alert, where tables that are due have not been merged for longer than a limit.

    It is logged before the first merge: a batch that is ended by its time limit logs nothing more.
    """
    ages = {need.table.table.table: need.age for need in needs if need.state == "due" and need.age and need.age > limit}
    if not ages:
        return
    oldest = max(ages, key=lambda table: ages[table])
    age, hours = ages[oldest] / timedelta(hours=1), limit / timedelta(hours=1)
    log(
        "ERROR",
        f"{dataset}: {counted(len(ages), 'table')} with new rows not merged for {hours:g} hours; the last merge of {oldest} "
        f"began {age:.1f} hours ago: merge more tables at the same time, or let some wait by `merge_when`",
        event="merges_late",
        dataset=dataset,
        table=oldest,
        tables=len(ages),
        age_hours=round(age, 1),
    )


def _arguments_of(table: TableId, base: TableId) -> ReconcileArguments:
    return ReconcileArguments((Uri(f"bigquery:{table}", table),), Uri(f"bigquery:{base}", base))


def _report(need: MergeNeed, merge: Callable[[TableId], JobReport]) -> MergedTableReport:
    """Merge a table that is due, and log what became of it. No error leaves it, or it would stop the other tables."""
    table = need.table.table
    name = table.table
    try:
        done = _merged(name, need, merge)
    except (KeyUnknown, NothingToMerge) as error:
        done = MergedTableReport(name, "skipped", reasons=tuple(str(error).splitlines()))
    except OnefoldError as error:
        done = MergedTableReport(name, "failed", reasons=tuple(str(error).splitlines()))
    except Exception as error:  # noqa: BLE001 Spark and BigQuery raise errors of many classes, each about one table
        done = MergedTableReport(name, "failed", reasons=(summary(error),))
    _log(table, done)
    return done


def _merged(name: str, need: MergeNeed, merge: Callable[[TableId], JobReport]) -> MergedTableReport:
    if need.state == "up_to_date":
        return MergedTableReport(name, "up_to_date")
    if need.state == "waiting":
        return MergedTableReport(name, "waiting", reasons=(need.reason,))
    # A try that failed after its merge leaves no new rows, and all the same it has not done its work: it is tried again.
    merged = _retried(lambda: merge(need.table.table))
    return MergedTableReport(name, "merged", merged, merged.warnings)


def _log(table: TableId, done: MergedTableReport) -> None:
    text = f"{table.dataset}.{table.table}: {': '.join([done.outcome.replace('_', ' '), *done.reasons])}"
    fields = {"dataset": table.dataset, "table": table.table, "outcome": done.outcome, "reasons": list(done.reasons)}
    doubtful: LogSeverity = "WARNING" if done.outcome == "merged" and done.reasons else "INFO"
    log("ERROR" if done.outcome == "failed" else doubtful, text, event="table_done", **fields)


def _retried(work: Callable[[], Done]) -> Done:
    pauses = CONFLICT_BACKOFF.pauses()
    for _ in range(1, TRIES):
        try:
            return work()
        except TryAgain:
            time.sleep(next(pauses))
    return work()
