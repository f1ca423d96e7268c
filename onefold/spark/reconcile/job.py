"""The reconciliation as a use case: a change log and a base make a new base. All checks come before the first write."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from onefold.batches.arguments import UNAVAILABLE_VALUE, ReconcileArguments
from onefold.core.errors import InvalidInput, NothingToMerge
from onefold.core.names import fold_case
from onefold.spark.io.base_folder import BaseFolder
from onefold.spark.io.base_output import BaseOutput, StagedFiles, StoredFiles, open_output
from onefold.spark.io.files import reading
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.frames import ChangeLog
from onefold.spark.io.manifest import OutputManifest, find_finished
from onefold.spark.reconcile.base import base_rows
from onefold.spark.reconcile.change_log import unified_rows, within_sequences
from onefold.spark.reconcile.latest import BaseMerge, Winners, count_matches, find_winners, in_memory
from onefold.spark.reconcile.parquet_merge import can_copy, copy_without, merge_files
from onefold.spark.reconcile.plan import FORMATS, JobPlan, JobTables, make_plan
from onefold.spark.reconcile.report import BaseWas, JobReport
from onefold.spark.reconcile.unavailable import UNAVAILABLE, completed

SHARE_OF_MEMORY = 0.1
"""The part of the driver's memory that the winners' keys may take to be sent to every worker."""


class JobWarehouse(JobTables, Protocol):
    """The tables of BigQuery that the job needs."""

    def keys_of(self, arguments: ReconcileArguments) -> tuple[str, ...]:
        """Return the columns of the key from the tables, because the arguments name none.

        Raises:
            OnefoldError: the tables tell no key.
        """

    def merge(self, winners: Winners, plan: JobPlan) -> JobReport:
        """Bring the winners into the base."""


def reconcile(spark: SparkSession, arguments: ReconcileArguments, warehouse: JobWarehouse | None = None) -> JobReport:
    """Run the job. A second run with the same arguments changes nothing.

    Args:
        spark: the session.
        arguments: the arguments of the job.
        warehouse: the tables of BigQuery; None if the arguments name none.

    Raises:
        InvalidInput: the arguments, or the files and tables that they name, have errors. Nothing was written.
        NothingToMerge: the window holds no change. Nothing was written.
        TryAgain: an error that may pass.
    """
    if not arguments.keys and warehouse is not None:
        arguments = replace(arguments, keys=warehouse.keys_of(arguments))
    if arguments.output is not None:
        finished = find_finished(Folder(spark, str(arguments.output)), _as_json(arguments))
        if finished is not None:
            return replace(JobReport.from_json(finished.report or {}), already=True)
    plan = make_plan(spark, arguments, warehouse)
    with reading("a file of the changes or the base"):
        return replace(_carry_out(spark, plan, warehouse), window=arguments.window)


def _carry_out(spark: SparkSession, plan: JobPlan, warehouse: JobWarehouse | None) -> JobReport:
    arguments = plan.arguments
    if arguments.output is None and warehouse is not None:
        # Without a window in the arguments there may be nothing new, which is no error: the next merge continues from here.
        with _winners_in_memory(plan, may_be_empty=arguments.whole) as winners:
            return warehouse.merge(winners, plan)
    begun = OutputManifest(_as_json(arguments), plan.keys)
    with open_output(spark, str(arguments.output), begun) as output:
        return _write(plan, output)


@contextmanager
def _winners_in_memory(plan: JobPlan, *, may_be_empty: bool = False) -> Iterator[Winners]:
    """Give the winners, completed with the values that the log lacks.

    Raises:
        NothingToMerge: there is no change.
    """
    changes = _changes(plan)
    with in_memory() as store:
        winners = find_winners(changes, plan.keys, store)
        if not may_be_empty:
            _check_any(winners)
        if UNAVAILABLE not in changes.columns:
            yield winners
            return
        base = base_rows(plan.base, plan.columns, plan.arguments.position) if plan.base else None
        with completed(winners, changes, base) as completed_winners:
            yield completed_winners


def _changes(plan: JobPlan) -> DataFrame:
    """Return all changes of the window in the unified columns."""
    return functools.reduce(DataFrame.unionByName, (rows for log in plan.logs for rows in _rows(log, plan)))


def _rows(log: ChangeLog, plan: JobPlan) -> Iterator[DataFrame]:
    frame = log.open(plan.columns)
    if frame.finished:
        yield within_sequences(frame.rows, plan.arguments)
        return
    for part in FORMATS[plan.arguments.format].parts(frame, plan.arguments, plan.columns):
        yield unified_rows(part, plan.columns, plan.keys)


def _staged(plan: JobPlan, output: BaseOutput) -> tuple[Winners, StagedFiles]:
    """Write the winners into files, which become files of the new base if the job succeeds."""
    changes = _changes(plan)
    if UNAVAILABLE in changes.columns:
        with _winners_in_memory(plan) as winners:
            staged = output.stage(winners.rows)
        return replace(winners, rows=staged.rows), staged
    stages: list[StagedFiles] = []

    def store(rows: DataFrame) -> DataFrame:
        stages.append(output.stage(rows))
        return stages[0].rows

    winners = find_winners(changes, plan.keys, store)
    _check_any(winners)
    return winners, stages[0]


def _check_any(winners: Winners) -> None:
    if not winners.changes:
        raise NothingToMerge("there is no change in the window: nothing was written")


def _write(plan: JobPlan, output: BaseOutput) -> JobReport:
    winners, staged = _staged(plan, output)
    if plan.base is None:
        output.take(staged)
        return _finish(plan, output, _report_of_first(winners, plan, _base_was(plan.arguments)))
    broadcasts = winners.key_bytes <= _broadcast_limit(output.spark)
    files = _files_to_copy(output.spark, plan.base, plan) if broadcasts else ()
    if files:
        return _merge_files(plan, output, winners, staged, files)
    return _join(plan, output, winners, plan.base, broadcasts=broadcasts)


def _merge_files(
    plan: JobPlan, output: BaseOutput, winners: Winners, staged: StagedFiles, files: Sequence[str]
) -> JobReport:
    """Copy the base's files without the rows that are replaced, and add the files of the winners."""
    merged = merge_files(output.spark, str(plan.arguments.base), files, staged, plan.keys, output.uri)
    report = _report_of_merge(dict(merged.counts), winners, plan)
    if any(merged.late):
        copy_without(output.spark, staged, merged.late, output.uri)
    else:
        output.take(staged)
    late = sum(map(len, merged.late))
    return _finish(plan, output, report, StoredFiles(merged.files + staged.files, merged.rows + merged.winners - late))


def _join(plan: JobPlan, output: BaseOutput, winners: Winners, base: BaseFolder, *, broadcasts: bool) -> JobReport:
    """Read and write every row of the base.

    Raises:
        InvalidInput: the base has the key of a winner more than once.
    """
    merge = BaseMerge(base_rows(base, plan.columns, plan.arguments.position), winners, broadcasts)
    matches = merge.matches().persist()
    try:
        counts = count_matches(matches)
        if counts["rows"] != counts.pop("winners"):
            raise InvalidInput(
                f"{plan.arguments.base} has keys that are not unique among those that changed: name other --keys"
            )
        report = _report_of_merge(counts, winners, plan)
        newer = merge.newer_winners(matches, all_are=not report.lost and not report.repeated)
        output.write(merge.result(matches, newer))
        return _finish(plan, output, report)
    finally:
        matches.unpersist()


def _files_to_copy(spark: SparkSession, base: BaseFolder, plan: JobPlan) -> tuple[str, ...]:
    """Return the files of a base whose rows would be the same bytes in the new base; none if any row has to change."""
    if base.manifest is None or base.manifest.columns != plan.columns:
        return ()
    if not (plan.arguments.position or base.has_present_positions):
        return ()  # each position has to be checked
    files = base.manifest.files
    return files if can_copy(spark, base.frame.name, files, str(plan.arguments.output)) else ()


def _base_was(arguments: ReconcileArguments) -> BaseWas:
    """Return what became of a base that was not read."""
    if arguments.base is None:
        return "absent"
    return "ignored" if arguments.mode == "rebuild" else "missing"


def _finish(plan: JobPlan, output: BaseOutput, report: JobReport, stored: StoredFiles | None = None) -> JobReport:
    landed_types = {column.name: plan.landed_types[fold_case(column.name)] for column in plan.columns}
    manifest = OutputManifest(_as_json(plan.arguments), plan.keys, plan.columns, landed_types, report=asdict(report))
    output.finish(manifest, report.rows, stored)
    return report


def _broadcast_limit(spark: SparkSession) -> int:
    """Return the bytes that may be sent to every worker: a part of the memory of the driver, which builds the broadcast."""
    jvm: Any = spark._jvm
    return int(jvm.java.lang.Runtime.getRuntime().maxMemory() * SHARE_OF_MEMORY)


def _report_of_first(winners: Winners, plan: JobPlan, base: BaseWas) -> JobReport:
    live = winners.count - winners.deletions
    return JobReport(
        **_counts(winners, plan), base=base, inserted=live, tombstones=winners.deletions, rows=winners.count, live=live
    )


def _report_of_merge(counts: dict[str, int], winners: Winners, plan: JobPlan) -> JobReport:
    """Return the report, from the counts of the winners whose keys the base has."""
    matching, live_matching = counts.pop("rows"), counts.pop("live")
    counts["inserted"] += winners.count - winners.deletions - live_matching
    counts["tombstones"] += winners.deletions - (matching - live_matching)
    counts["disputed"] += winners.disputed
    rows = plan.base_rows + winners.count - matching
    live = plan.base_live + counts["inserted"] - counts["deleted"]
    return JobReport(**{**_counts(winners, plan), **counts}, base="read", base_rows=plan.base_rows, rows=rows, live=live)


def _counts(winners: Winners, plan: JobPlan) -> dict[str, Any]:
    return {
        "changes": winners.changes,
        "keys": winners.count,
        "disputed": winners.disputed,
        "without_sequence": winners.without_sequence,
        # Positions of periodic pulls have a time or a text instead of a sequence, which is no reason for a warning.
        "ordered_by_text": 0 if plan.arguments.position else winners.ordered_by_text,
        "unknown_types": winners.unknown_types,
        "unavailable_values": winners.unavailable,
        "unknown_values": winners.unknown,
        "columns": {column.name: str(column.type) for column in plan.columns},
    }


def _as_json(arguments: ReconcileArguments) -> dict[str, Any]:
    """Return the arguments as values of JSON, without the output itself, because a folder may be moved."""
    # The default is left out, because bases of releases without this argument do not name it.
    is_default = arguments.unavailable == UNAVAILABLE_VALUE
    return {
        **({} if is_default else {"unavailable_value": arguments.unavailable}),
        "changes": [str(uri) for uri in arguments.changes],
        "base": str(arguments.base) if arguments.base else None,
        "keys": list(arguments.keys),
        "from": _bound_as_json(arguments.start),
        "to": _bound_as_json(arguments.end),
        "format": arguments.format,
        "mode": arguments.mode,
        "position": arguments.position,
    }


def _bound_as_json(bound: datetime | str | None) -> str | None:
    return bound.isoformat() if isinstance(bound, datetime) else bound
